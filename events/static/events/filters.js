/* Filters of an explorer: what is chosen by pointer applies at once, by keyboard at Enter
   (arrows pass choices that nobody means); what is empty stays out of the address. */
"use strict";
(function () {
  const form = document.getElementById("filters");
  if (!form) return;
  const phone = window.matchMedia("(max-width: 767px)");
  if (phone.matches) form.closest("details").open = false;
  const span = form.querySelector("[data-span]");
  const between = document.getElementById("between");
  let keys = false;
  document.addEventListener("keydown", () => (keys = true), true);
  document.addEventListener("pointerdown", () => (keys = false), true);

  function chosen() {
    if (!keys) form.requestSubmit();
  }

  function entered(event) {
    if (event.key !== "Enter") return;
    if (event.target === span && span.value === "between") between.querySelector("input").focus();
    else form.requestSubmit();
  }

  span.addEventListener("change", () => {
    const open = span.value === "between";
    between.hidden = between.disabled = !open;
    if (open) {
      span.removeAttribute("name");
      if (!keys) between.querySelector("input").focus();
    } else {
      span.name = "start_date";
      chosen();
    }
  });
  span.addEventListener("keyup", entered);
  for (const select of document.querySelectorAll("select[form=filters]")) {
    select.addEventListener("change", chosen);
    select.addEventListener("keyup", entered);
  }
  form.addEventListener("submit", () => {
    for (const input of form.elements) {
      const first = input.form && input.tagName === "SELECT" && input.hasAttribute("form")
        && input.selectedIndex === 0;
      if (input.name && (input.value === "" || first)) input.disabled = true;
    }
  });
  /* Coming back by the browser's history, what was switched off is needed again. */
  window.addEventListener("pageshow", () => {
    for (const input of form.elements) {
      if (input !== between && !between.contains(input)) input.disabled = false;
    }
    for (const input of between.querySelectorAll("input")) input.disabled = false;
  });
})();
