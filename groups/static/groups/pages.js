"use strict";

// What is chosen by looking it up shows its effect at once, without a further click.
// The look-up reports choices as events of jQuery alone.
document.addEventListener("DOMContentLoaded", () => {
  django.jQuery(document).on(
    "select2:select select2:unselect",
    "[data-autosubmit], [data-busy] select",
    (event) => event.target.form.requestSubmit(),
  );
  // The list to fill in waits for what one types; it is there after those of Django.
  django.jQuery(() => {
    const empty = "[data-busy] select:not(:has(:checked)) + .select2";
    document.querySelector(`${empty} .select2-search__field`)?.focus();
  });
});
