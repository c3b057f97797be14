"""redis-py against the engine, with blocking connections: `redis_py.py PORT RESP`."""

import sys
import threading

import redis
from redis.exceptions import NoScriptError, ResponseError, WatchError

port, protocol = int(sys.argv[1]), int(sys.argv[2])
client = redis.Redis(port=port, protocol=protocol, decode_responses=True)


def commands():
    assert client.ping() is True
    assert client.set("text", "ä", ex=100) is True
    assert client.get("text") == "ä"
    assert 0 < client.ttl("text") <= 100
    assert client.set("text", "b", nx=True) is None
    assert client.incr("number", 41) == 41
    assert client.incrbyfloat("float", 0.5) == 0.5
    assert client.hset("hash", mapping={"a": 1, "b": 2}) == 2
    assert client.hgetall("hash") == {"a": "1", "b": "2"}
    assert client.sadd("set", "x", "y") == 2
    assert set(client.smembers("set")) == {"x", "y"}
    assert client.zadd("zset", {"a": 1.5, "b": 2}) == 2
    scores = client.zrange("zset", 0, -1, withscores=True)
    assert [tuple(pair) for pair in scores] == [("a", 1.5), ("b", 2.0)], scores
    assert client.zscore("zset", "a") == 1.5
    assert client.rpush("list", "a", "b", "c") == 3
    assert client.lrange("list", 0, -1) == ["a", "b", "c"]
    assert client.type("list") == "list"
    assert client.mget("text", "missing") == ["ä", None]
    try:
        client.lpush("text", "x")
    except ResponseError as error:
        assert "WRONGTYPE" in str(error) or "wrong kind" in str(error), error
    else:
        raise AssertionError("a wrong type is an error")


def server():
    assert client.info()["redis_version"].startswith("7.0")
    assert client.config_get("appendonly") == {"appendonly": "no"}
    assert client.client_setname("tester") is True
    assert client.client_getname() == "tester"
    assert any(other["name"] == "tester" for other in client.client_list())
    assert client.dbsize() > 0
    assert "get" in client.command()
    assert client.time()[0] > 1_700_000_000
    other = redis.Redis(port=port, db=5, protocol=protocol)
    assert other.dbsize() == 0


def pipelines():
    with client.pipeline(transaction=False) as pipe:
        assert pipe.set("p", 1).incr("p").get("p").execute() == [True, 2, "2"]
    with client.pipeline() as pipe:
        pipe.watch("p")
        value = int(pipe.get("p"))
        pipe.multi()
        pipe.set("p", value + 1).lpush("p2", "x")
        assert pipe.execute() == [True, 1]
    with client.pipeline() as pipe:
        pipe.watch("p")
        client.set("p", "changed by another")
        pipe.multi()
        pipe.set("p", "too late")
        try:
            pipe.execute()
        except WatchError:
            pass
        else:
            raise AssertionError("a watched key has changed")

    def change(pipe):
        pipe.multi()
        pipe.set("p", "done")

    assert client.transaction(change, "p") == [True]


def scripts():
    script = client.register_script("redis.call('SET', KEYS[1], ARGV[1]) return {1, ARGV[1], false}")
    assert script(keys=["s"], args=["value"])[:2] == [1, "value"]
    client.script_flush()
    # Loaded again by the client, which is told that the script is gone.
    assert script(keys=["s"], args=["again"])[:2] == [1, "again"]
    assert client.script_exists(script.sha) == [True]
    try:
        client.evalsha("0" * 40, 0)
    except NoScriptError:
        pass
    else:
        raise AssertionError("there is no such script")
    with client.pipeline() as pipe:
        script(keys=["s"], args=["in a pipeline"], client=pipe)
        assert pipe.execute()[0][1] == "in a pipeline"


def scans():
    client.mset({f"scan:{n}": n for n in range(500)})
    assert len(set(client.scan_iter("scan:*", count=50))) == 500
    client.hset("scan", mapping={str(n): n for n in range(1000)})
    assert len(dict(client.hscan_iter("scan"))) == 1000
    client.zadd("zscan", {str(n): n for n in range(1000)})
    assert len(list(client.zscan_iter("zscan"))) == 1000


def blocking():
    assert client.blpop("empty", timeout=0.05) is None
    popped = []
    waiting = threading.Thread(target=lambda: popped.append(client.blpop(["empty", "queue"], timeout=10)))
    waiting.start()
    while client.info("clients")["blocked_clients"] == 0:
        pass
    client.rpush("queue", "job")
    waiting.join()
    assert [tuple(item) for item in popped] == [("queue", "job")], popped
    client.zadd("waiting", {"a": 1})
    name, member, score = client.bzpopmin("waiting", timeout=1)
    assert (name, member, float(score)) == ("waiting", "a", 1.0)


def pub_sub():
    with client.pubsub() as listener:
        listener.subscribe("news")
        listener.psubscribe("n*")
        kinds = [listener.get_message(timeout=5)["type"] for _ in range(2)]
        assert kinds == ["subscribe", "psubscribe"], kinds
        assert client.publish("news", "hello") == 2
        messages = [listener.get_message(timeout=5) for _ in range(2)]
        assert [message["type"] for message in messages] == ["message", "pmessage"], messages
        assert {message["data"] for message in messages} == {"hello"}
        assert client.pubsub_channels() == ["news"]
        assert [tuple(item) for item in client.pubsub_numsub("news")] == [("news", 1)]
        listener.unsubscribe()
        assert listener.get_message(timeout=5)["type"] == "unsubscribe"


for part in [commands, server, pipelines, scripts, scans, blocking, pub_sub]:
    part()
