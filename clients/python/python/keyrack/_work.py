"""A worker: runs plain functions in threads, and coroutines on an event loop.

The native side claims jobs, renews their leases and settles them. Python only gets batches of
arguments and gives batches of results back. A thread that waits does so without the GIL.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import _keyrack
from ._codec import encode
from ._context import Opened
from ._errors import Cancel, ConflictError, Fatal, InvalidError, JobCanceled, Retry, Snooze
from ._job import CURRENT
from ._keyrack import RunningJob
from ._processes import ChildError, Pool

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._app import App
    from ._task import Task

#: Jobs of a queue that run at once, unless the task or the worker says otherwise.
PLAIN_CONCURRENCY = 16
ASYNC_CONCURRENCY = 100

_Item = tuple[RunningJob, int, str]
_Failed = tuple[RunningJob, str, str, "float | None"]

_WORKERS: weakref.WeakSet[Worker] = weakref.WeakSet()


def result_text(result: object) -> str:
    """A result as JSON. What says how to go on may be returned as well as raised."""
    if isinstance(result, (Cancel, Fatal, Retry, Snooze)):
        raise result
    return encode(result)


class _Seat:
    """What one thread has to do and has done. Other threads may take from both ends of it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.jobs: deque[_Item] = deque()
        self.completed: deque[tuple[RunningJob, str]] = deque()
        self.failed: deque[_Failed] = deque()
        self.canceled: deque[RunningJob] = deque()

    def fail(self, job: RunningJob, error: BaseException) -> None:
        """Takes note of what a handler raised."""
        if isinstance(error, Cancel):
            self.canceled.append(job)
        elif isinstance(error, Retry):
            self.failed.append((job, error.reason, "retry", error.in_))
        elif isinstance(error, Snooze):
            self.failed.append((job, str(error), "snooze", error.in_))
        else:
            reason = error.reason if isinstance(error, ChildError) else reason_of(error)
            self.failed.append((job, reason, "fatal" if isinstance(error, Fatal) else "retry", None))

    def take_ends(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Takes what has ended. Each end is taken by one thread only."""
        return _drain(self.completed), _drain(self.failed), _drain(self.canceled)


def _drain(ends: deque[Any]) -> list[Any]:
    taken = []
    try:
        while True:
            taken.append(ends.popleft())
    except IndexError:
        return taken


def reason_of(error: BaseException) -> str:
    """The error in one line, and its traceback without our own frames."""
    summary = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = error.__traceback__
    ours = os.path.dirname(__file__)
    while frames is not None and os.path.dirname(frames.tb_frame.f_code.co_filename) == ours:
        frames = frames.tb_next
    text = "".join(traceback.format_exception(type(error), error, frames))
    # What cannot be UTF-8 cannot be stored.
    return f"{summary}\n\n{text}".encode(errors="replace").decode()


class Worker:
    """Runs the jobs of some tasks. `run` blocks; as a context manager it works beside."""

    def __init__(
        self,
        app: App,
        queues: Iterable[str] | None,
        concurrency: int | None,
        drain: float,
        stop_grace: float,
        lease: float | None,
        shared_concurrency: int | None,
    ) -> None:
        names = list(app.tasks) if queues is None else list(queues)
        for name in names:
            if name not in app.tasks:
                known = ", ".join(f'"{known}"' for known in app.tasks) or "none"
                raise InvalidError(f'no task has the queue "{name}"; there are: {known}')
        if shared_concurrency is not None and shared_concurrency < 1:
            raise InvalidError(f"shared_concurrency: {shared_concurrency}; give at least 1")
        if not names:
            raise InvalidError("there are no tasks; make one with @app.task")
        self._app = app
        self._tasks: list[Task[..., Any]] = [app.tasks[name] for name in names]
        self._concurrency = concurrency
        self._times = (float(drain), float(stop_grace), lease, shared_concurrency)
        self._pools: list[Pool | None] = []
        self._native: _keyrack.Worker | None = None
        self._seats: list[_Seat] = []
        self._threads: list[threading.Thread] = []
        self._supervisor: threading.Thread | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Runs jobs until `stop`, or until SIGTERM or SIGINT in the main thread."""
        native = self._open()
        before: list[tuple[int, Any]] = []
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGTERM, signal.SIGINT)
            before = [(number, signal.signal(number, self._on_signal)) for number in numbers]
        try:
            self._supervise(native)
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def start(self) -> Self:
        """Begins to run jobs in threads beside the caller."""
        native = self._open()
        self._supervisor = threading.Thread(
            target=self._supervise_beside, args=(native,), name="keyrack-worker", daemon=True
        )
        self._supervisor.start()
        return self

    @property
    def queues(self) -> list[str]:
        """The queues that it serves."""
        return [task.queue for task in self._tasks]

    def run_here(self, ids: set[str]) -> None:
        """Runs jobs of plain functions in the calling thread until it has run these; for tests."""
        native = self._open()
        current = CURRENT.get(None)
        with self._context.here():
            self._run_these(native, set(ids))
        # A handler that submits goes on with its own job.
        if current is not None:
            CURRENT.set(current)
        while native.supervise():
            pass
        self._context.exit()

    def _run_these(self, native: _keyrack.Worker, left: set[str]) -> None:
        seat = _Seat(native.join())
        while True:
            given = native.exchange(seat.number, *seat.take_ends(), 0.0)
            if given is None:
                break
            left.difference_update(job.id for job, _, _ in given)
            self._run_all(deque(given), seat)
            if not left:
                native.stop()

    def stop(self) -> None:
        """Takes no more jobs. With `start`, waits until the running ones have ended."""
        if self._native is not None:
            self._native.stop()
        if self._supervisor is not None and self._supervisor is not threading.current_thread():
            self._supervisor.join()
            self._supervisor = None
            if self._error is not None:
                raise self._error

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _open(self) -> _keyrack.Worker:
        if self._native is not None:
            raise ConflictError("the worker was started already; make another")
        served = [self._served(task) for task in self._tasks]
        with_context = [task for task in self._tasks if task.settings.has_context]
        is_for_threads = not all(task.is_async for task in with_context)
        self._context = Opened(self._app.context if with_context else None, is_for_threads)
        # Before the first job is taken.
        self._context.enter(self._run_loop)
        try:
            self._pools = [Pool(task) if task.settings.processes else None for task in self._tasks]
            self._native = _keyrack.Worker(self._app.rack, served, *self._times)
        except BaseException:
            self._context.exit()
            raise
        _WORKERS.add(self)
        return self._native

    async def _run_loop(self, native: _keyrack.Worker) -> None:
        with self._context.here():
            await _Loop(native, self._tasks).run()

    def _served(self, task: Task[..., Any]) -> tuple[str, int, float, bool, bool, int]:
        default = ASYNC_CONCURRENCY if task.is_async else task.settings.processes or PLAIN_CONCURRENCY
        concurrency = task.settings.concurrency or self._concurrency or default
        if concurrency < 1:
            raise InvalidError(f"concurrency: {concurrency}; give at least 1")
        settings = task.settings
        if not 1 <= settings.weight <= 100:
            raise InvalidError(f"weight: {settings.weight}; give 1 to 100")
        limits = task.queue, concurrency, settings.time_limit
        return (*limits, task.is_async, settings.skip_duplicates, settings.weight)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        # The second one ends the process: other workers get its jobs within seconds.
        signal.signal(number, lambda number, _: os._exit(128 + number))
        if self._native is not None:
            self._native.stop()

    def _supervise_beside(self, native: _keyrack.Worker) -> None:
        try:
            self._supervise(native)
        except BaseException as error:
            self._error = error

    def _supervise(self, native: _keyrack.Worker) -> None:
        try:
            if any(task.is_async for task in self._tasks):
                if not self._context.start(native):
                    self._spawn(lambda: asyncio.run(self._run_loop(native)), "keyrack-asyncio")
            while native.supervise():
                seat = _Seat(native.join())
                self._seats.append(seat)
                self._spawn(functools.partial(self._serve, native, seat), "keyrack-job")
        finally:
            native.stop()
            # Those that wait for jobs end now. A handler that does not stop is left behind.
            for thread in self._threads:
                thread.join(timeout=0.2)
            for pool in self._pools:
                if pool is not None:
                    pool.close()
            self._context.exit()

    def _spawn(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, native: _keyrack.Worker, seat: _Seat) -> None:
        """The loop of a thread that runs plain functions."""
        with self._context.here():
            self._serve_all(native, seat)

    def _serve_all(self, native: _keyrack.Worker, seat: _Seat) -> None:
        elapsed = 0.0
        while True:
            given = native.exchange(seat.number, *seat.take_ends(), elapsed)
            start = time.perf_counter()
            if given is None:
                return
            if not given:
                self._help(native, seat)
                elapsed = 0.0
                continue
            seat.jobs.extend(given)
            self._run_all(seat.jobs, seat)
            elapsed = time.perf_counter() - start

    def _help(self, native: _keyrack.Worker, seat: _Seat) -> None:
        """Takes over what other threads do not get to, one job at a time."""
        for other in list(self._seats):
            native.settle(*other.take_ends())
            while other is not seat and other.jobs:
                try:
                    item = other.jobs.popleft()
                except IndexError:
                    break
                self._run_all(deque((item,)), seat)
                native.settle(*seat.take_ends())
            native.relieve(other.number)

    def _run_all(self, jobs: deque[_Item], seat: _Seat) -> None:
        tasks, pools = self._tasks, self._pools
        completed, set_current = seat.completed, CURRENT.set
        while True:
            try:
                job, place, data = jobs.popleft()
            except IndexError:
                return
            set_current(job)
            try:
                pool = pools[place]
                if pool is not None:
                    completed.append((job, pool.run(job, data)))
                    continue
                result = tasks[place].run_job(data)
                completed.append((job, "null" if result is None else result_text(result)))
            except BaseException as error:
                seat.fail(job, error)


class _Loop:
    """Runs coroutines on an event loop."""

    def __init__(self, native: _keyrack.Worker, tasks: list[Task[..., Any]]) -> None:
        self._native = native
        self._tasks = tasks
        self._seat = _Seat(0)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._is_flushing = False
        self._kwargs: dict[str, Any] = {}
        if sys.version_info >= (3, 12):
            # A coroutine that ends without waiting needs no turn of the loop.
            self._kwargs["eager_start"] = True

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = self._loop.create_future()
        self._loop.add_reader(self._native.fileno(), self._poll)
        self._poll()
        await self._over
        self._loop.remove_reader(self._native.fileno())

    def _poll(self) -> None:
        self._is_flushing = False
        given, stops, is_over = self._native.poll(*self._seat.take_ends())
        for job, place, data in given:
            coroutine = self._run(job, self._tasks[place], data)
            # A task has a context of its own, so each knows its job.
            task = asyncio.Task(coroutine, loop=self._loop, **self._kwargs)
            if not task.done():
                self._running[job.id] = task
        for id in stops:
            running = self._running.get(id)
            if running is not None:
                running.cancel()
        if is_over and not self._over.done():
            self._over.set_result(None)

    async def _run(self, job: RunningJob, task: Task[..., Any], data: str) -> None:
        CURRENT.set(job)
        seat = self._seat
        try:
            result = await task.run_job(data)
            seat.completed.append((job, "null" if result is None else result_text(result)))
        except asyncio.CancelledError:
            error = JobCanceled(job.id, f"should stop: {job.stop_reason or 'its task was canceled'}")
            seat.failed.append((job, str(error), "retry", None))
        except BaseException as error:
            seat.fail(job, error)
        self._running.pop(job.id, None)
        # Whatever else ends in this turn of the loop goes with it.
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._poll)


@atexit.register
def _stop_all() -> None:
    # A thread in native code must not outlive the interpreter.
    for worker in list(_WORKERS):
        try:
            worker.stop()
        except Exception:  # Another process started it.
            pass
