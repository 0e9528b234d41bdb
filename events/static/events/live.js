/* Follows a list: asks for its newest rows and puts in what is not there yet. */
"use strict";
(function () {
  const said = document.querySelector("[data-live]");
  const body = document.querySelector("#result_list tbody");
  if (!said || !body) return;
  const wait = 2500;
  const most = 500;
  let held = false;

  function clock() {
    return new Date().toISOString().slice(11, 19);
  }

  /* Rows may come late, between others: each is put after the one it follows. */
  function merge(found) {
    const here = new Map([...body.rows].map((row) => [row.dataset.key, row]));
    let above = null;
    let count = 0;
    for (const row of found) {
      const known = here.get(row.dataset.key);
      if (!known) {
        row.classList.add("new");
        if (above) above.after(row);
        else body.prepend(row);
        count += 1;
      }
      above = known || row;
    }
    while (body.rows.length > most) body.lastElementChild.remove();
    return count;
  }

  async function ask() {
    const address = new URL(window.location.href);
    address.searchParams.delete("cursor");
    address.searchParams.set("fragment", "rows");
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (answer.redirected) throw new Error("sign in again");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const holder = document.createElement("table");
    holder.innerHTML = await answer.text();
    return holder.querySelectorAll("tbody tr");
  }

  async function poll() {
    if (!document.hidden && !held) {
      try {
        const rows = await ask();
        if (!held && merge(rows)) {
          document.querySelector(".nothing")?.remove();
          document.dispatchEvent(new Event("explorer:new"));
        }
        said.textContent = `live, updated ${clock()} UTC`;
        said.dataset.state = "on";
      } catch (error) {
        said.textContent = `live, but nothing comes: ${error.message}`;
        said.dataset.state = "failed";
      }
    }
    window.setTimeout(poll, wait);
  }

  function hold(on) {
    held = on;
    if (on) {
      said.textContent = "live, held while you point at the list";
      said.dataset.state = "held";
    }
  }

  body.addEventListener("mouseenter", () => hold(true));
  body.addEventListener("mouseleave", () => hold(false));
  body.addEventListener("focusin", () => hold(true));
  body.addEventListener("focusout", () => hold(false));
  poll();
})();
