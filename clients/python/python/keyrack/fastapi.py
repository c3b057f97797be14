"""For FastAPI and Starlette: the store is open, and a worker runs, as long as the server does.

    api = FastAPI(lifespan=keyrack.fastapi.lifespan(app, work=True))
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from ._app import App
from ._task import Task

Lifespan = Callable[[Any], contextlib.AbstractAsyncContextManager[None]]


def lifespan(
    app: App,
    *,
    work: bool | Iterable[str | Task[..., Any]] = False,
    concurrency: int | None = None,
    drain: float = 15,
    inner: Lifespan | None = None,
) -> Lifespan:
    """What opens the store of an app when a server starts, and closes it when that stops.

    With `work`, a worker for all tasks, or for these queues, runs in the server's process. `inner` is a
    lifespan of the program's own, which runs inside.
    """

    @contextlib.asynccontextmanager
    async def opened(server: Any) -> AsyncIterator[None]:
        # Opening waits for the store, and stopping for running jobs: the loop does neither.
        await asyncio.to_thread(lambda: app.rack)
        queues = None if isinstance(work, bool) else list(work)
        worker = app.worker(queues, concurrency=concurrency, drain=drain) if work else None
        if worker is not None:
            worker.start()
        try:
            async with inner(server) if inner is not None else contextlib.nullcontext():
                yield
        finally:
            if worker is not None:
                await asyncio.to_thread(worker.stop)
            await asyncio.to_thread(app.close)

    return opened
