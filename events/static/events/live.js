/* Follows a list: asks for its newest page over and over. */
"use strict";
(function () {
  const said = document.querySelector("[data-live]");
  const body = document.querySelector("#result_list tbody");
  const pager = document.querySelector(".pager");
  if (!said || !body) return;
  const wait = 2500;
  let held = false;

  function clock() {
    return new Date().toISOString().slice(11, 19);
  }

  /* What is read out changes with the state alone, not with each look. */
  function tell(state, text, heard = text) {
    said.textContent = text;
    if (said.dataset.state === state) return;
    said.dataset.state = state;
    document.querySelector("[data-live-status]").textContent = heard;
  }

  /* The list is the newest page, whole: no row between is left out, late ones come in. */
  function show(page) {
    const here = new Set([...body.rows].map((row) => row.dataset.key));
    const found = [...page.querySelectorAll("tbody tr")];
    const added = found.filter((row) => !here.has(row.dataset.key));
    if (!added.length) return false;
    for (const row of added) row.classList.add("new");
    body.replaceChildren(...found);
    pager.replaceChildren(...page.querySelector(".pager").children);
    return true;
  }

  async function ask() {
    const address = new URL(window.location.href);
    address.searchParams.delete("cursor");
    address.searchParams.set("fragment", "rows");
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (answer.redirected) throw new Error("sign in again");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const page = document.createElement("div");
    page.innerHTML = await answer.text();
    return page;
  }

  async function poll() {
    if (!document.hidden && !held) {
      try {
        const page = await ask();
        if (!held && show(page)) {
          document.querySelector(".nothing")?.remove();
          document.dispatchEvent(new Event("explorer:new"));
        }
        tell("on", `live, updated ${clock()} UTC`, "live");
      } catch (error) {
        tell("failed", `live, but nothing comes: ${error.message}`);
      }
    }
    window.setTimeout(poll, wait);
  }

  function hold(on) {
    held = on;
    if (on) tell("held", "live, held while you point at the list");
  }

  body.addEventListener("mouseenter", () => hold(true));
  body.addEventListener("mouseleave", () => hold(false));
  body.addEventListener("focusin", () => hold(true));
  body.addEventListener("focusout", () => hold(false));
  poll();
})();
