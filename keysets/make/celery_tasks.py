"""Fills a Redis with what Celery writes, as broker and as result backend."""
import os
import subprocess
import sys

from celery import Celery, group

url = f"redis://127.0.0.1:{os.environ['PORT']}/0"
app = Celery("shop", broker=url, backend=url)
app.conf.update(broker_transport_options={"queue_order_strategy": "priority"}, worker_hijack_root_logger=False)


@app.task(name="shop.add")
def add(a, b):
    return a + b


@app.task(name="shop.fail")
def fail():
    raise ValueError("no")


if __name__ == "__main__":
    results = [add.delay(i, 2) for i in range(8)] + [fail.delay() for _ in range(3)]
    group(add.s(i, i) for i in range(3)).apply_async()
    command = [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "--pool", "solo", "--loglevel", "CRITICAL"]
    worker = subprocess.Popen(command)
    for result in results:
        result.get(timeout=30, propagate=False)
    worker.terminate()
    worker.wait()
    add.apply_async((1, 1), queue="reports")
    add.apply_async((1, 2), queue="reports", priority=6)
