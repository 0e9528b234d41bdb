"""Configuration of gunicorn, which looks for a file of this name where it is started."""

from meshmgmt.serving.gunicornconf import *  # noqa: F403 - gunicorn reads the names
