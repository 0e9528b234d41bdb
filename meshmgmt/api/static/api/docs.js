"use strict";

/* The page that reads and tries the API. Whoever is signed in to the admin site is signed in
   here too; such a session writes with the CSRF token only, and nobody else may learn it. */
const place = document.getElementById("swagger-ui");

SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  requestInterceptor(request) {
    const target = new URL(request.url, document.baseURI);
    if (target.origin === location.origin) {
      request.headers["X-CSRFToken"] = place.dataset.csrfToken;
    }
    return request;
  },
});
