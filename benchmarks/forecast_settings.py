"""The project's settings, patient with Redis: on a busy machine it may take longer than a tenth of a second."""

from delayhub.project.settings import *  # noqa: F403  settings are a star by nature
from delayhub.project.settings import DELAYHUB

DELAYHUB["ARM_TIMEOUT_SECONDS"] = 5.0
