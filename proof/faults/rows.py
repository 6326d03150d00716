"""All rows of the table."""

from __future__ import annotations

from proof.faults.job_rows import JOB_ROWS
from proof.faults.task_rows import TASK_ROWS

ROWS = (*TASK_ROWS, *JOB_ROWS)
