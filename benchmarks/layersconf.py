"""gunicorn's configuration as shipped, for the applications of `benchmarks.layers`."""

from meshmgmt.serving.gunicornconf import *  # noqa: F403 - the same gunicorn is the point

wsgi_app = "benchmarks.layers:application"
