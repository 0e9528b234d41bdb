"""Configuration of gunicorn; everything an operator changes is an `SVC_*` variable.

Read by `manage.py serve` and by bare `gunicorn meshmgmt.wsgi:application`. Read again on
HUP: nothing here may touch files (the metrics of a running server live there).
"""

import os
import sys

from meshmgmt import env
from observability.serving import hooks

try:
    _config = env.load()
except env.ConfigError as error:
    sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
    sys.exit(2)

# Before any worker imports prometheus_client, which looks at it once.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(hooks.metrics_dir(_config))

wsgi_app = "meshmgmt.wsgi:application"
proc_name = "meshmgmt"
bind = _config.bind
workers = _config.workers
threads = _config.threads
worker_class = "observability.serving.worker.JsonErrorWorker"
logger_class = "observability.serving.gunicornlog.MeshLogger"
control_socket_disable = True
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
on_reload = hooks.keep_listeners
pre_exec = hooks.pre_exec
post_fork = hooks.post_fork
post_worker_init = hooks.post_worker_init
child_exit = hooks.child_exit
on_exit = hooks.on_exit
