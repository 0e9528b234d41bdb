/* Renews the parts of a page marked data-refresh="SECONDS" while somebody can see it.

   The page itself is asked for again. What has data-headline is read out when it
   changed; the focus stays where it was. With data-later in it, a page was made without
   what takes long, and asks for that at once; with data-soon it waits for something, and
   asks every five seconds. */
"use strict";
(function () {
  const parts = [...document.querySelectorAll("[data-refresh]")];
  if (!parts.length) return;
  const status = document.querySelector(".refresh-status");
  const wait = () =>
    document.querySelector("[data-soon]") ? 5000 : Number(parts[0].dataset.refresh) * 1000;
  let due = document.querySelector("[data-later]") ? 0 : Date.now() + wait();
  let asking = false;

  function headline() {
    const found = document.querySelector("[data-headline]");
    return found ? found.dataset.headline : "";
  }

  function say(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  async function pageAnew() {
    const answer = await fetch(location.href, {
      cache: "no-store",
      headers: { "X-Renewal": "1" },
    });
    if (answer.redirected) throw new Error("you are signed out, load the page again");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  }

  /* What tells a link or a button from the others of its part. */
  function mark(control) {
    return control.getAttribute("href") || control.textContent.trim();
  }

  /* Puts the new content in place; a link or button that had the focus keeps it. */
  function show(part, anew) {
    const had = part.contains(document.activeElement) && mark(document.activeElement);
    part.replaceChildren(...document.importNode(anew, true).childNodes);
    if (!had) return;
    const controls = [...part.querySelectorAll("a, button")];
    controls.find((control) => mark(control) === had)?.focus({ preventScroll: true });
  }

  async function renew() {
    if (asking || document.hidden || Date.now() < due) return;
    asking = true;
    const before = headline();
    try {
      const page = await pageAnew();
      parts.forEach((part) => show(part, page.getElementById(part.id)));
      say(headline() === before ? "" : headline());
    } catch (error) {
      say(`Not renewed: ${error.message}`);
    }
    due = Date.now() + wait();
    asking = false;
  }

  renew();
  setInterval(renew, 1000);
  document.addEventListener("visibilitychange", renew);
})();
