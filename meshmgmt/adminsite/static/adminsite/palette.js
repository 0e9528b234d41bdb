/* The search over everything, opened by Ctrl-K, or by / where nobody types: a combobox whose
   list is chosen from with the arrows. What is typed is sent, never put into an address. */
"use strict";
(function () {
  const opener = document.querySelector("[data-palette]");
  if (!opener) return;
  const dialog = document.getElementById("palette");
  const form = dialog.querySelector("form");
  const input = dialog.querySelector("[role=combobox]");
  const list = dialog.querySelector("[role=listbox]");
  const status = dialog.querySelector("[role=status]");
  const PAUSE = 120;
  let asked = 0;
  let timer = 0;
  let shownFor = null;
  let wanted = false;

  function chosen() {
    return list.querySelector("[aria-selected=true]");
  }

  function choose(option) {
    const before = chosen();
    if (before) before.setAttribute("aria-selected", "false");
    if (!option) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  function part(name, text) {
    const element = document.createElement(name === "name" ? "bdi" : "span");
    element.className = name;
    element.textContent = text;
    return element;
  }

  function option(hit, number) {
    const line = document.createElement("li");
    line.id = `palette-${number}`;
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", "false");
    line.dataset.url = hit.url;
    line.append(part("kind", hit.kind), " ", part("name", hit.name), " ", part("detail", hit.detail));
    return line;
  }

  function show(hits) {
    list.replaceChildren(...hits.map(option));
    list.hidden = !hits.length;
    input.setAttribute("aria-expanded", String(hits.length > 0));
    choose(list.firstElementChild);
    const number = hits.length === 1 ? "1 result" : `${hits.length} results`;
    status.textContent = hits.length ? number : "Nothing is called so.";
  }

  async function ask() {
    const number = ++asked;
    const words = input.value;
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        headers: { Accept: "application/json" },
        body: new FormData(form),
      });
      if (number !== asked) return;
      if (answer.redirected) throw new Error("You are signed out, load the page again.");
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      show((await answer.json()).hits);
      shownFor = words;
      if (wanted && words === input.value) go(chosen());
    } catch (error) {
      if (number !== asked) return;
      show([]);
      status.textContent = error.message;
      wanted = false;
    }
  }

  function go(option) {
    wanted = false;
    if (option) location.assign(option.dataset.url);
  }

  function open() {
    if (dialog.open) return;
    for (const menu of document.querySelectorAll(":popover-open")) menu.hidePopover();
    dialog.showModal();
    input.select();
    ask();
  }

  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const bare = !event.ctrlKey && !event.metaKey && !event.altKey;
    if ((key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey)
      || (key === "/" && bare && !typing && !document.querySelector("dialog[open]"))) {
      event.preventDefault();
      open();
    }
  });
  opener.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const options = [...list.children];
    const place = options.indexOf(chosen());
    const places = {
      ArrowDown: (place + 1) % options.length,
      ArrowUp: (place - 1 + options.length) % options.length,
    };
    if (event.key in places && options.length) {
      event.preventDefault();
      choose(options[places[event.key]]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      wanted = input.value !== shownFor; /* Enter before the answer is there: it is waited for. */
      if (!wanted) go(chosen());
    }
  });
  list.addEventListener("click", (event) => go(event.target.closest("[role=option]")));
  dialog.addEventListener("close", () => { wanted = false; });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
})();
