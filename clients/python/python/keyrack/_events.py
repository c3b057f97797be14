"""What happens to jobs, as it happens."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import TYPE_CHECKING, Any, Literal

from . import _bridge
from ._errors import WaitTimeout
from ._handle import JobInfo

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._app import App

EventType = Literal[
    "new",
    "duplicate",
    "completed",
    "failed",
    "canceled",
    "progress",
    "delayed",
    "resumed",
    "other",
    "gap",
]


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to a job, or to its queue."""

    #: What happened. `gap`: events may have been missed here; whoever needs the present state reads it.
    type: EventType
    #: The job; empty if the event is about its queue.
    id: str
    queue: str
    #: The job as it was then, if the message has it.
    job: JobInfo | None
    #: What its handler reported, if that is what happened.
    progress: Any
    #: What it said about that.
    message: str | None = None


def _event(told: dict[str, Any]) -> Event:
    job = told.get("job")
    return Event(
        type=told["type"],
        id=told.get("id", ""),
        queue=told.get("queue", ""),
        job=None if job is None else JobInfo.of_job(job),
        progress=told.get("progress"),
        message=told.get("message"),
    )


class EventStream:
    """The events of some queues, for `for` and `async for`. `close`, or leaving `with`, ends it."""

    def __init__(self, app: App, queues: list[str]) -> None:
        self._app = app
        self._asked = {"queues": queues}
        self._number: int | None = None
        self._batch: deque[Event] = deque()
        self._is_closed = False

    def get(self, timeout: float | None = None) -> Event:
        """The next event. Raises `WaitTimeout` if none comes in `timeout` seconds."""
        self._open()
        if not self._batch:
            self._take(self._app.call("events", self._next(timeout)), timeout)
        return self._batch.popleft()

    async def get_async(self, timeout: float | None = None) -> Event:
        """The same for asyncio."""
        await self._open_async()
        if not self._batch:
            self._take(await _bridge.call(self._app, "events", self._next(timeout)), timeout)
        return self._batch.popleft()

    def close(self) -> None:
        """Stops listening."""
        self._is_closed = True
        if self._number is not None:
            self._app.call("unlisten", {"stream": self._number})
            self._number = None

    async def aclose(self) -> None:
        """The same for asyncio."""
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            return self.get()
        except _Over:
            raise StopIteration from None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        try:
            return await self.get_async()
        except _Over:
            raise StopAsyncIteration from None

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await self._open_async()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        if self._number is None and not self._is_closed:
            self._number = self._app.call("listen", self._asked)

    async def _open_async(self) -> None:
        if self._number is None and not self._is_closed:
            self._number = await _bridge.call(self._app, "listen", self._asked)

    def _next(self, timeout: float | None) -> dict[str, Any]:
        if self._number is None:
            raise _Over
        return {"stream": self._number, "timeout": None if timeout is None else timeout * 1000}

    def _take(self, batch: list[dict[str, Any]] | None, timeout: float | None) -> None:
        if batch is None:
            raise _Over
        self._batch.extend(map(_event, batch))
        if not batch:
            raise WaitTimeout(f"no event has come in {timeout} s")


class _Over(Exception):
    """Nobody listens any more."""
