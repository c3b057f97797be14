"""Job queues, progress bars and rate limits, on Redis or with no Redis at all."""

from ._app import App, open
from ._errors import (
    Cancel,
    ClosedError,
    ConflictError,
    DeniedError,
    Error,
    Fatal,
    ForkError,
    InvalidError,
    JobCanceled,
    JobError,
    JobFailed,
    NotFoundError,
    Retry,
    UnavailableError,
    WaitTimeout,
)
from ._handle import Handle, JobInfo, Status
from ._job import Job, current_job
from ._limits import Limits, Verdict
from ._progress import track
from ._task import AsyncTask, Call, Options, PlainTask, Task
from ._work import Worker

__all__ = [
    "App",
    "AsyncTask",
    "Call",
    "Cancel",
    "ClosedError",
    "ConflictError",
    "DeniedError",
    "Error",
    "Fatal",
    "ForkError",
    "Handle",
    "InvalidError",
    "Job",
    "JobCanceled",
    "JobError",
    "JobFailed",
    "JobInfo",
    "Limits",
    "NotFoundError",
    "Options",
    "PlainTask",
    "Retry",
    "Status",
    "Task",
    "UnavailableError",
    "Verdict",
    "WaitTimeout",
    "Worker",
    "current_job",
    "open",
    "track",
]
