"""For tests: stores in memory, a server for clients of Redis, a clock to move on, jobs that run inline.

With `pytest_plugins = ["keyrack.testing"]` in `conftest.py` the fixtures are there.
"""

from __future__ import annotations

import contextlib
import datetime
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ._app import App
from ._codec import decode
from ._errors import InvalidError

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T", bound=Callable[..., object])

    def _fixture(function: T) -> T: ...

else:
    try:
        from pytest import fixture as _fixture
    except ImportError:  # `memory` is of use without pytest.

        def _fixture(function):
            return function


@contextlib.contextmanager
def memory(app: App) -> Iterator[App]:
    """Has an app use a new store in memory until the block ends. Its clock can be moved on."""
    store, rack, has_test_clock = app._store, app._rack, app._has_test_clock
    app._store, app._rack, app._has_test_clock = "memory", None, True
    try:
        yield app
    finally:
        app.close()
        app._store, app._rack, app._has_test_clock = store, rack, has_test_clock


def advance(app: App, time: float | datetime.timedelta) -> None:
    """Moves the clock of a store in memory on by so many seconds: delayed jobs are due, results expire."""
    seconds = time.total_seconds() if isinstance(time, datetime.timedelta) else time
    if seconds < 0:
        raise InvalidError(f"time: {seconds}; a clock only goes forward")
    app.call("advance", {"ms": seconds * 1000})


def redis_url(app: App) -> str:
    """The address at which an embedded store is a server for clients of Redis, until it is closed."""
    return f"redis://{app.call('listenRedis', {})}"


@contextlib.contextmanager
def inline(app: App) -> Iterator[App]:
    """Runs each job once when it is submitted, in the thread that submits it, on a store in memory.

    Jobs with a delay, or that wait for others, stay where they are. A coroutine runs on a loop of its
    own beside. `submit_async` submits as ever.
    """
    with memory(app):
        submit = app.submit_jobs

        def submit_and_run(text: str) -> str | None:
            answer = submit(text)
            told = decode(answer or "[]")
            ids = [entry if isinstance(entry, str) else entry[0] for entry in told]
            _run(app, decode(text)["queue"], ids)
            return answer

        app.submit_jobs = submit_and_run  # type: ignore[method-assign]
        try:
            yield app
        finally:
            del app.submit_jobs  # The method of the class is there again.


def _run(app: App, queue: str, ids: list[str]) -> None:
    due = {id for id in ids if app.job(id).status() == "queued"}
    if not due or queue not in app.tasks:
        return
    worker = app.worker([queue], concurrency=len(due))
    if not app.tasks[queue].is_async:
        return worker.run_here(due)
    ends = ("completed", "failed", "canceled", "duplicate", "delayed")
    with app.events(queue) as events, worker:
        while due:
            event = events.get()
            if event.type in ends:
                due.discard(event.id)


class Clock:
    """The clock of the stores of a test."""

    def __init__(self) -> None:
        self._apps: list[App] = []
        self._lock = threading.Lock()

    def add(self, app: App) -> None:
        with self._lock:
            self._apps.append(app)

    def advance(self, time: float | datetime.timedelta) -> None:
        """Moves it on by so many seconds."""
        for app in self._apps:
            advance(app, time)


@_fixture
def keyrack_clock() -> Clock:
    """The clock of all stores of `keyrack_memory` and `keyrack_app` in this test."""
    return Clock()


@_fixture
def keyrack_memory(keyrack_clock: Clock) -> Iterator[Callable[[App], App]]:
    """Gives an app a new store in memory until the test ends: `app = keyrack_memory(tasks.app)`."""
    with contextlib.ExitStack() as stack:

        def enter(app: App) -> App:
            stack.enter_context(memory(app))
            keyrack_clock.add(app)
            return app

        yield enter


@_fixture
def keyrack_inline() -> Iterator[Callable[[App], App]]:
    """The same, and each job runs when it is submitted: `app = keyrack_inline(tasks.app)`."""
    with contextlib.ExitStack() as stack:
        yield lambda app: stack.enter_context(inline(app))


@_fixture
def keyrack_app(keyrack_memory: Callable[[App], App]) -> App:
    """An app without tasks, with a store in memory."""
    return keyrack_memory(App("memory"))


@_fixture
def keyrack_redis(keyrack_app: App) -> str:
    """The address of a server of its own for clients of Redis: the store of `keyrack_app`."""
    return redis_url(keyrack_app)
