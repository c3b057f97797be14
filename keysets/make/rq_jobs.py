"""Fills a Redis with what RQ writes."""
import os
from datetime import timedelta

import redis
from rq import Queue, SimpleWorker

connection = redis.Redis(port=int(os.environ["PORT"]))
queue, slow = Queue("default", connection=connection), Queue("slow", connection=connection)
for i in range(8):
    queue.enqueue("math.sqrt", i, result_ttl=86_400)
first = queue.enqueue("math.sqrt", 4, result_ttl=86_400)
queue.enqueue("math.sqrt", 9, depends_on=first, result_ttl=86_400)
for i in range(3):
    queue.enqueue("math.sqrt", -1, failure_ttl=86_400)
SimpleWorker([queue], connection=connection).work(burst=True)
for i in range(4):
    slow.enqueue("math.sqrt", i)
waiting = slow.enqueue("math.sqrt", 2)
slow.enqueue("math.sqrt", 3, depends_on=waiting)
slow.enqueue_in(timedelta(hours=1), "math.sqrt", 5)
