"""Tasks: functions whose calls can be submitted as jobs."""

from __future__ import annotations

import copy
import functools
import inspect
import typing
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from . import _bridge
from ._codec import Decoder, decode, decoder, encode, takes_object
from ._context import current
from ._errors import InvalidError
from ._handle import Handle
from ._options import Options, check_options, stored_options
from ._schedules import Times, stored_times

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._app import App

P = ParamSpec("P")
T = TypeVar("T")


class Call(Generic[P]):
    """The arguments of one job, checked against the task's signature."""

    __slots__ = ("data",)

    def __init__(self, data: list[Any]) -> None:
        self.data = data


class Task(Generic[P, T]):
    """A function whose calls can be submitted as jobs."""

    def __init__(self, app: App, function: Callable[..., Any], queue: str, settings: Settings) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))
        #: The function itself.
        self.__wrapped__ = function
        self.app = app
        #: The queue that has the task's jobs. It belongs to this task alone.
        self.queue = queue
        self.settings = settings
        self.is_async = inspect.iscoroutinefunction(function)
        self._function: Callable[..., Any] = function
        self._options: Options = {}
        self._request = ""
        self._shape = _Shape(function, settings.has_context)
        if settings.has_context:
            self._function = lambda *args, **kwargs: function(current(), *args, **kwargs)
        self._write_request()

    def options(self, **options: Unpack[Options]) -> Self:
        """The same task with other options for the jobs that it submits."""
        check_options(options)
        other = copy.copy(self)
        other._options = {**self._options, **options}
        other._write_request()
        return other

    def args(self, *args: P.args, **kwargs: P.kwargs) -> Call[P]:
        """The arguments of a job for `submit_many`."""
        return Call(self._shape.data(args, kwargs))

    def submit(self, *args: P.args, **kwargs: P.kwargs) -> Handle[T]:
        """Submits a job that calls the function with these arguments."""
        data = encode((self._shape.data(args, kwargs),))
        return self._handles(self.app.submit_jobs(self._request + data + "}"))[0]

    async def submit_async(self, *args: P.args, **kwargs: P.kwargs) -> Handle[T]:
        """The same for asyncio."""
        data = encode((self._shape.data(args, kwargs),))
        ids = await _bridge.call_text(self.app, "submit", self._request + data + "}")
        return self._handles(ids)[0]

    def submit_many(self, calls: Iterable[Call[P] | tuple[Any, ...] | Any]) -> list[Handle[T]]:
        """Submits a job for each call: what `args` returns, a tuple of arguments, or one argument."""
        data = self._data_of_many(calls)
        return self._handles(self.app.submit_jobs(self._request + data + "}"))

    async def submit_many_async(
        self, calls: Iterable[Call[P] | tuple[Any, ...] | Any]
    ) -> list[Handle[T]]:
        """The same for asyncio."""
        data = self._data_of_many(calls)
        ids = await _bridge.call_text(self.app, "submit", self._request + data + "}")
        return self._handles(ids)

    def schedule(self, name: str, arguments: Any = None, **times: Unpack[Times]) -> None:
        """Runs the task by the calendar, under a name of the schedule.

        `arguments` are the arguments by name; if the first parameter takes an object, they are that object. A
        schedule of the name that is there already gets this definition. Its jobs have the options of
        the queue. Workers run schedules, and so does `keyrack serve`.
        """
        kwargs = {} if arguments is None else decode(encode(arguments))
        self._shape.check_object(kwargs)
        draft = {"name": name, "queue": self.queue, "kwargs": kwargs, **stored_times(times)}
        self.app.call("schedule", draft)

    def _data_of_many(self, calls: Iterable[Any]) -> str:
        if "id" in self._options:
            raise InvalidError('"id" is for one job; give "key" to submit many at most once')
        shape = self._shape
        lists = []
        for call in calls:
            if isinstance(call, tuple):
                lists.append(shape.data(call, {}))
            else:
                lists.append(call.data if isinstance(call, Call) else shape.data((call,), {}))
        return encode(lists)

    def _write_request(self) -> None:
        """All of a submission but its jobs, which come last."""
        words = stored_options(self._options)
        request = {"queue": self.queue, "options": words, "key": self._options.get("key")}
        self._request = encode(request)[:-1] + ',"jobs":'

    def _handles(self, ids: str | None) -> list[Handle[T]]:
        app, read = self.app, self._shape.result
        return [
            Handle(app, told, read) if type(told) is str else Handle(app, told[0], read, told[1])
            for told in decode(ids or "[]")
        ]

    def run_job(self, data: str) -> Any:
        """Calls the function with the arguments of a job."""
        shape = self._shape
        args = decode(data)
        if shape.is_plain and not shape.is_by_name(args):
            return self._function(*args)
        args, kwargs = shape.arguments(args)
        return self._function(*args, **kwargs)


class PlainTask(Task[P, T]):
    """A task whose function is a plain one. Called, it is that function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._function(*args, **kwargs)
        return result


class AsyncTask(Task[P, T]):
    """A task whose function is a coroutine. Called, it is that function."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        coroutine: Coroutine[Any, Any, T] = self._function(*args, **kwargs)
        return coroutine


class Settings(typing.NamedTuple):
    """How workers serve a task."""

    #: How many of its jobs run at once in one worker; the worker's own unless set.
    concurrency: int | None
    #: Seconds that an attempt may take.
    time_limit: float
    #: Whether a job with the arguments of an earlier one ends as its duplicate.
    skip_duplicates: bool
    #: How many processes run it; 0 for threads of the worker.
    processes: int = 0
    #: How many of its jobs start for one of a task with weight 1, if the tasks of a worker share its places.
    weight: int = 1
    #: Whether its first parameter is the context of the worker.
    has_context: bool = False


class _Shape:
    """The signature of a function, and how its arguments are a list in a job.

    Positional arguments stand in their order, so that a job from any language fits. Keyword-only
    arguments are an object after them.
    """

    def __init__(self, function: Callable[..., Any], has_context: bool) -> None:
        self.signature = inspect.signature(function)
        if has_context:
            self.signature = _without_context(self.signature)
        parameters = list(self.signature.parameters.values())
        kinds = {parameter.kind for parameter in parameters}
        self.has_keywords = bool(kinds & {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD})
        self.has_rest = inspect.Parameter.VAR_POSITIONAL in kinds
        positional = [
            parameter
            for parameter in parameters
            if parameter.kind
            in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        ]
        self.most = len(positional)
        self.least = sum(parameter.default is parameter.empty for parameter in positional)
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except Exception:  # An annotation that cannot be resolved says nothing.
            hints = {}
        self.positional = [decoder(hints.get(parameter.name)) for parameter in positional]
        rest = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
        self.rest: Decoder = decoder(hints.get(rest[0])) if rest else None
        self.keywords = {
            parameter.name: decoder(hints.get(parameter.name))
            for parameter in parameters
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }
        self.result: Decoder = decoder(hints.get("return"))
        #: Names of the parameters by which an object gives them; None where it is the first argument.
        self.by_name: dict[str, Decoder] | None = None
        first = hints.get(positional[0].name) if positional else str
        if not self.has_rest and not takes_object(first):
            self.by_name = {p.name: read for p, read in zip(positional, self.positional)}
            self.by_name.update(self.keywords)
        self.is_plain = not self.has_keywords and not any(self.positional) and self.rest is None

    def data(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Arguments as the list of a job."""
        if not kwargs and not self.has_keywords and self.least <= len(args):
            if len(args) <= self.most or self.has_rest:
                return list(args)
        bound = self.signature.bind(*args, **kwargs)
        if kwargs:
            # A default between two arguments has to be there, since a list has no gaps.
            bound.apply_defaults()
        data = list(bound.args)
        return [*data, bound.kwargs] if self.has_keywords else data

    def is_by_name(self, data: list[Any]) -> bool:
        """Whether a job has an object where the function takes none: then it gives the arguments by name."""
        return len(data) == 1 and type(data[0]) is dict and self.by_name is not None

    def check_object(self, given: Any) -> None:
        """Refuses an object, the one argument of a job, that the function could not be called with."""
        if not isinstance(given, dict):
            raise InvalidError(f"the arguments of a schedule are an object, not {given!r}")
        args, kwargs = ((given,), {}) if self.by_name is None else ((), given)
        try:
            self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise InvalidError(f"the arguments of the schedule: {error}") from error

    def arguments(self, data: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The list of a job as arguments."""
        kwargs: dict[str, Any] = {}
        if self.by_name is not None and self.is_by_name(data):
            by_name = self.by_name
            return [], {name: _read(by_name.get(name), value) for name, value in data[0].items()}
        if self.has_keywords and data and isinstance(data[-1], dict):
            *data, kwargs = data
            kwargs = {name: _read(self.keywords.get(name), value) for name, value in kwargs.items()}
        args = [_read(read, value) for read, value in zip(self.positional, data)]
        args.extend(_read(self.rest, value) for value in data[len(args) :])
        return args, kwargs


def _without_context(signature: inspect.Signature) -> inspect.Signature:
    parameters = list(signature.parameters.values())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in kinds:
        raise InvalidError("context: the function has no first parameter for it")
    return signature.replace(parameters=parameters[1:])


def _read(read: Decoder, value: Any) -> Any:
    return value if read is None else read(value)
