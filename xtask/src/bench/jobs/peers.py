"""Job systems of Python as contenders of `cargo xtask bench clients`; `driver.rs` describes the requests they answer.

    python peers.py celery|rq|arq|dramatiq|taskiq PORT
    python peers.py keyrack|keyrack-async URL

Each works in one process, as its own worker does, with what makes empty tasks fastest. A drain is timed from the
start of the first task for the others, whose workers take up to a second to start, and from the start of the worker
for keyrack.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

CONCURRENCY = 100
CHUNK = 2000
PAYLOAD_BYTES = 100

logging.disable(logging.CRITICAL)


def payload(n: int) -> dict[str, Any]:
    room = PAYLOAD_BYTES - len(json.dumps({"n": n, "text": ""}, separators=(",", ":")))
    return {"n": n, "text": "x" * room}


class Seen:
    """The jobs that were started, and when the first and the last of them were."""

    def __init__(self) -> None:
        self.start(0)

    def start(self, wanted: int) -> None:
        self.order: list[int] = []
        self.wanted = wanted
        self.first = 0.0
        self.done = threading.Event()
        self.on_done: Callable[[], None] = lambda: None

    def note(self, job: dict[str, Any]) -> None:
        if not self.order:
            self.first = time.perf_counter()
        self.order.append(job["n"])
        if len(self.order) == self.wanted:
            self.last = time.perf_counter()
            self.done.set()
            self.on_done()


SEEN = Seen()


def note(job: dict[str, Any]) -> None:
    SEEN.note(job)


class Peer:
    """A job system: what a request does, and when what a drain takes begins."""

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        raise NotImplementedError

    def drain(self) -> None:
        raise NotImplementedError

    def left(self) -> int:
        raise NotImplementedError

    def drain_seconds(self, started: float) -> float:
        return SEEN.last - SEEN.first


class Celery(Peer):
    def __init__(self, port: str) -> None:
        from celery import Celery as App

        self.app = App("bench", broker=f"redis://127.0.0.1:{port}/0")
        self.app.conf.update(
            task_ignore_result=True,
            worker_prefetch_multiplier=0,
            worker_hijack_root_logger=False,
            broker_connection_retry_on_startup=True,
        )
        self.task = self.app.task(name="bench")(note)

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        with self.app.producer_pool.acquire(block=True) as producer:
            for job in jobs:
                self.task.apply_async((job,), producer=producer)

    def drain(self) -> None:
        from celery.contrib.testing.worker import start_worker

        with start_worker(
            self.app, perform_ping_check=False, pool="solo", concurrency=1, loglevel="CRITICAL"
        ):
            SEEN.done.wait()

    def left(self) -> int:
        with self.app.connection_for_read() as connection:
            client = connection.default_channel.client
            return int(client.llen("celery")) + int(client.hlen("unacked"))


class Rq(Peer):
    def __init__(self, port: str) -> None:
        import redis
        import rq

        # Workers look functions up by their module.
        sys.modules["peers"] = sys.modules["__main__"]
        self.queue = rq.Queue("bench", connection=redis.Redis(port=int(port)))

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        import rq

        data = [rq.Queue.prepare_data("peers.note", args=(job,), result_ttl=0) for job in jobs]
        self.queue.enqueue_many(data)

    def drain(self) -> None:
        import rq

        rq.SimpleWorker([self.queue], connection=self.queue.connection).work(burst=True)

    def left(self) -> int:
        return int(self.queue.count)


class Arq(Peer):
    def __init__(self, port: str) -> None:
        from arq.connections import RedisSettings, create_pool

        self.settings = RedisSettings(port=int(port))
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.pool = self.loop.run_until_complete(create_pool(self.settings))

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        async def all_of_them() -> None:
            for start in range(0, len(jobs), CONCURRENCY):
                chunk = jobs[start : start + CONCURRENCY]
                await asyncio.gather(*(self.pool.enqueue_job("note", job) for job in chunk))

        self.loop.run_until_complete(all_of_them())

    def drain(self) -> None:
        from arq.worker import Worker, func

        async def note(_: Any, job: dict[str, Any]) -> None:
            SEEN.note(job)

        async def work() -> None:
            worker = Worker(
                functions=[func(note, name="note", keep_result=0)],
                redis_settings=self.settings,
                burst=True,
                max_jobs=CONCURRENCY,
                poll_delay=0.01,
                handle_signals=False,
                queue_read_limit=CHUNK,
            )
            await worker.main()
            await worker.close()

        self.loop.run_until_complete(work())

    def left(self) -> int:
        return int(self.loop.run_until_complete(self.pool.zcard("arq:queue")))


class Dramatiq(Peer):
    def __init__(self, port: str) -> None:
        import dramatiq
        from dramatiq.brokers.redis import RedisBroker

        self.broker = RedisBroker(port=int(port), middleware=[])
        self.actor = dramatiq.actor(note, broker=self.broker, actor_name="bench", queue_name="bench")

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        for job in jobs:
            self.actor.send(job)

    def drain(self) -> None:
        import dramatiq

        worker = dramatiq.Worker(self.broker, worker_threads=8)
        worker.start()
        SEEN.done.wait()
        self.broker.join("bench")
        worker.stop()

    def left(self) -> int:
        return int(self.broker.client.llen("dramatiq:bench")) + int(
            self.broker.client.hlen("dramatiq:bench.msgs")
        )


class Taskiq(Peer):
    def __init__(self, port: str) -> None:
        from taskiq_redis import ListQueueBroker

        self.port = int(port)
        self.broker = ListQueueBroker(url=f"redis://127.0.0.1:{port}", max_connection_pool_size=200)
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

        @self.broker.task(task_name="bench")
        async def note(job: dict[str, Any]) -> None:
            SEEN.note(job)

        self.task = note
        self.loop.run_until_complete(self.broker.startup())

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        async def all_of_them() -> None:
            for start in range(0, len(jobs), CONCURRENCY):
                chunk = jobs[start : start + CONCURRENCY]
                await asyncio.gather(*(self.task.kiq(job) for job in chunk))

        self.loop.run_until_complete(all_of_them())

    def drain(self) -> None:
        from taskiq.receiver import Receiver

        async def work() -> None:
            receiver = Receiver(
                self.broker, max_async_tasks=CONCURRENCY, max_prefetch=CONCURRENCY, run_startup=False
            )
            finished = asyncio.Event()
            SEEN.on_done = finished.set
            listening = asyncio.ensure_future(receiver.listen(finished))
            await finished.wait()
            # The list is empty now, so it waits for more in vain.
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

        self.loop.run_until_complete(work())

    def left(self) -> int:
        import redis

        return int(redis.Redis(port=self.port).llen(self.broker.queue_name))


class Keyrack(Peer):
    def __init__(self, url: str, is_async: bool) -> None:
        import keyrack

        self.app = keyrack.open(url)
        if is_async:

            async def note(job: dict[str, Any]) -> None:
                SEEN.note(job)

        else:

            def note(job: dict[str, Any]) -> None:  # type: ignore[misc]
                SEEN.note(job)

        self.task = self.app.task(queue="bench")(note)

    def submit(self, jobs: list[dict[str, Any]]) -> None:
        for start in range(0, len(jobs), CHUNK):
            self.task.submit_many(jobs[start : start + CHUNK])

    def drain(self) -> None:
        with self.app.worker(concurrency=CONCURRENCY):
            SEEN.done.wait()

    def left(self) -> int:
        stats = self.app.stats(self.task)
        names = ("queued", "delayed", "waiting", "parked", "running", "failed")
        return sum(int(stats[name]) for name in names)

    def drain_seconds(self, started: float) -> float:
        # Leaving the worker has waited until the store has the last results.
        return time.perf_counter() - started


def peer(name: str, address: str) -> Peer:
    if name.startswith("keyrack"):
        return Keyrack(address, name == "keyrack-async")
    peers: dict[str, Callable[[str], Peer]] = {
        "celery": Celery,
        "rq": Rq,
        "arq": Arq,
        "dramatiq": Dramatiq,
        "taskiq": Taskiq,
    }
    return peers[name](address)


def answer(contender: Peer, verb: str, numbers: list[int]) -> Iterable[int]:
    started = time.perf_counter()
    if verb == "submit":
        first, count, _ = numbers
        jobs = [payload(n) for n in range(first, first + count)]
        started = time.perf_counter()
        contender.submit(jobs)
        return [micros(time.perf_counter() - started)]
    if verb == "drain":
        SEEN.start(numbers[0])
        started = time.perf_counter()
        contender.drain()
        return [micros(contender.drain_seconds(started)), *SEEN.order]
    if verb == "left":
        return [contender.left()]
    raise ValueError(f'unknown request "{verb}"')


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


def main() -> None:
    # Only answers go to stdout: some of the others print there.
    replies, sys.stdout = sys.stdout, sys.stderr
    contender = peer(*sys.argv[1:3])
    for line in sys.stdin:
        verb, *numbers = line.split()
        try:
            reply = " ".join(map(str, answer(contender, verb, [int(n) for n in numbers])))
        except Exception as error:
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, file=replies, flush=True)


if __name__ == "__main__":
    main()
    import os

    # Threads of the others need not end.
    os._exit(0)
