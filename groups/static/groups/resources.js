/* The choice of a group's resources: chips, and a list that shortens as one types. */
"use strict";
django.jQuery(($) => $("select.resources").select2({ theme: "admin-autocomplete" }));
