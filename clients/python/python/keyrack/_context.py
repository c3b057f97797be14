"""What a worker opens for its handlers, such as a pool of connections."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from ._errors import InvalidError

#: What makes the context: a function whose result is the context, a (plain or asynchronous) context
#: manager of it, or a generator that yields it once.
ContextFactory = Callable[[], Any]

#: Seconds that the end of a worker waits for its context to be closed on its event loop.
_CLOSE_WITHIN = 10

#: The context of the worker whose handler runs.
CONTEXT: contextvars.ContextVar[Any] = contextvars.ContextVar("keyrack_context")


def current() -> Any:
    """The context of the worker whose handler calls this."""
    try:
        return CONTEXT.get()
    except LookupError:
        raise InvalidError(
            "the context is opened by a worker; outside of one, call task.__wrapped__(context, …)"
        ) from None


def made(factory: ContextFactory) -> AbstractContextManager[Any] | AbstractAsyncContextManager[Any]:
    """A context that is entered when a worker starts, and left when it has ended."""
    if inspect.isgeneratorfunction(factory):
        factory = contextlib.contextmanager(factory)
    elif inspect.isasyncgenfunction(factory):
        factory = contextlib.asynccontextmanager(factory)
    made = factory()
    if inspect.iscoroutine(made):
        return _awaited(made)
    if isinstance(made, (AbstractContextManager, AbstractAsyncContextManager)):
        return made
    return contextlib.nullcontext(made)


@contextlib.asynccontextmanager
async def _awaited(coroutine: Any) -> AsyncIterator[Any]:
    yield await coroutine


class Opened:
    """The context of one worker, or none."""

    def __init__(self, factory: ContextFactory | None, is_for_threads: bool) -> None:
        self._sync: AbstractContextManager[Any] = contextlib.nullcontext()
        self._async: AbstractAsyncContextManager[Any] | None = None
        self._value: Any = None
        self._is_there = factory is not None
        self._worker: Future[Any] = Future()
        self._thread: threading.Thread | None = None
        #: What went wrong when it was closed on its event loop.
        self.error: BaseException | None = None
        if factory is None:
            return
        context = made(factory)
        if isinstance(context, AbstractContextManager):
            self._sync = context
        elif is_for_threads:
            raise InvalidError("context: an asynchronous one is for coroutines; a task here is a plain function")
        else:
            self._async = context

    def enter(self, run: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Opens it. One for coroutines is opened on an event loop, which waits to `run` a worker."""
        if self._async is None:
            self._value = self._sync.__enter__()
            return
        opened: Future[None] = Future()
        target = functools.partial(self._serve, self._async, opened, run)
        self._thread = threading.Thread(target=target, name="keyrack-asyncio", daemon=True)
        self._thread.start()
        opened.result()

    def start(self, worker: Any) -> bool:
        """Lets its event loop run a worker; False if it has none."""
        if self._thread is not None:
            self._worker.set_result(worker)
        return self._thread is not None

    def exit(self) -> None:
        """Closes it."""
        if self._thread is None:
            self._sync.__exit__(None, None, None)
            return
        # A worker that could not be started has no jobs.
        self._worker.cancel()
        self._thread.join(timeout=_CLOSE_WITHIN)
        if self.error is not None:
            raise self.error

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Has handlers in this thread, or on this event loop, get it."""
        if not self._is_there:
            yield
            return
        token = CONTEXT.set(self._value)
        try:
            yield
        finally:
            CONTEXT.reset(token)

    def _serve(
        self,
        context: AbstractAsyncContextManager[Any],
        opened: Future[None],
        run: Callable[[Any], Coroutine[Any, Any, None]],
    ) -> None:
        async def main() -> None:
            async with context as self._value:
                opened.set_result(None)
                with contextlib.suppress(asyncio.CancelledError):
                    worker = await asyncio.wrap_future(self._worker)
                    await run(worker)

        try:
            asyncio.run(main())
        except BaseException as error:
            if opened.done():
                self.error = error
            else:
                opened.set_exception(error)

