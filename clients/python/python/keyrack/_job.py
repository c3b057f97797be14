"""The job that runs, as its handler sees it."""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any

from ._codec import encode
from ._errors import JobCanceled
from ._keyrack import RunningJob

if TYPE_CHECKING:
    from ._logs import LogLevel

CURRENT: contextvars.ContextVar[RunningJob] = contextvars.ContextVar("keyrack_job")


class Job:
    """A running job, as its handler sees it."""

    __slots__ = ("_native",)

    def __init__(self, native: RunningJob) -> None:
        self._native = native

    @property
    def id(self) -> str:
        """Its id."""
        return self._native.id

    @property
    def queue(self) -> str:
        """Its queue."""
        return self._native.queue

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._native.attempt

    @property
    def retries(self) -> int:
        """How often it was tried again after a failure."""
        return self._native.retries

    @property
    def tags(self) -> list[str]:
        """The words it is found by."""
        return self._native.tags

    @property
    def tenant(self) -> str | None:
        """On whose behalf it runs."""
        return self._native.tenant

    @property
    def canceled(self) -> bool:
        """Whether the handler should stop; `stop_reason` says why. Cheap enough for any loop."""
        return self._native.canceled

    @property
    def stop_reason(self) -> str | None:
        """`canceled`, `lost` (another worker has it), `shutdown`, `timeout`, or None."""
        return self._native.stop_reason

    def check(self) -> None:
        """Raises `JobCanceled` if the handler should stop."""
        if self._native.canceled:
            raise JobCanceled(self.id, f"should stop: {self.stop_reason}")

    def report(self, progress: Any, message: str | None = None) -> None:
        """Tells how far the job is: any JSON, usually a number up to 100. The last one is stored."""
        self._native.report_json(encode(progress), message)

    def log(self, text: str, level: LogLevel = "info") -> None:
        """Adds a line to the job's log, without waiting. The newest 1,000 lines are kept as long as the job."""
        self._native.log(level, text)


def current_job() -> Job:
    """The job whose handler calls this. Outside of one it is a `LookupError`."""
    return Job(CURRENT.get())
