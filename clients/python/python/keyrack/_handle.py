"""A submitted job, as its submitter sees it."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import _bridge
from ._codec import Decoder, decode
from ._errors import JobCanceled, JobFailed, WaitTimeout

if TYPE_CHECKING:
    from ._app import App

T = TypeVar("T")

Status = Literal[
    "new", "queued", "running", "completed", "duplicate", "retried", "failed", "canceled", "expired"
]

#: Waiting without a limit.
_FOREVER = 1e9


@dataclasses.dataclass(frozen=True)
class JobInfo:
    """A job as it is stored."""

    id: str
    queue: str
    status: Status
    #: The arguments, as JSON gives them.
    data: list[Any]
    #: What the handler returned, as JSON gives it.
    result: Any
    #: Why it failed for good.
    reason: str | None
    submitted: datetime.datetime
    attempts: int
    retries: int
    tags: list[str]
    tenant: str | None
    parent: str | None
    #: The job that this one is a duplicate of.
    duplicate_of: str | None
    #: What happened to it, oldest first.
    history: list[dict[str, Any]]

    @staticmethod
    def of(text: str) -> JobInfo:
        """Reads the JSON of the native module."""
        job = decode(text)
        submitted = datetime.datetime.fromtimestamp(job["submitted"] / 1000, datetime.timezone.utc)
        return JobInfo(
            id=job["jid"],
            queue=job["queue"],
            status=job["status"],
            data=job["data"],
            result=job["result"],
            reason=job["failedReason"],
            submitted=submitted,
            attempts=job["attempts"],
            retries=job["retries"],
            tags=job["tags"],
            tenant=job["tenant"],
            parent=job["parent"],
            duplicate_of=job["duplicate"],
            history=job["history"],
        )


class Handle(Generic[T]):
    """A job that was submitted. Cheap: it is an id and the store that knows it."""

    __slots__ = ("_app", "_decoder", "id")

    def __init__(self, app: App, id: str, decoder: Decoder = None) -> None:
        self._app = app
        self._decoder = decoder
        #: The job's id.
        self.id = id

    def __repr__(self) -> str:
        return f"Handle({self.id!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def wait(self, timeout: float | None = None) -> T:
        """Waits until the job has ended, and returns its result.

        Raises `JobFailed`, `JobCanceled`, or `WaitTimeout` after `timeout` seconds.
        """
        return self._result(self._app.rack.outcome(self.id, _limit(timeout)))

    async def wait_async(self, timeout: float | None = None) -> T:
        """The same for asyncio. Any number of waits share one descriptor."""
        outcome = await _bridge.call(self._app.rack.outcome, self.id, _limit(timeout))
        return self._result(outcome)

    def status(self) -> Status:
        """Where in its life the job is."""
        return self.info().status

    async def status_async(self) -> Status:
        """The same for asyncio."""
        return (await self.info_async()).status

    def info(self) -> JobInfo:
        """Everything that is stored of the job."""
        return JobInfo.of(self._app.rack.job(self.id))

    async def info_async(self) -> JobInfo:
        """The same for asyncio."""
        return JobInfo.of(await _bridge.call(self._app.rack.job, self.id))

    def cancel(self) -> list[str]:
        """Cancels the job and the jobs it has submitted; returns their ids, the job's own last.

        A handler that runs is told to stop. A completed job is a `ConflictError`.
        """
        return self._app.rack.cancel(self.id)

    async def cancel_async(self) -> list[str]:
        """The same for asyncio."""
        canceled: list[str] = await _bridge.call(self._app.rack.cancel, self.id)
        return canceled

    def retry(self) -> None:
        """Lets a job that failed or was canceled run again from the start."""
        self._app.rack.retry(self.id)

    def _result(self, outcome: str | None) -> T:
        if outcome is None:
            raise WaitTimeout(f'the job "{self.id}" has not ended in time; it goes on')
        job = JobInfo.of(outcome)
        if job.status == "completed":
            result: T = job.result if self._decoder is None else self._decoder(job.result)
            return result
        if job.status == "canceled":
            raise JobCanceled(self.id, "was canceled")
        raise JobFailed(self.id, f"{job.status}: {job.reason or 'no reason is stored'}")


def _limit(timeout: float | None) -> float:
    return _FOREVER if timeout is None else max(0.0, timeout)
