"""redis-py with asyncio against the engine: `redis_py_asyncio.py PORT RESP`."""

import asyncio
import sys

import redis.asyncio as redis

port, protocol = int(sys.argv[1]), int(sys.argv[2])


async def commands(client):
    assert await client.set("key", "value") is True
    assert await client.get("key") == "value"
    answers = await asyncio.gather(*(client.incr("counter") for _ in range(80)))
    assert sorted(answers) == list(range(1, 81))
    async with client.pipeline(transaction=True) as pipe:
        assert await pipe.set("a", 1).incr("a").execute() == [True, 2]
    script = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert await script(keys=["a"], args=[40]) == 42
    assert [key async for key in client.scan_iter("k*")] == ["key"]


async def blocking(client):
    waiting = asyncio.create_task(client.brpop("queue", timeout=10))
    while (await client.info("clients"))["blocked_clients"] == 0:
        pass
    await client.lpush("queue", "job")
    assert tuple(await waiting) == ("queue", "job")


async def pub_sub(client):
    async with client.pubsub() as listener:
        await listener.subscribe("news")
        await listener.psubscribe("n*")
        for _ in range(2):
            assert (await listener.get_message(timeout=5))["type"] in ("subscribe", "psubscribe")
        assert await client.publish("news", "hello") == 2
        seen = [await listener.get_message(timeout=5) for _ in range(2)]
        assert [message["type"] for message in seen] == ["message", "pmessage"], seen
        await listener.unsubscribe("news")
        await listener.punsubscribe("n*")


async def main():
    async with redis.Redis(port=port, protocol=protocol, decode_responses=True) as client:
        for part in [commands, blocking, pub_sub]:
            await part(client)


asyncio.run(main())
