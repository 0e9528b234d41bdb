"use strict";

/* A form that is on its way is not sent again: a second click would make a second object.
   With data-busy="TEXT" its button says so. */
(function () {
  const LONGEST = 30000; // ms: a page that was stopped from loading can be used again

  addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    if (form.method !== "post" || event.defaultPrevented || !form.closest("#content")) return;
    if (form.ariaBusy === "true") {
      event.preventDefault();
      return;
    }
    form.ariaBusy = "true";
    const text = submitter?.textContent;
    if (submitter && form.dataset.busy) submitter.textContent = form.dataset.busy;
    const restore = () => {
      form.ariaBusy = null;
      if (submitter && form.dataset.busy) submitter.textContent = text;
    };
    addEventListener("pagehide", restore, { once: true });
    setTimeout(restore, LONGEST);
  });
})();

/* What was typed into an object's form, and not saved, is not left without a question. */
addEventListener("load", () => {
  const form = document.querySelector(".change-form #content-main form[method=post]");
  if (!form) return;
  const sent = () => new URLSearchParams(new FormData(form)).toString();
  let before;
  setTimeout(() => (before = sent())); // when the scripts have made their widgets
  addEventListener("beforeunload", (event) => {
    const refused = form.querySelector(".errornote"); // what was sent is not saved
    if (form.ariaBusy !== "true" && (refused || sent() !== before)) event.preventDefault();
  });
});
