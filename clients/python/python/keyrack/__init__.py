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
    Snooze,
    UnavailableError,
    WaitTimeout,
)
from ._events import Event, EventStream
from ._handle import Handle, JobInfo, Status, SubmitOutcome
from ._job import Job, current_job
from ._limits import Limits, QueueLimits, Verdict
from ._options import Options, Unique
from ._progress import track
from ._schedules import Schedule, Times
from ._task import AsyncTask, Call, PlainTask, Task
from ._tqdm import tqdm, trange
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
    "Event",
    "EventStream",
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
    "QueueLimits",
    "Retry",
    "Schedule",
    "Snooze",
    "Status",
    "SubmitOutcome",
    "Task",
    "Times",
    "UnavailableError",
    "Unique",
    "Verdict",
    "WaitTimeout",
    "Worker",
    "current_job",
    "open",
    "tqdm",
    "track",
    "trange",
]
