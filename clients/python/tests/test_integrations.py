"""FastAPI's lifespan, Django's tasks and OpenTelemetry, with the real libraries."""

from __future__ import annotations

import asyncio
import contextlib
import pathlib
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

import keyrack
from keyrack.fastapi import lifespan

DJANGO = """
import datetime, sys, types
from django.conf import settings

settings.configure(
    USE_TZ=True,
    INSTALLED_APPS=["django_tasks"],
    DATABASES={},
    TASKS={"default": {
        "BACKEND": "keyrack.django.KeyrackBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"store": "memory", "retries": 1, "retry_delay": 0},
    }},
)
from keyrack.django import app
from django_tasks import task, TaskResultStatus, default_task_backend, exceptions

module = types.ModuleType("jobs")
sys.modules["jobs"] = module

@task(queue_name="mail", priority=20)
def send(to, *, copies=1):
    if to == "nobody":
        raise ValueError("no address")
    return len(to) * copies

@task(takes_context=True)
async def second(context, n):
    return [n, context.attempt]

for each in (send, second):
    each.func.__module__ = "jobs"
    setattr(module, each.name, each)

waiting = send.enqueue("ada", copies=2)
assert waiting.status == TaskResultStatus.READY and waiting.kwargs == {"copies": 2}
assert app.job(waiting.id).info().queue == "mail"
later = send.using(run_after=datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1))
assert app.job(later.enqueue("ada").id).status() == "new"
failing, context = send.enqueue("nobody"), second.enqueue(7)
with app.worker():
    handles = [app.job(result.id) for result in (waiting, failing, context)]
    app.gather(handles, timeout=20, return_exceptions=True)
done = send.get_result(waiting.id)
assert done.status == TaskResultStatus.SUCCESSFUL and done.return_value == 6, done
assert done.started_at >= done.enqueued_at and done.finished_at >= done.started_at
failed = send.get_result(failing.id)
assert failed.status == TaskResultStatus.FAILED and len(failed.errors) == 2, failed
assert failed.errors[0].exception_class is ValueError and "no address" in failed.errors[0].traceback
assert second.get_result(context.id).return_value == [7, 1]
try:
    default_task_backend.get_result("nobody")
except exceptions.TaskResultDoesNotExist:
    print("ok")
"""


def test_django_tasks_run_in_our_queues(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("django_tasks")
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", DJANGO]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "ok\n"), ended.stderr


def test_a_server_has_the_store_open_and_a_worker_running() -> None:
    app = keyrack.App("memory")
    seen: list[str] = []

    @app.task(retries=0)
    def double(n: int) -> int:
        return 2 * n

    @contextlib.asynccontextmanager
    async def own(_: object) -> AsyncIterator[None]:
        seen.append("in")
        yield
        seen.append("out")

    async def serve() -> int:
        async with lifespan(app, work=True, inner=own)(object()):
            handle = await double.submit_async(21)
            return await handle.wait_async(20)

    assert asyncio.run(serve()) == 42
    assert seen == ["in", "out"]


def test_attempts_and_submissions_are_spans(keyrack_app: keyrack.App) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from keyrack.opentelemetry import instrument

    exporter, provider = InMemorySpanExporter(), sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    @keyrack_app.task(retries=1, retry_delay=0)
    def fail_once(n: int) -> int:
        if keyrack.current_job().attempt == 1:
            raise ValueError("not yet")
        return n

    @keyrack_app.task
    async def later(n: int) -> int:
        return n

    instrument(keyrack_app, provider)
    instrument(keyrack_app, provider)
    with keyrack_app.worker():
        first = fail_once.options(tags=["a"]).submit(1)
        assert first.wait(20) == 1 and first.info().tags == ["a"]
        assert later.submit(2).wait(20) == 2
    spans = exporter.get_finished_spans()
    names = sorted(span.name for span in spans)
    assert names == [
        "process fail_once",
        "process fail_once",
        "process later",
        "send fail_once",
        "send later",
    ]
    of_first = [span for span in spans if span.attributes["messaging.message.id"] == first.id]
    assert len(of_first) == 3
    assert [span.status.is_ok for span in of_first].count(False) == 1
