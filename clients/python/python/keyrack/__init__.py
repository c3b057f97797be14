"""Job queues, progress bars and rate limits, on Redis or with no Redis at all."""

from ._app import App, open
from ._entitlements import Entitlement, Entitlements, RevenueCat
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
from ._files import Files, Upload, WaitingFile
from ._handle import Handle, JobInfo, Progress, Status, SubmitOutcome
from ._job import Job, current_job
from ._limits import Limits, NamedLimit, QueueLimits, Verdict
from ._logs import LogHandler, LogLevel, LogLine
from ._options import Options, Unique
from ._progress import track
from ._recommendations import Recommendation, RecommendationPage, Recommendations
from ._rollups import Point, RollupEvent, Rollups
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
    "Entitlement",
    "Entitlements",
    "Error",
    "Event",
    "EventStream",
    "Fatal",
    "Files",
    "ForkError",
    "Handle",
    "InvalidError",
    "Job",
    "JobCanceled",
    "JobError",
    "JobFailed",
    "JobInfo",
    "Limits",
    "LogHandler",
    "LogLevel",
    "LogLine",
    "NamedLimit",
    "NotFoundError",
    "Options",
    "PlainTask",
    "Point",
    "Progress",
    "QueueLimits",
    "Recommendation",
    "RecommendationPage",
    "Recommendations",
    "Retry",
    "RevenueCat",
    "RollupEvent",
    "Rollups",
    "Schedule",
    "Snooze",
    "Status",
    "SubmitOutcome",
    "Task",
    "Times",
    "UnavailableError",
    "Unique",
    "Upload",
    "Verdict",
    "WaitTimeout",
    "WaitingFile",
    "Worker",
    "current_job",
    "open",
    "tqdm",
    "track",
    "trange",
]
