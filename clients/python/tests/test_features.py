"""Events, many results at once, batches, processes, and what tests are helped by."""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import sys
import threading
import time
from collections.abc import Callable

import pytest
from conftest import TASKS, until

import keyrack
from keyrack.testing import Clock, inline


def test_events_tell_what_happens(app: keyrack.App) -> None:
    @app.task(retries=0)
    def work(n: int) -> int:
        keyrack.current_job().report({"percent": 50})
        return n

    with app.events(work) as events:
        with pytest.raises(keyrack.WaitTimeout):
            events.get(timeout=0.01)
        with app.worker():
            handle = work.submit(7)
            assert handle.wait(20) == 7
        heard = [events.get(timeout=20) for _ in range(3)]
    assert [event.type for event in heard] == ["new", "progress", "completed"]
    assert {event.id for event in heard} == {handle.id}
    assert heard[1].progress == {"percent": 50}
    assert heard[2].job is not None and heard[2].job.result == 7
    assert list(events) == [], "closed"


def test_events_and_results_for_asyncio(app: keyrack.App) -> None:
    @app.task(retries=0)
    async def work(n: int) -> int:
        if n == 3:
            raise keyrack.Fatal("three")
        return n

    async def main() -> None:
        async with app.events(work) as events:
            handles = await work.submit_many_async(range(5))
            seen = []
            async for event in events:
                seen.append(event.type)
                if seen.count("completed") == 4 and seen.count("failed") == 1:
                    break
        results = await app.gather_async(handles, return_exceptions=True)
        assert [result for result in results if isinstance(result, int)] == [0, 1, 2, 4]
        assert isinstance(results[3], keyrack.JobFailed)
        with pytest.raises(keyrack.JobFailed):
            await app.gather_async(handles)

    with app.worker():
        asyncio.run(main())


def test_a_canceled_wait_is_forgotten(keyrack_app: keyrack.App) -> None:
    @keyrack_app.task
    def never(n: int) -> int:
        return n

    async def main() -> None:
        handle = await never.submit_async(1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(handle.wait_async(), 0.05)
        assert await handle.status_async() == "queued"

    asyncio.run(main())


def test_many_results_come_at_once(app: keyrack.App) -> None:
    @app.task(retries=0)
    def double(n: int) -> int:
        return 2 * n

    handles = double.submit_many(range(2000))
    with app.worker():
        assert app.gather(handles, timeout=60) == [2 * n for n in range(2000)]
    assert app.gather([], timeout=1) == []
    with pytest.raises(keyrack.NotFoundError):
        app.gather([app.job("nobody")], timeout=1)
    late = double.submit(1)
    with pytest.raises(keyrack.WaitTimeout):
        app.gather([late], timeout=0.01)


def test_a_batch_handler_gets_many_jobs(keyrack_app: keyrack.App) -> None:
    sizes: list[int] = []

    @keyrack_app.batch(queue="insert", size=10, wait=0.05, retries=0)
    def insert(rows: list[int]) -> list[int | Exception]:
        sizes.append(len(rows))
        return [keyrack.Fatal("no thirteen") if row == 13 else row * 10 for row in rows]

    handles = insert.submit_many(range(25))
    with keyrack_app.worker():
        results = keyrack_app.gather(handles, timeout=20, return_exceptions=True)
    assert isinstance(results.pop(13), keyrack.JobFailed)
    assert results == [10 * n for n in range(25) if n != 13]
    assert sum(sizes) == 25 and max(sizes) == 10


def test_functions_compute_in_processes(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("KEYRACK_STORE", redis_url)
    monkeypatch.setenv("PYTHONPATH", str(TASKS))
    monkeypatch.syspath_prepend(str(TASKS))
    sys.modules.pop("processes", None)
    import processes  # type: ignore[import-not-found]

    app: keyrack.App = processes.app
    compute, die, forever = app.tasks["compute"], app.tasks["die"], app.tasks["forever"]
    with app, app.worker():
        answers = app.gather(compute.submit_many([1, 2, 3, 4]), timeout=60)
        assert [answer[0] for answer in answers] == [1, 4, 9, 16]
        assert os.getpid() not in {answer[1] for answer in answers}
        with pytest.raises(keyrack.JobFailed, match="minus") as failed:
            compute.submit(-1).wait(60)
        assert "processes.py" in failed.value.reason
        with pytest.raises(keyrack.JobFailed, match="exit code 3"):
            die.submit().wait(60)
        running = forever.submit(str(tmp_path / "pid"))
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        pid = int((tmp_path / "pid").read_text())
        running.cancel()
        until(lambda: not pathlib.Path(f"/proc/{pid}").exists())
    with pytest.raises(keyrack.InvalidError, match="top of a module"):

        @app.task(processes=1)
        def inner() -> None: ...

        app.worker([inner]).start()


def test_the_clock_of_a_test_is_moved(keyrack_app: keyrack.App, keyrack_clock: Clock) -> None:
    @keyrack_app.task(delay=3600, retries=0)
    def remind(whom: str) -> str:
        return whom

    with keyrack_app.worker():
        handle = remind.submit("ada")
        assert handle.status() == "new"
        keyrack_clock.advance(3601)
        assert handle.wait(20) == "ada"
    with pytest.raises(keyrack.InvalidError):
        keyrack_clock.advance(-1)


def test_a_store_is_a_server_for_others(keyrack_app: keyrack.App, keyrack_redis: str) -> None:
    host, port = keyrack_redis.removeprefix("redis://").split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"SET a 1\r\nGET a\r\n")
        answer = b""
        while not answer.endswith(b"1\r\n"):
            answer += client.recv(64)
    assert answer == b"+OK\r\n$1\r\n1\r\n"

    @keyrack_app.task
    def double(n: int) -> int:
        return 2 * n

    handle = double.submit(4)
    with keyrack.App(keyrack_redis) as other:
        assert other.job(handle.id).status() == "queued"


def test_jobs_run_inline(keyrack_inline: Callable[[keyrack.App], keyrack.App]) -> None:
    app = keyrack.App("redis://127.0.0.1:1")
    threads: list[threading.Thread] = []

    @app.task(retries=0)
    def child(n: int) -> int:
        threads.append(threading.current_thread())
        if n < 0:
            raise ValueError("negative")
        return n + 1

    @app.task(retries=0)
    def parent(n: int) -> int:
        inside = child.submit(n).wait(0)
        assert keyrack.current_job().queue == "parent"
        return 10 * inside

    @app.task(retries=0)
    async def later(n: int) -> int:
        await asyncio.sleep(0)
        return n

    keyrack_inline(app)
    assert parent.submit(1).wait(0) == 20
    assert threads == [threading.main_thread()]
    assert later.submit(5).wait(0) == 5
    with pytest.raises(keyrack.JobFailed, match="negative"):
        child.submit(-1).wait(0)
    assert child.options(delay=60).submit(1).status() == "new"


def test_inline_ends_with_its_block(redis_url: str) -> None:
    app = keyrack.App(redis_url)

    @app.task
    def note(n: int) -> int:
        return n

    with app:
        with inline(app):
            assert note.submit(1).wait(0) == 1
        assert note.submit(1).status() == "queued"


def test_a_lease_has_bounds(keyrack_app: keyrack.App) -> None:
    @keyrack_app.task
    def note(n: int) -> int:
        return n

    with pytest.raises(keyrack.InvalidError, match="lease: 0.5 s"):
        keyrack_app.worker(lease=0.5).start()
    with keyrack_app.worker(lease=1.5):
        assert note.submit(1).wait(20) == 1


def test_a_queue_is_paused(app: keyrack.App) -> None:
    @app.task
    def note(n: int) -> int:
        return n

    app.pause(note)
    handle = note.submit(1)
    with app.worker():
        time.sleep(0.05)  # Long enough for a worker that would take it.
        assert handle.status() == "queued"
        assert app.stats(note)["queued"] == 1
        app.resume(note)
        assert handle.wait(20) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_handler_may_return_how_to_go_on(keyrack_app: keyrack.App, is_async: bool) -> None:
    def decide(word: str) -> object:
        job = keyrack.current_job()
        if job.attempt > 1:
            return job.attempt
        ends = {
            "snooze": keyrack.Snooze(in_=0),
            "retry": keyrack.Retry(in_=0),
            "fatal": keyrack.Fatal("no use"),
            "cancel": keyrack.Cancel(),
        }
        return ends[word]

    async def decide_later(word: str) -> object:
        return decide(word)

    task = keyrack_app.task(queue="decide", retries=1)(decide_later if is_async else decide)
    with keyrack_app.worker():
        assert task.submit("snooze").wait(20) == 2
        assert task.submit("retry").wait(20) == 2
        with pytest.raises(keyrack.JobFailed, match="no use"):
            task.submit("fatal").wait(20)
        with pytest.raises(keyrack.JobCanceled):
            task.submit("cancel").wait(20)


def test_a_wrong_unique_is_refused(keyrack_app: keyrack.App) -> None:
    @keyrack_app.task
    def note(n: int) -> int:
        return n

    with pytest.raises(keyrack.InvalidError, match="unique: 'args'"):
        note.options(unique="args")  # type: ignore[typeddict-item]
    with pytest.raises(keyrack.InvalidError, match="unique.fold"):
        note.options(unique=keyrack.Unique(fold=True)).submit(1)
    off = note.options(unique=True).options(unique=False)
    assert off.submit(1).id != off.submit(1).id
