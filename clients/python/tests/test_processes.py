"""Workers in processes of their own: signals, kill -9, blocked interpreters, fork."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
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


SPAWNED = """
import multiprocessing, sys
import keyrack

app = keyrack.App({store!r})

@app.task(queue="squares")
def square(n: int) -> int:
    return n * n

def submit(n: int) -> str:
    try:
        return square.submit(n).id
    except keyrack.ForkError:
        app.reopen()
        return square.submit(n).id

if __name__ == "__main__":
    if {is_used}:
        square.submit(0)
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        ids = pool.map_async(submit, range(1, 9)).get(timeout=40)
    with app.worker():
        results = app.gather([app.job(id) for id in ids], timeout=20)
    assert results == [n * n for n in range(1, 9)], results
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("is_used", [False, True])
def test_processes_of_multiprocessing_submit(
    method: str, is_used: bool, redis_url: str, tmp_path: pathlib.Path
) -> None:
    program = tmp_path / "spawned.py"
    program.write_text(SPAWNED.format(store=redis_url, method=method, is_used=is_used))
    assert subprocess.run([sys.executable, str(program)], timeout=60).returncode == 0


SITE = """
import os
import keyrack

app = keyrack.App()

@app.task(queue="visits", retries=0)
def visit(pid: int) -> int:
    return pid

if os.environ["IS_USED"]:
    visit.submit(0)

def post_fork(server, worker):
    if os.environ["IS_USED"]:
        app.reopen()

def site(environ, start_response):
    job = visit.submit(os.getpid())
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [job.id.encode()]
"""


@pytest.mark.parametrize("is_used", [False, True])
def test_gunicorn_with_preload_submits_in_its_children(
    is_used: bool, redis_url: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "site_module.py").write_text(SITE)
    (tmp_path / "gunicorn.conf.py").write_text("from site_module import post_fork\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % free.getsockname()[1]
    arguments = ["--preload", "--workers", "2", "--bind", address, "--log-level", "warning"]
    command = [sys.executable, "-m", "gunicorn", *arguments, "site_module:site"]
    environment = {**os.environ, "KEYRACK_STORE": redis_url, "IS_USED": "1" if is_used else ""}
    server = subprocess.Popen(command, cwd=tmp_path, env=environment)

    def visit() -> str | None:
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=20) as answer:
                return str(answer.read().decode())
        except ConnectionError:
            return None
        except urllib.error.URLError as error:
            if isinstance(error.reason, ConnectionError):
                return None
            raise

    try:
        until(visit)
        ids = [visit() for _ in range(10)]
        with keyrack.App(redis_url) as app:

            @app.task(queue="visits")
            def work(pid: int) -> int:
                return pid

            with app.worker():
                pids = app.gather([app.job(str(id)) for id in ids], timeout=20)
        assert server.pid not in pids, "its children have submitted"
    finally:
        server.terminate()
        assert server.wait(20) == 0


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

    for _ in range(20):
        turn()
    before = resources()
    n = int(os.environ.get("KEYRACK_RESTARTS", "60"))
    samples = []
    for done in range(n):
        turn()
        if (done + 1) % max(1, n // 20) == 0:
            samples.append(resident())
    until(lambda: all(now <= was + 1 for now, was in zip(resources(), before)))
    # In the first half, allocators and caches get to their size. What grows in the second half is lost: 10 KB for
    # each restart are 2.5 MB from the third to the last quarter of a thousand.
    quarter = len(samples) // 4
    third, last = (statistics.median(part) for part in (samples[-2 * quarter : -quarter], samples[-quarter:]))
    shown = " ".join(f"{sample:.1f}" for sample in samples)
    print(f"{n} restarts: fds and threads {before} -> {resources()}, MB resident: {shown}")
    assert last - third < 1.5, f"{last - third:.1f} MB more: {shown}"
