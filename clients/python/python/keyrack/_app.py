"""An opened store, and the tasks that use it."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, overload

from ._codec import decode, encode
from ._context import ContextFactory
from ._entitlements import Entitlements
from ._errors import ForkError, InvalidError
from ._events import EventStream
from ._files import Files
from ._handle import Handle, outcomes, outcomes_async
from ._keyrack import Rack
from ._limits import Limits, QueueLimits
from ._options import Options, check_options
from ._recommendations import Recommendations
from ._rollups import Rollups
from ._schedules import Schedule
from ._task import AsyncTask, PlainTask, Settings, Task

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Self, Unpack

    from ._work import Worker

    P = ParamSpec("P")
    T = TypeVar("T")
    I = TypeVar("I")
    O = TypeVar("O")

    class TaskDecorator(Protocol):
        """What makes a task out of a function."""

        # A coroutine function is also a function that returns a coroutine; the first overload is meant.
        @overload
        def __call__(  # type: ignore[overload-overlap]
            self, function: Callable[P, Coroutine[Any, Any, T]]
        ) -> AsyncTask[P, T]: ...
        @overload
        def __call__(self, function: Callable[P, T]) -> PlainTask[P, T]: ...

    class ContextTaskDecorator(Protocol):
        """The same for a function whose first parameter is the context: it is no argument of a job."""

        @overload
        def __call__(  # type: ignore[overload-overlap]
            self, function: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]
        ) -> AsyncTask[P, T]: ...
        @overload
        def __call__(self, function: Callable[Concatenate[Any, P], T]) -> PlainTask[P, T]: ...

    class BatchDecorator(Protocol):
        """What makes a task for single items out of a function of a list."""

        @overload
        def __call__(
            self, function: Callable[[list[I]], Coroutine[Any, Any, Sequence[O | Exception]]]
        ) -> AsyncTask[[I], O]: ...
        @overload
        def __call__(
            self, function: Callable[[list[I]], Sequence[O | Exception]]
        ) -> AsyncTask[[I], O]: ...


#: A URL, a folder for the embedded store, or "memory".
StoreName = str | os.PathLike[str]

_SCHEMES = ("embedded:", "redis:", "rediss:", "redis+unix:", "redis+sentinel:", "redis+cluster:")


def store_url(store: StoreName | None) -> str:
    """The URL of a store: as `KEYRACK_STORE` says unless given, as for the program."""
    if store is None:
        # An empty variable is how shells and containers unset one.
        store = os.environ.get("KEYRACK_STORE") or "embedded:./keyrack-data"
    if isinstance(store, str) and store.startswith(_SCHEMES):
        return store
    if store == "memory":
        return "embedded:memory"
    path = os.fspath(store)
    if "://" in path or "?" in path or not path:
        raise InvalidError(f'"{path}" is no store; give "memory", a folder, or a URL such as redis://HOST')
    # The path would be taken for memory, or for an option, if it did not begin like a path.
    return f"embedded:{os.path.join(os.curdir, path)}"


class App:
    """Tasks, and the store that has their jobs.

    The store is opened when it is first used. So a module can make an App at import time, and a
    server that forks (gunicorn with preload) opens it in each child.
    """

    def __init__(
        self,
        store: StoreName | None = None,
        *,
        password_file: StoreName | None = None,
        context: ContextFactory | None = None,
    ) -> None:
        self._store = store
        self._password_file = password_file
        #: What makes the first argument of tasks with `context=True`; each worker opens one and closes it.
        self.context = context
        self._rack: Rack | None = None
        self._has_test_clock = False
        self._pid = os.getpid()
        self._opening = threading.Lock()
        #: The tasks, by their queues.
        self.tasks: dict[str, Task[..., Any]] = {}
        #: Rate limits that all processes on the store share.
        self.limits = Limits(self)
        #: What users have paid for.
        self.entitlements = Entitlements(self)
        #: Uploads that leave no file that nobody knows.
        self.files = Files(self)
        #: What to show to whom.
        self.recommendations = Recommendations(self)

    def __repr__(self) -> str:
        return f"App({self._store!r})"

    @property
    def rack(self) -> Rack:
        """The opened store, for the other parts of the package."""
        if self._rack is None:
            if os.getpid() != self._pid:
                # The lock may have been held when the process was forked.
                self._opening, self._pid = threading.Lock(), os.getpid()
            with self._opening:
                if self._rack is None:
                    password_file = self._password_file or os.environ.get("KEYRACK_PASSWORD_FILE")
                    url = store_url(self._store)
                    self._rack = Rack(url, password_file or None, self._has_test_clock)
        return self._rack

    def reopen(self) -> Self:
        """Opens the store again in a child process that was forked after it had been opened."""
        try:
            self.close()
        except ForkError:
            self._rack = None
        self.rack  # noqa: B018
        return self

    def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Makes a call of the native module, for the other parts of the package."""
        return decode(self.rack.call(name, encode(arguments)) or "null")

    def submit_jobs(self, text: str) -> str | None:
        """Submits jobs, for tasks. Tests replace it."""
        return self.rack.call("submit", text)

    @property
    def url(self) -> str:
        """The store's address, without its password."""
        return self.rack.url

    def close(self) -> None:
        """Closes the store. Calls and workers that are under way keep it open until they end."""
        rack, self._rack = self._rack, None
        if rack is not None:
            rack.close()

    def __enter__(self) -> Self:
        self.rack  # noqa: B018
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def task(  # type: ignore[overload-overlap]
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> AsyncTask[P, T]: ...
    @overload
    def task(self, function: Callable[P, T], /) -> PlainTask[P, T]: ...
    @overload
    def task(
        self,
        *,
        queue: str | None = None,
        concurrency: int | None = None,
        time_limit: float = 1800,
        skip_duplicates: bool = False,
        processes: int = 0,
        weight: int = 1,
        context: Literal[False] = False,
        **options: Unpack[Options],
    ) -> TaskDecorator: ...
    @overload
    def task(
        self,
        *,
        queue: str | None = None,
        concurrency: int | None = None,
        time_limit: float = 1800,
        skip_duplicates: bool = False,
        weight: int = 1,
        context: Literal[True],
        **options: Unpack[Options],
    ) -> ContextTaskDecorator: ...

    # mypy does not see that the options reach `options`.
    def task(  # type: ignore[misc]
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        queue: str | None = None,
        concurrency: int | None = None,
        time_limit: float = 1800,
        skip_duplicates: bool = False,
        processes: int = 0,
        weight: int = 1,
        context: bool = False,
        **options: Unpack[Options],
    ) -> Any:
        """Makes a function a task.

        Its jobs are in `queue`, which is named after the function unless given. `concurrency` and
        `time_limit` (seconds) are for workers. With `skip_duplicates`, a job with the arguments of an
        earlier one ends as its duplicate. With `processes`, a plain function runs in so many processes
        of their own, which compute side by side. `weight` is for tasks that share the places of a
        worker. With `context`, the first parameter is what the App's `context` has made, and not one of a
        job. All other options are those of `Options`.
        """
        settings = Settings(concurrency, time_limit, skip_duplicates, processes, weight, context)
        if context and self.context is None:
            raise InvalidError("context: the App has none; give it one, as in App(context=open_database)")
        if context and processes:
            raise InvalidError("context: a process has none of its own; give either context or processes")
        check_options(options)

        def make(function: Callable[..., Any]) -> Task[..., Any]:
            name = queue or function.__name__
            if name in self.tasks:
                raise InvalidError(
                    f'the queue "{name}" has a task already; give each task a queue, '
                    f'such as "{name}/{function.__name__}"'
                )
            kind = AsyncTask if inspect.iscoroutinefunction(function) else PlainTask
            if processes and kind is AsyncTask:
                raise InvalidError("processes: a coroutine runs on an event loop; give a plain function")
            task: Task[..., Any] = kind(self, function, name, settings)
            task = task.options(**options) if options else task
            self.tasks[name] = task
            return task

        return make if function is None else make(function)

    def batch(
        self,
        *,
        queue: str | None = None,
        size: int = 100,
        wait: float = 0.01,
        time_limit: float = 1800,
        **options: Unpack[Options],
    ) -> BatchDecorator:
        """Makes a function of a list a task for single items: `size` jobs at most are one call.

        The function gets the items of jobs that came within `wait` seconds, and returns a list of their
        results, in which an exception fails the job at its place. What it raises fails all of them.
        """
        from ._batch import batched

        def make(function: Callable[[list[Any]], Any]) -> AsyncTask[[Any], Any]:
            gather = batched(function, size, wait)
            concurrency = 4 * size
            made = self.task(queue=queue, concurrency=concurrency, time_limit=time_limit, **options)
            return made(gather)

        return make

    def job(self, id: str) -> Handle[Any]:
        """The job with this id."""
        return Handle(self, id)

    def gather(
        self,
        handles: Iterable[Handle[Any]],
        *,
        timeout: float | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """Waits for many jobs at once, and returns their results in the same order.

        The first that failed is raised, or with `return_exceptions` stands in its place, as
        `asyncio.gather` does it.
        """
        handles = list(handles)
        return outcomes(self, handles, timeout, return_exceptions)

    async def gather_async(
        self,
        handles: Iterable[Handle[Any]],
        *,
        timeout: float | None = None,
        return_exceptions: bool = False,
    ) -> list[Any]:
        """The same for asyncio."""
        handles = list(handles)
        return await outcomes_async(self, handles, timeout, return_exceptions)

    def events(self, *queues: str | Task[..., Any]) -> EventStream:
        """What happens to the jobs of these queues, or of all tasks.

        It listens from `with` or `async with` on, or from the first item of a loop.
        """
        chosen = queues or tuple(self.tasks)
        names = [queue.queue if isinstance(queue, Task) else queue for queue in chosen]
        return EventStream(self, names)

    def pause(self, queue: str | Task[..., Any]) -> None:
        """Lets no more jobs of a queue start, in any worker."""
        self.call("pause", {"queue": _name(queue)})

    def resume(self, queue: str | Task[..., Any]) -> None:
        """Lets jobs of a queue start again."""
        self.call("resume", {"queue": _name(queue)})

    def stats(self, queue: str | Task[..., Any]) -> dict[str, Any]:
        """How many jobs a queue has in which state, and who works on them."""
        stats: dict[str, Any] = self.call("stats", {"queue": _name(queue)})
        return stats

    def queue_limits(self, queue: str | Task[..., Any]) -> QueueLimits:
        """What limits a queue."""
        limits: QueueLimits = self.call("limits", {"queue": _name(queue)})
        return limits

    def set_queue_limits(
        self, queue: str | Task[..., Any], **limits: Unpack[QueueLimits]
    ) -> None:
        """Replaces all limits of a queue. What is left out is not limited, or has its default."""
        self.call("setLimits", {"queue": _name(queue), "limits": limits})

    def schedules(self) -> list[Schedule]:
        """All schedules of the store, by name: those of tasks, and those that others have made."""
        return [Schedule.of(told) for told in self.call("schedules", {})]

    def unschedule(self, name: str) -> None:
        """Deletes a schedule. Jobs that it has queued stay."""
        self.call("unschedule", {"name": name})

    def pause_schedule(self, name: str) -> None:
        """Skips the runs of a schedule until it is resumed."""
        self.call("pauseSchedule", {"name": name})

    def resume_schedule(self, name: str) -> None:
        """Lets a schedule run again."""
        self.call("resumeSchedule", {"name": name})

    def run_schedule(self, name: str) -> None:
        """Queues the job of a schedule now. Its times stay as they are."""
        self.call("runSchedule", {"name": name})

    def rollups(self, account: str, project: str) -> Rollups:
        """The rollups of a project of an account: sums, counts, trends and more of event values."""
        return Rollups(self, account, project)

    def worker(
        self,
        queues: Iterable[str | Task[..., Any]] | None = None,
        *,
        concurrency: int | None = None,
        drain: float = 15,
        stop_grace: float = 10,
        lease: float | None = None,
        shared_concurrency: int | None = None,
    ) -> Worker:
        """A worker for these queues, or for all tasks; `with app.worker():` runs it beside."""
        from ._work import Worker

        names = None
        if queues is not None:
            queues = [queues] if isinstance(queues, str) else queues
            names = [queue.queue if isinstance(queue, Task) else queue for queue in queues]
        return Worker(self, names, concurrency, drain, stop_grace, lease, shared_concurrency)

    def work(
        self,
        queues: Iterable[str | Task[..., Any]] | None = None,
        *,
        concurrency: int | None = None,
        drain: float = 15,
        stop_grace: float = 10,
        lease: float | None = None,
        shared_concurrency: int | None = None,
    ) -> None:
        """Runs jobs of these queues, or of all tasks, until SIGTERM or SIGINT.

        `concurrency` is how many jobs of each queue run at once: 16 in threads for plain functions,
        100 for coroutines unless given. After a signal, running jobs have `drain` seconds to end. Then
        they are told to stop, and `stop_grace` seconds later other workers get them. A worker that is
        silent for `lease` seconds (10 unless given) loses its jobs; all of a queue should agree on it.
        With `shared_concurrency`, at most so many jobs of all queues run at once: queues that have jobs
        take turns by the `weight` of their tasks.
        """
        self.worker(
            queues,
            concurrency=concurrency,
            drain=drain,
            stop_grace=stop_grace,
            lease=lease,
            shared_concurrency=shared_concurrency,
        ).run()


def _name(queue: str | Task[..., Any]) -> str:
    return queue.queue if isinstance(queue, Task) else queue


def open(
    store: StoreName | None = None,
    *,
    password_file: StoreName | None = None,
    context: ContextFactory | None = None,
) -> App:
    """Opens a store now: of a URL, in a folder, in `"memory"`, or as `KEYRACK_STORE` says."""
    app = App(store, password_file=password_file, context=context)
    app.rack  # noqa: B018
    return app
