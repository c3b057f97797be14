"""For OpenTelemetry: a span for each attempt of a job, and for each submission.

    keyrack.opentelemetry.instrument(app)

Both name the job by `messaging.message.id`. The context of a submission is not stored with the job: its
attempts are traces of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._app import App
from ._job import current_job
from ._task import Task

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider


def instrument(app: App, tracer_provider: TracerProvider | None = None) -> None:
    """Has all tasks of an app, which has them by now, make spans."""
    from opentelemetry import trace

    tracer = trace.get_tracer("keyrack", tracer_provider=tracer_provider)
    for task in app.tasks.values():
        if not hasattr(task, "_tracer"):
            # Its methods are looked up in its class, so that `task.options(…)` makes spans too.
            task.__class__ = _traced(type(task))
            setattr(task, "_tracer", tracer)  # noqa: B010


def _traced(kind: type[Task[..., Any]]) -> type[Task[..., Any]]:
    """The same class of tasks, with spans."""
    from opentelemetry.trace import SpanKind

    def span(task: Any, operation: str, kind: SpanKind, **more: Any) -> Any:
        attributes = {
            "messaging.system": "keyrack",
            "messaging.destination.name": task.queue,
            "messaging.operation.type": operation,
            **{name.replace("__", "."): value for name, value in more.items()},
        }
        name = f"{operation} {task.queue}"
        return task._tracer.start_as_current_span(name, kind=kind, attributes=attributes)

    def attempt(task: Any) -> Any:
        job = current_job()
        more = {"messaging__message__id": job.id, "keyrack__job__attempt": job.attempt}
        return span(task, "process", SpanKind.CONSUMER, **more)

    class Traced(kind):  # type: ignore[valid-type, misc]
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            with span(self, "send", SpanKind.PRODUCER) as made:
                handle = super().submit(*args, **kwargs)
                made.set_attribute("messaging.message.id", handle.id)
                return handle

        def run_job(self, data: str) -> Any:
            if self.is_async:
                return self._run_coroutine(super().run_job(data))
            with attempt(self):
                return super().run_job(data)

        async def _run_coroutine(self, coroutine: Any) -> Any:
            with attempt(self):
                return await coroutine

    Traced.__name__ = kind.__name__
    return Traced
