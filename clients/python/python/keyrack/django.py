"""For Django: a backend for `django.tasks` (Django 6), or for `django-tasks` before.

    TASKS = {
        "default": {
            "BACKEND": "keyrack.django.KeyrackBackend",
            "QUEUES": ["default", "mail"],
            "OPTIONS": {"store": "redis://127.0.0.1:6379", "retries": 5},
        }
    }

`DJANGO_SETTINGS_MODULE=… python -m keyrack.worker keyrack.django:app` runs the jobs. `OPTIONS` are the
store, and the options of all jobs; see `keyrack.Options`.
"""

from __future__ import annotations

import datetime
import importlib.util
from typing import Any

from ._app import App
from ._errors import NotFoundError
from ._handle import JobInfo

# Before Django 6 it is a package of its own.
_PACKAGE = "django.tasks" if importlib.util.find_spec("django.tasks") else "django_tasks"
_base: Any = importlib.import_module(f"{_PACKAGE}.base")
_exceptions: Any = importlib.import_module(f"{_PACKAGE}.exceptions")
_Backend: Any = importlib.import_module(f"{_PACKAGE}.backends.base").BaseTaskBackend

_STATUSES = {
    "new": "READY",
    "queued": "READY",
    "retried": "READY",
    "running": "RUNNING",
    "completed": "SUCCESSFUL",
    "duplicate": "SUCCESSFUL",
}


class KeyrackBackend(_Backend):  # type: ignore[misc]
    """Puts tasks into keyrack's queues, one for each of Django's."""

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        options = dict(self.options)
        #: The app whose worker runs the tasks.
        self.app = App(options.pop("store", None), password_file=options.pop("password_file", None))
        for queue in sorted(self.queues):
            self.app.task(queue=queue, **options)(self._task(queue))

    def _task(self, queue: str) -> Any:
        def run(path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
            return self._run(path, args, kwargs)

        run.__name__ = queue
        return run

    def _run(self, path: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        from django.db import close_old_connections

        from ._job import current_job

        task = _task_at(path)
        # A worker's thread serves one job after the other, as a request's thread does.
        close_old_connections()
        try:
            if task.takes_context:
                result = self.get_result(current_job().id)
                return task.call(_base.TaskContext(task_result=result), *args, **kwargs)
            return task.call(*args, **kwargs)
        finally:
            close_old_connections()

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> Any:
        """Submits a task."""
        self.validate_task(task)
        options: dict[str, Any] = {"priority": task.priority / 10}
        if task.run_after is not None:
            now = datetime.datetime.now(tz=task.run_after.tzinfo)
            options["delay"] = max(0.0, (task.run_after - now).total_seconds())
        submitting = self.app.tasks[task.queue_name].options(**options)
        handle = submitting.submit(task.module_path, list(args), dict(kwargs))
        return self.get_result(handle.id)

    def get_result(self, result_id: str) -> Any:
        """What is known of a task that was submitted."""
        try:
            return self._result(self.app.job(result_id).info())
        except NotFoundError as error:
            raise _exceptions.TaskResultDoesNotExist(result_id) from error

    def _result(self, job: JobInfo) -> Any:
        path, args, kwargs = job.data
        started = _times(job, "popped")
        ended = _times(job, "completed", "failed", "canceled")
        raised = [entry["message"] for entry in job.history if entry["event"] == "exception"]
        status = _STATUSES.get(job.status, "FAILED")
        result = _base.TaskResult(
            task=_task_at(path),
            id=job.id,
            status=_base.TaskResultStatus(status),
            enqueued_at=job.submitted,
            started_at=started[0] if started else None,
            last_attempted_at=started[-1] if started else None,
            finished_at=ended[-1] if ended and status not in ("READY", "RUNNING") else None,
            args=args,
            kwargs=kwargs,
            backend=self.alias,
            errors=[_error(reason) for reason in raised],
            worker_ids=[entry["hive"] for entry in job.history if entry["event"] == "popped"],
        )
        if status == "SUCCESSFUL":
            object.__setattr__(result, "_return_value", job.result)
        return result


def _task_at(path: str) -> Any:
    from django.utils.module_loading import import_string

    return import_string(path)


def _times(job: JobInfo, *events: str) -> list[datetime.datetime]:
    times = [entry["timestamp"] / 1000 for entry in job.history if entry["event"] in events]
    return [datetime.datetime.fromtimestamp(time, datetime.timezone.utc) for time in times]


def _error(reason: str) -> Any:
    """The first line of a reason is the exception, as Python prints it."""
    name = reason.partition("\n")[0].partition(":")[0].strip()
    path = name if "." in name else f"builtins.{name if name.isidentifier() else 'Exception'}"
    return _base.TaskError(exception_class_path=path, traceback=reason)


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(name)
    import django

    django.setup()
    return importlib.import_module(_PACKAGE).task_backends["default"].app
