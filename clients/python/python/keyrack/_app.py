"""An opened store, and the tasks that use it."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ._errors import ForkError, InvalidError
from ._handle import Handle
from ._keyrack import Rack
from ._limits import Limits
from ._task import AsyncTask, Options, PlainTask, Settings, Task, check_options

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Self, Unpack

    from ._work import Worker

    P = ParamSpec("P")
    T = TypeVar("T")

    class TaskDecorator(Protocol):
        """What makes a task out of a function."""

        # A coroutine function is also a function that returns a coroutine; the first overload is meant.
        @overload
        def __call__(  # type: ignore[overload-overlap]
            self, function: Callable[P, Coroutine[Any, Any, T]]
        ) -> AsyncTask[P, T]: ...
        @overload
        def __call__(self, function: Callable[P, T]) -> PlainTask[P, T]: ...


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
        self, store: StoreName | None = None, *, password_file: StoreName | None = None
    ) -> None:
        self._store = store
        self._password_file = password_file
        self._rack: Rack | None = None
        self._pid = os.getpid()
        self._opening = threading.Lock()
        #: The tasks, by their queues.
        self.tasks: dict[str, Task[..., Any]] = {}
        #: Rate limits that all processes on the store share.
        self.limits = Limits(self)

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
                    self._rack = Rack(store_url(self._store), password_file or None)
        return self._rack

    def reopen(self) -> Self:
        """Opens the store again in a child process that was forked after it had been opened."""
        try:
            self.close()
        except ForkError:
            self._rack = None
        self.rack  # noqa: B018
        return self

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
        **options: Unpack[Options],
    ) -> TaskDecorator: ...

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
        **options: Unpack[Options],
    ) -> Any:
        """Makes a function a task.

        Its jobs are in `queue`, which is named after the function unless given. `concurrency` and
        `time_limit` (seconds) are for workers. With `skip_duplicates`, a job with the arguments of an
        earlier one ends as its duplicate. All other options are those of `Options`.
        """
        settings = Settings(concurrency, time_limit, skip_duplicates)
        check_options(options)

        def make(function: Callable[..., Any]) -> Task[..., Any]:
            name = queue or function.__name__
            if name in self.tasks:
                raise InvalidError(
                    f'the queue "{name}" has a task already; give each task a queue, '
                    f'such as "{name}/{function.__name__}"'
                )
            kind = AsyncTask if inspect.iscoroutinefunction(function) else PlainTask
            task: Task[..., Any] = kind(self, function, name, settings)
            task = task.options(**options) if options else task
            self.tasks[name] = task
            return task

        return make if function is None else make(function)

    def job(self, id: str) -> Handle[Any]:
        """The job with this id."""
        return Handle(self, id)

    def worker(
        self,
        queues: Iterable[str | Task[..., Any]] | None = None,
        *,
        concurrency: int | None = None,
        drain: float = 15,
        stop_grace: float = 10,
    ) -> Worker:
        """A worker for these queues, or for all tasks; `with app.worker():` runs it beside."""
        from ._work import Worker

        names = None
        if queues is not None:
            queues = [queues] if isinstance(queues, str) else queues
            names = [queue.queue if isinstance(queue, Task) else queue for queue in queues]
        return Worker(self, names, concurrency, drain, stop_grace)

    def work(
        self,
        queues: Iterable[str | Task[..., Any]] | None = None,
        *,
        concurrency: int | None = None,
        drain: float = 15,
        stop_grace: float = 10,
    ) -> None:
        """Runs jobs of these queues, or of all tasks, until SIGTERM or SIGINT.

        `concurrency` is how many jobs of each queue run at once: 16 in threads for plain functions,
        100 for coroutines unless given. After a signal, running jobs have `drain` seconds to end. Then
        they are told to stop, and `stop_grace` seconds later other workers get them.
        """
        self.worker(queues, concurrency=concurrency, drain=drain, stop_grace=stop_grace).run()


def open(store: StoreName | None = None, *, password_file: StoreName | None = None) -> App:
    """Opens a store now: of a URL, in a folder, in `"memory"`, or as `KEYRACK_STORE` says."""
    app = App(store, password_file=password_file)
    app.rack  # noqa: B018
    return app
