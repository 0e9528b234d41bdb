"""Configuration of gunicorn; everything an operator changes is an `SVC_*` variable.

Read by `manage.py serve` as `python:meshmgmt.serving.gunicornconf` and, through the file
gunicorn.conf.py of a checkout, by bare `gunicorn meshmgmt.wsgi:application`. Nothing here
may touch files (the metrics of a running server live there).
"""

import os
import sys

from meshmgmt import env
from meshmgmt.core import runtime
from meshmgmt.serving import hooks
from observability.metrics import metricfiles

try:
    _config = env.load()
except env.ConfigError as error:
    sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
    sys.exit(2)

# Before anything imports prometheus_client, which looks at it once.
os.environ[metricfiles.VARIABLE] = str(_config.runtime_dir / runtime.METRICS)

wsgi_app = "meshmgmt.wsgi:application"
proc_name = "meshmgmt"
bind = _config.bind
workers = _config.workers
threads = _config.threads
worker_class = "meshmgmt.serving.worker.Worker"
logger_class = "meshmgmt.serving.hooks.MeshLogger"
control_socket_disable = True
# None here: the middleware refuses long addresses in the form of the API, and the proxy
# passes no line of more than 32 KiB on.
limit_request_line = 0
# Tokens of a provider name every group of a person: several hundred ids.
limit_request_field_size = 32 * 1024
# A proxy passes on what clients call SCRIPT_NAME and PATH_INFO; it has no need to set them.
forwarder_headers = ""
# Below the usual limit of 1024 open files, with room for all the others.
worker_connections = 800

keepalive = 15
timeout = 60
graceful_timeout = 30
# A worker that leaks, or whose memory is fragmented, is replaced before it hurts; the
# jitter keeps them from leaving all at once.
max_requests = 50_000
max_requests_jitter = 5_000

on_starting = hooks.on_starting
when_ready = hooks.when_ready
post_fork = hooks.post_fork
post_worker_init = hooks.post_worker_init
on_exit = hooks.on_exit
