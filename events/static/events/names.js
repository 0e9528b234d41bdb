/* Names of objects are looked up as one types. */
"use strict";
for (const input of document.querySelectorAll("[data-names]")) {
  let asked = 0;
  input.addEventListener("input", async () => {
    const number = ++asked;
    const query = new URLSearchParams({ filter: input.name, part: input.value });
    const answer = await fetch(`${input.dataset.names}?${query}`);
    if (!answer.ok || answer.redirected || number !== asked) return;
    const found = await answer.json();
    input.list.replaceChildren(...found.map(([name, more]) => new Option(more, name)));
  });
}
