/* Counts up, after saving, how many peers have the new maps.

   What is marked data-saved="ADDRESS" is asked for there again, every two seconds and for
   five minutes at most, until the answer bears no mark: then everybody has them. */
"use strict";
(function () {
  const EVERY = 2000;
  let left = 150;

  async function renew(place) {
    const answer = await fetch(place.dataset.saved, {
      cache: "no-store",
      headers: { "X-Renewal": "1" },
    });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const anew = page.querySelector(".saved");
    if (!anew) return;
    const before = place.textContent;
    if (anew.textContent !== before) {
      place.replaceChildren(...document.importNode(anew, true).childNodes);
    }
    if (!anew.dataset.saved) delete place.dataset.saved;
  }

  async function look() {
    const places = document.hidden ? [] : [...document.querySelectorAll("[data-saved]")];
    await Promise.allSettled(places.map(renew));
    left -= 1;
    if (left && document.querySelector("[data-saved]")) setTimeout(look, EVERY);
  }

  look();
})();
