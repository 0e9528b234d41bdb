"use strict";

/* Buttons that copy what their `data-copy` holds. Browsers give the clipboard to secure origins
   only; elsewhere an old way, which needs a selection, still works. */
async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (!copied) {
    throw new Error("the browser copied nothing");
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) {
    return;
  }
  button.ariaLive = "polite";
  try {
    await copyText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it by hand";
  }
});
