"""Prints every key of a Redis as commands that write it again: a JSON array on each line, a character for each byte."""
import json
import os

import redis

r = redis.Redis(port=int(os.environ["PORT"]))


def line(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    print(json.dumps([word.decode("latin-1") for word in words]))


for key in sorted(r.scan_iter(count=1000)):
    kind = r.type(key).decode()
    if kind == "string":
        line("SET", key, r.get(key))
    elif kind == "list":
        line("RPUSH", key, *r.lrange(key, 0, -1))
    elif kind == "set":
        line("SADD", key, *sorted(r.smembers(key)))
    elif kind == "zset":
        line("ZADD", key, *[word for member, score in r.zrange(key, 0, -1, withscores=True) for word in (repr(score), member)])
    elif kind == "hash":
        line("HSET", key, *[word for pair in sorted(r.hgetall(key).items()) for word in pair])
    elif kind == "stream":
        for entry, fields in r.xrange(key):
            line("XADD", key, entry, *[word for pair in fields.items() for word in pair])
    if (ttl := r.pttl(key)) > 0:
        line("PEXPIRE", key, ttl)
