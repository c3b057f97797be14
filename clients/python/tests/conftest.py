"""Stores for the tests: in memory, in a folder, and a redis-server of their own."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

import keyrack

TASKS = pathlib.Path(__file__).parent / "programs"


def until(condition: Callable[[], object], timeout: float = 20) -> None:
    """Waits for a condition."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a redis-server for this run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
    try:
        until(lambda: _answers(port))
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """An empty database of the redis-server."""
    subprocess.run(["redis-cli", "-u", redis_server, "FLUSHALL"], check=True, stdout=subprocess.DEVNULL)
    return redis_server


@pytest.fixture(params=["memory", "folder", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> str:
    """Each kind of store in turn."""
    if request.param == "redis":
        url: str = request.getfixturevalue("redis_url")
        return url
    return "memory" if request.param == "memory" else str(tmp_path / "data")


@pytest.fixture
def app(store: str) -> Iterator[keyrack.App]:
    """An app without tasks on each kind of store in turn."""
    with keyrack.App(store) as app:
        yield app


@pytest.fixture
def program(redis_url: str) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts Python programs that use the redis-server, and ends them with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str, **env: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "KEYRACK_STORE": redis_url, **env}
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=TASKS, env=environment, stderr=subprocess.PIPE
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
