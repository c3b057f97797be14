"""A submitted job, as its submitter sees it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from . import _bridge
from ._codec import Decoder, decode
from ._errors import JobCanceled, JobFailed, WaitTimeout, error_of
from ._logs import LogLine, log_line

if TYPE_CHECKING:
    from ._app import App

T = TypeVar("T")

Status = Literal[
    "new", "queued", "running", "completed", "duplicate", "retried", "failed", "canceled", "expired"
]

SubmitOutcome = Literal["created", "existing", "replaced"]

#: Waiting without a limit.
_FOREVER = 1e9


@dataclasses.dataclass(frozen=True)
class Progress:
    """What the handler of a job reported last."""

    #: Any JSON, usually a number up to 100.
    value: Any
    message: str | None
    at: datetime.datetime
    #: In which attempt.
    attempt: int


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
    #: How far it is, if its handler has said so.
    progress: Progress | None
    #: What happened to it, oldest first.
    history: list[dict[str, Any]]

    @staticmethod
    def of(text: str) -> JobInfo:
        """Reads the JSON of the native module."""
        return JobInfo.of_job(decode(text))

    @staticmethod
    def of_job(job: dict[str, Any]) -> JobInfo:
        """The same of what was read."""
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
            progress=_progress(job.get("progress")),
            history=job["history"],
        )


def _progress(told: dict[str, Any] | None) -> Progress | None:
    if told is None:
        return None
    at = datetime.datetime.fromtimestamp(told["at"] / 1000, datetime.timezone.utc)
    return Progress(told["value"], told["message"], at, told["attempt"])


class Handle(Generic[T]):
    """A job that was submitted. Cheap: it is an id and the store that knows it."""

    __slots__ = ("_app", "_decoder", "id", "outcome")

    def __init__(
        self, app: App, id: str, decoder: Decoder = None, outcome: SubmitOutcome = "created"
    ) -> None:
        self._app = app
        self._decoder = decoder
        #: The job's id.
        self.id = id
        #: What became of the submission: a new job, or an existing one stands for it, which with
        #: "replaced" has its arguments.
        self.outcome: SubmitOutcome = outcome

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
        return self._result(self._app.call("outcome", self._asked(timeout)))

    async def wait_async(self, timeout: float | None = None) -> T:
        """The same for asyncio. Any number of waits share one descriptor."""
        return self._result(await _bridge.call(self._app, "outcome", self._asked(timeout)))

    def status(self) -> Status:
        """Where in its life the job is."""
        return self.info().status

    async def status_async(self) -> Status:
        """The same for asyncio."""
        return (await self.info_async()).status

    def info(self) -> JobInfo:
        """Everything that is stored of the job."""
        return JobInfo.of_job(self._app.call("job", {"id": self.id}))

    async def info_async(self) -> JobInfo:
        """The same for asyncio."""
        return JobInfo.of_job(await _bridge.call(self._app, "job", {"id": self.id}))

    def cancel(self) -> list[str]:
        """Cancels the job and the jobs it has submitted; returns their ids, the job's own last.

        A handler that runs is told to stop. A completed job is a `ConflictError`.
        """
        canceled: list[str] = self._app.call("cancel", {"id": self.id})
        return canceled

    async def cancel_async(self) -> list[str]:
        """The same for asyncio."""
        canceled: list[str] = await _bridge.call(self._app, "cancel", {"id": self.id})
        return canceled

    def retry(self) -> None:
        """Lets a job that failed or was canceled run again from the start."""
        self._app.call("retry", {"id": self.id})

    async def retry_async(self) -> None:
        """The same for asyncio."""
        await _bridge.call(self._app, "retry", {"id": self.id})

    def logs(self) -> list[LogLine]:
        """What the job has logged, oldest line first: the newest 1,000 lines."""
        return _lines(self._app.call("logs", {"id": self.id, "from": 0}))

    async def logs_async(self) -> list[LogLine]:
        """The same for asyncio."""
        return _lines(await _bridge.call(self._app, "logs", {"id": self.id, "from": 0}))

    def follow_logs(self) -> Iterator[LogLine]:
        """What the job has logged and logs from now on, until it has ended."""
        start = 0
        while (page := self._app.call("followLogs", {"id": self.id, "from": start})) is not None:
            start = page["next"]
            yield from _lines(page)

    async def follow_logs_async(self) -> AsyncIterator[LogLine]:
        """The same for asyncio."""
        asked = {"id": self.id, "from": 0}
        while (page := await _bridge.call(self._app, "followLogs", asked)) is not None:
            asked["from"] = page["next"]
            for line in _lines(page):
                yield line

    def why(self) -> Any:
        """Why the job does not run, as `keyrack jobs why` has it."""
        return self._app.call("why", {"id": self.id})

    def _asked(self, timeout: float | None) -> dict[str, Any]:
        return {"id": self.id, "timeout": _limit(timeout)}

    def _result(self, job: dict[str, Any] | None) -> T:
        if job is None:
            raise WaitTimeout(f'the job "{self.id}" has not ended in time; it goes on')
        status = job["status"]
        if status == "completed":
            result: T = job["result"] if self._decoder is None else self._decoder(job["result"])
            return result
        if status == "canceled":
            raise JobCanceled(self.id, "was canceled")
        raise JobFailed(self.id, f"{status}: {job['failedReason'] or 'no reason is stored'}")


def _lines(page: dict[str, Any]) -> list[LogLine]:
    return [log_line(told) for told in page["lines"]]


def _limit(timeout: float | None) -> float:
    """Milliseconds."""
    return (_FOREVER if timeout is None else max(0.0, timeout)) * 1000


def outcomes(app: App, handles: list[Handle[Any]], timeout: float | None, keeps: bool) -> list[Any]:
    """Waits for many jobs in one call."""
    asked = {"ids": [handle.id for handle in handles], "timeout": _limit(timeout)}
    return _results(handles, app.call("outcomes", asked), keeps)


async def outcomes_async(
    app: App, handles: list[Handle[Any]], timeout: float | None, keeps: bool
) -> list[Any]:
    """The same for asyncio."""
    asked = {"ids": [handle.id for handle in handles], "timeout": _limit(timeout)}
    return _results(handles, await _bridge.call(app, "outcomes", asked), keeps)


def _results(handles: list[Handle[Any]], told: list[list[Any]], keeps: bool) -> list[Any]:
    results: list[Any] = []
    for handle, (job, *failure) in zip(handles, told):
        try:
            if failure:
                of_call = failure[0]
                raise error_of(of_call["class"], of_call["message"], of_call["isTransient"])
            results.append(handle._result(job))
        except Exception as error:
            if not keeps:
                raise
            results.append(error)
    return results
