/* Renews the part of a page marked data-refresh="SECONDS" while somebody can see it.

   The page itself is asked for again. What has data-headline is read out when it
   changed; the focus stays where it was. */
"use strict";
(function () {
  const part = document.querySelector("[data-refresh]");
  if (!part) return;
  const status = document.querySelector(".refresh-status");
  const every = Number(part.dataset.refresh) * 1000;
  let due = Date.now() + every;
  let asking = false;

  function headline() {
    const found = part.querySelector("[data-headline]");
    return found ? found.dataset.headline : "";
  }

  function say(text) {
    if (status.textContent !== text) status.textContent = text;
  }

  async function pageAnew() {
    const answer = await fetch(location.href, { cache: "no-store" });
    if (answer.redirected) throw new Error("you are signed out, load the page again");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return document.importNode(page.getElementById(part.id), true);
  }

  /* Puts the new content in place; a link that had the focus keeps it. */
  function show(anew) {
    const before = headline();
    const links = () => [...part.querySelectorAll("a")];
    const place = links().indexOf(document.activeElement);
    part.replaceChildren(...anew.childNodes);
    if (place >= 0 && links()[place]) links()[place].focus({ preventScroll: true });
    say(headline() === before ? "" : headline());
  }

  async function renew() {
    if (asking || document.hidden || Date.now() < due) return;
    asking = true;
    try {
      show(await pageAnew());
    } catch (error) {
      say(`Not renewed: ${error.message}`);
    }
    due = Date.now() + every;
    asking = false;
  }

  setInterval(renew, 1000);
  document.addEventListener("visibilitychange", renew);
})();
