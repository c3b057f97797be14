"""Writes or reads one key of each kind with generated code and redis-py."""

import json
import sys
from decimal import Decimal

import redis
import shop

mode, port, world = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
client = redis.Redis(port=port)
ORDER = 18446744073709551615


def write() -> None:
    names = []

    def name(key) -> str:
        names.append((key.name(), key.ttl_seconds))
        return key.name()

    basket = shop.BasketKey(world["user"])
    order = shop.Order(
        user=world["user"], total=Decimal("9.50"), count=1000, balance=-9223372036854775808, weight=0.1,
        at=1763455469123, seen=1763455469.25, placed="2026-11-18T08:44:29.5+01:00", paid=True, gift=False,
        status="sent back", phone="+49 170", place=(1.5, -3), sizes=[1, -2, 3],
        lines=[{"sku": world["note"], "count": 2}, {"sku": "b", "count": 0, "gift": True}],
        note=world["note"], class_="first", blob=b"\x00\xff", next="", basket=basket.name(), mixed="none",
    )
    client.hset(name(shop.OrderKey(ORDER)), mapping=order.to_fields())
    client.sadd(name(basket), shop.BASKET_MEMBER.write(ORDER))
    session = {"user": world["note"], "roles": ["a"], "level": "high", "extra": {"a": 1.5, "b": None}, "old": [1]}
    client.set(name(shop.SessionKey(world["user"], 7)), shop.SESSION_VALUE.write(session))
    recent = name(shop.RecentKey(world["tenant"], "2024-02-29", "2nd-hand"))
    client.zadd(recent, {shop.RECENT_MEMBER.write(world["user"]): shop.RECENT_SCORE.write(1763455469123)})
    uuid, ulid = "b355de80-54e5-11e3-8f96-0800200c9a66", "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    client.rpush(name(shop.LogKey(uuid, ulid, "ü🐝")), shop.LOG_ITEM.write(world["note"]))
    client.hset(name(shop.FlagsKey(world["tenant"])), shop.FLAGS_FIELD.write(world["user"]), shop.FLAGS_VALUE.write(True))
    client.set(name(shop.FileKey(world["path"])), shop.FILE_VALUE.write(b"\xfe\x00"))
    client.set(name(shop.PageKey(world["page"])), shop.PAGE_VALUE.write(world["note"]))
    client.pfadd(name(shop.HostKey("a:b")), "x")
    client.setbit(name(shop.MonthKey(12)), 7, 1)
    client.xadd(name(shop.EventsKey()), shop.Events(order=ORDER, kind="placed").to_fields())
    message = {"order": 5, "lines": [{"sku": "s", "count": 1}], "note": None}
    client.set(name(shop.PageKey("message")), shop.PLACED_MESSAGE.write(message))
    for key, ttl in names:
        client.expire(key, ttl)


def word(value: bool) -> str:
    return "true" if value else "false"


def read() -> dict[str, str]:
    out = {}
    for raw in client.scan_iter():
        if key := shop.OrderKey.parse(raw):
            order = shop.Order.from_fields(client.hgetall(raw))
            out["order"] = str(key.order)
            assert order.seen is not None and order.user_agent is None
            fields = [
                order.user, str(order.total), str(order.count), str(order.balance), str(order.weight), str(order.at),
                str(order.seen), order.placed, word(order.paid), word(order.gift), order.status, order.phone,
                f"{order.place[0]}|{order.place[1]}", "|".join(map(str, order.sizes)),
                "|".join(f"{line['sku']} {line['count']} {word(line.get('gift', False))}" for line in order.lines),
                order.note, order.class_, order.blob.hex(), str(order.next), order.basket, order.mixed,
            ]
            out["fields"] = "\n".join(map(str, fields))
        elif key := shop.BasketKey.parse(raw):
            out["basket"] = f"{key.user}|{shop.BASKET_MEMBER.read(client.smembers(raw).pop())}"
        elif key := shop.SessionKey.parse(raw):
            value = shop.SESSION_VALUE.read(client.get(raw))
            null = word(value["extra"]["b"] is None)
            old = len(value["old"])
            out["session"] = f"{key.user}|{key.order}|{value['user']}|{value['roles'][0]}|{value['level']}|{value['extra']['a']}|{null}|{old}"
        elif key := shop.RecentKey.parse(raw):
            [(member, score)] = client.zrange(raw, 0, -1, withscores=True)
            member, score = shop.RECENT_MEMBER.read(member), shop.RECENT_SCORE.read(score)
            out["recent"] = f"{key.tenant}|{key.day}|{key.kind}|{member}|{score}"
        elif key := shop.LogKey.parse(raw):
            out["log"] = f"{key.uuid}|{key.ulid}|{key.code}|{shop.LOG_ITEM.read(client.lindex(raw, 0))}"
        elif key := shop.FlagsKey.parse(raw):
            [(field, value)] = client.hgetall(raw).items()
            out["flags"] = f"{key.tenant}|{shop.FLAGS_FIELD.read(field)}|{word(shop.FLAGS_VALUE.read(value))}"
        elif key := shop.FileKey.parse(raw):
            out["file"] = f"{key.path}|{shop.FILE_VALUE.read(client.get(raw)).hex()}"
        elif (key := shop.PageKey.parse(raw)) and key.page == "message":
            message = shop.PLACED_MESSAGE.read(client.get(raw))
            out["message"] = f"{message['order']}|{message['lines'][0]['sku']}|{word(message.get('note') is None)}"
        elif key := shop.PageKey.parse(raw):
            out["page"] = f"{key.page}|{shop.PAGE_VALUE.read(client.get(raw))}"
        elif key := shop.HostKey.parse(raw):
            out["host"] = f"{key.host}|{client.pfcount(raw)}"
        elif key := shop.MonthKey.parse(raw):
            out["month"] = f"{key.month}|{client.getbit(raw, 7)}"
        elif shop.EventsKey.parse(raw):
            [(_, fields)] = client.xrange(raw)
            event = shop.Events.from_fields(fields)
            out["events"] = f"{event.order}|{event.kind}"
        else:
            raise ValueError(raw)
    return out


if mode == "write":
    write()
else:
    print(json.dumps(read()))
