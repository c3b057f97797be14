"""Workers in processes of their own: signals, kill -9, blocked interpreters, fork."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from conftest import TASKS, until

import keyrack

Program = Callable[..., "subprocess.Popen[bytes]"]
WORKER = ("-m", "keyrack.worker", "tasks:app")


@pytest.fixture
def tasks(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> keyrack.App:
    """The tasks of the worker processes, for submitting."""
    monkeypatch.setenv("KEYRACK_STORE", redis_url)
    monkeypatch.syspath_prepend(str(TASKS))
    sys.modules.pop("tasks", None)
    import tasks  # type: ignore[import-not-found]

    app: keyrack.App = tasks.app
    return app


def test_jobs_of_a_killed_worker_run_again(
    tasks: keyrack.App, program: Program, tmp_path: pathlib.Path
) -> None:
    first = program(*WORKER, "--concurrency", "100")
    handles = tasks.tasks["slow"].submit_many([(str(tmp_path), n, 0.5) for n in range(100)])
    until(lambda: len(list(tmp_path.iterdir())) >= 50)
    first.kill()
    killed = time.monotonic()
    second = program(*WORKER, "--concurrency", "100")
    runners = [handle.wait(30) for handle in handles]
    assert time.monotonic() - killed < 15
    assert str(second.pid) in runners
    for handle in handles:
        ends = [entry for entry in handle.info().history if entry["event"] == "completed"]
        assert len(ends) == 1, "settled twice"


def test_a_handler_that_holds_the_interpreter_keeps_its_job(
    tasks: keyrack.App, program: Program, tmp_path: pathlib.Path
) -> None:
    workers = [program(*WORKER, "--lease", "1") for _ in range(2)]
    # Longer than a lease, and than the time between two looks at silent workers (2 s).
    seconds = float(os.environ.get("KEYRACK_BLOCKED_S", "5"))
    handle = tasks.tasks["spin"].submit(seconds)
    assert handle.wait(seconds + 35) > 0
    assert handle.info().attempts == 1
    # One that is really silent loses its job.
    stopped = tasks.tasks["slow"].submit(str(tmp_path), 1, 2.0)
    until(lambda: list(tmp_path.iterdir()))
    (name,) = [path.name for path in tmp_path.iterdir()]
    (silent,) = [worker for worker in workers if name.endswith(f"-{worker.pid}")]
    silent.send_signal(signal.SIGSTOP)
    assert stopped.wait(40) != str(silent.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_jobs_end(
    tasks: keyrack.App, program: Program, tmp_path: pathlib.Path, number: int
) -> None:
    worker = program(*WORKER)
    handle = tasks.tasks["slow"].submit(str(tmp_path), 1, 0.5)
    until(lambda: list(tmp_path.iterdir()))
    worker.send_signal(number)
    assert worker.wait(20) == 0
    assert handle.wait(0) == str(worker.pid)


def test_a_worker_without_a_store_says_so(program: Program) -> None:
    worker = program(*WORKER, KEYRACK_STORE="redis://127.0.0.1:1")
    assert worker.wait(20) == 1
    assert worker.stderr is not None
    assert b"cannot reach" in worker.stderr.read()


RELOADED = """
import keyrack

app = keyrack.App()

@app.task
def answer() -> int:
    return {answer}
"""


def test_a_worker_starts_again_when_its_code_changes(redis_url: str, tmp_path: pathlib.Path) -> None:
    module = tmp_path / "reloaded.py"
    module.write_text(RELOADED.format(answer=1))
    command = [sys.executable, "-m", "keyrack.worker", "reloaded:app", "--reload"]
    environment = {**os.environ, "KEYRACK_STORE": redis_url, "PYTHONDONTWRITEBYTECODE": "1"}
    worker = subprocess.Popen(command, cwd=tmp_path, env=environment)
    try:
        with keyrack.App(redis_url) as app:

            @app.task
            def answer() -> int:
                raise AssertionError("the worker has its own")

            assert answer.submit().wait(20) == 1
            module.write_text(RELOADED.format(answer=2))
            until(lambda: answer.submit().wait(20) == 2)
            # What is no Python starts nothing, and what cannot run is started again once it can.
            module.write_text("nonsense(")
            module.write_text(RELOADED.format(answer=3))
            until(lambda: answer.submit().wait(20) == 3)
    finally:
        worker.terminate()
        assert worker.wait(20) == 0


FORK = """
import os, sys
import keyrack

app = keyrack.App({store!r})

@app.task
def note(n: int) -> int:
    return n

handle = note.submit(1)
worker = app.worker().start()
handle.wait(20)
pid = os.fork()
if pid == 0:
    calls = [lambda: note.submit(2), handle.status, lambda: handle.wait(1), app.worker().run,
             app.close, worker.stop]
    for call in calls:
        try:
            call()
        except keyrack.ForkError:
            pass
        else:
            os._exit(3)
    app.reopen() if {reopens} else None
    if {reopens}:
        assert note.submit(3).status() in ("queued", "running", "completed")
    # Dropping what was inherited waits for no thread.
    del app, handle, worker, note, calls
    import gc; gc.collect()
    os._exit(0)
status = os.waitpid(pid, 0)[1]
worker.stop()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.parametrize("kind", ["memory", "redis"])
def test_a_forked_child_gets_an_error_and_can_open_again(kind: str, redis_url: str) -> None:
    store = redis_url if kind == "redis" else "memory"
    code = FORK.format(store=store, reopens=kind == "redis")
    ended = subprocess.run([sys.executable, "-c", code], timeout=60)
    assert ended.returncode == 0


def test_an_app_that_was_not_used_opens_in_the_child(redis_url: str) -> None:
    code = f"""
import os, sys
import keyrack
app = keyrack.App({redis_url!r})
@app.task
def note(n: int) -> int: return n
pid = os.fork()
assert note.submit(1).status() == "queued"
if pid == 0:
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_program_that_ends_with_a_worker_ends(redis_url: str) -> None:
    code = f"""
import keyrack
app = keyrack.App({redis_url!r})
@app.task
def note(n: int) -> int: return n
@app.task
async def later(n: int) -> int: return n
worker = app.worker().start()
note.submit(1).wait(20), later.submit(1).wait(20)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_restarted_workers_and_stores_leave_nothing_behind() -> None:
    def resources() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    def resident() -> float:
        (line,) = re.findall(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())
        return int(line) / 1024

    def turn() -> None:
        with keyrack.App("memory") as app:

            @app.task(retries=0)
            def note(n: int) -> int:
                return n

            @app.task(retries=0)
            async def later(n: int) -> int:
                return n

            with app.worker():
                assert note.submit(1).wait(20) == later.submit(1).wait(20) == 1

    def turns(n: int) -> None:
        for _ in range(n):
            turn()

    turns(20)
    before, resident_before = resources(), resident()
    n = int(os.environ.get("KEYRACK_RESTARTS", "50"))
    turns(n)
    until(lambda: all(now <= was + 1 for now, was in zip(resources(), before)))
    grown = resident() - resident_before
    print(f"{n} restarts: fds and threads {before} -> {resources()}, {resident_before:.0f} MB + {grown:.1f} MB")
    assert grown < 40, f"{grown:.1f} MB more"
