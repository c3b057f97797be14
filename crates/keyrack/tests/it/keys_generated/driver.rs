//! Writes or reads one key of each kind with generated code and the redis crate.

use std::collections::HashMap;

use redis::{Commands as _, Connection};
use serde_json::{Value, json};

use super::shop::*;

const ORDER: u64 = u64::MAX;
const UUID: &str = "b355de80-54e5-11e3-8f96-0800200c9a66";
const ULID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// What all readers have to find.
pub(super) fn expected(world: &Value) -> Value {
    let [user, tenant, path, page, note] =
        ["user", "tenant", "path", "page", "note"].map(|name| world[name].as_str().unwrap());
    let basket = BasketKey { user: user.into() }.name().unwrap();
    let lines = format!("{note} 2 false|b 0 true");
    let fields = [
        user,
        "9.50",
        "1000",
        "-9223372036854775808",
        "0.1",
        "1763455469123",
        "1763455469.25",
        "2026-11-18T08:44:29.5+01:00",
        "true",
        "false",
        "sent back",
        "+49 170",
        "1.5|-3",
        "1|-2|3",
        &lines,
        note,
        "first",
        "00ff",
        "",
        &basket,
        "none",
    ];
    json!({
        "order": ORDER.to_string(),
        "fields": fields.join("\n"),
        "basket": format!("{user}|{ORDER}"),
        "session": format!("{user}|7|{note}|a|high|1.5|true|1"),
        "recent": format!("{tenant}|2024-02-29|2nd-hand|{user}|1763455469123"),
        "log": format!("{UUID}|{ULID}|ü🐝|{note}"),
        "flags": format!("{tenant}|{user}|true"),
        "file": format!("{path}|fe00"),
        "page": format!("{page}|{note}"),
        "message": "5|s|true",
        "host": "a:b|1",
        "month": "12|1",
        "events": format!("{ORDER}|placed"),
    })
}

pub(super) fn write(redis: &mut Connection, world: &Value) {
    let [user, tenant, path, page, note] = ["user", "tenant", "path", "page", "note"]
        .map(|name| world[name].as_str().unwrap().to_owned());
    let mut names: Vec<String> = Vec::new();
    let mut named = |name: Result<String, KeyError>| {
        let name = name.unwrap();
        names.push(name.clone());
        name
    };
    let basket = named(BasketKey { user: user.clone() }.name());
    let order = Order {
        user: user.clone(),
        total: "9.50".into(),
        count: 1_000,
        balance: i64::MIN,
        weight: 0.1,
        at: 1_763_455_469_123,
        seen: Some(1_763_455_469.25),
        placed: "2026-11-18T08:44:29.5+01:00".into(),
        paid: true,
        gift: false,
        status: OrderStatus::SentBack,
        phone: "+49 170".into(),
        place: (1.5, -3),
        sizes: vec![1, -2, 3],
        lines: vec![
            OrderLines { sku: note.clone(), count: 2, gift: None },
            OrderLines { sku: "b".into(), count: 0, gift: Some(true) },
        ],
        note: Some(note.clone()),
        class: Some("first".into()),
        user_agent: None,
        blob: vec![0, 255],
        next: None,
        basket: Some(basket.clone()),
        mixed: "none".into(),
    };
    let _: () = redis
        .hset_multiple(named(OrderKey { order: ORDER }.name()), &order.to_fields().unwrap())
        .unwrap();
    let _: () = redis.sadd(basket, BasketKey::write_member(&ORDER).unwrap()).unwrap();
    let session = SessionValue {
        user: note.clone(),
        roles: Some(vec!["a".into()]),
        level: SessionValueLevel::High,
        extra: Some([("a".into(), Some(1.5)), ("b".into(), None)].into()),
        old: Some(vec![Json::Number("1".into())]),
    };
    let name = named(SessionKey { user: user.clone(), order: 7 }.name());
    let _: () = redis.set(name, SessionKey::write_value(&session).unwrap()).unwrap();
    let recent =
        RecentKey { tenant: tenant.clone(), day: "2024-02-29".into(), kind: Kind::N2ndHand };
    let member = RecentKey::write_member(&user).unwrap();
    let score = RecentKey::write_score(&1_763_455_469_123).unwrap();
    let _: () = redis.zadd(named(recent.name()), member, score).unwrap();
    let log = LogKey { uuid: UUID.into(), ulid: ULID.into(), code: "ü🐝".into() };
    let _: () = redis.rpush(named(log.name()), LogKey::write_item(&note).unwrap()).unwrap();
    let field = FlagsKey::write_field(&user).unwrap();
    let name = named(FlagsKey { tenant }.name());
    let _: () = redis.hset(name, field, FlagsKey::write_value(&true).unwrap()).unwrap();
    let value = FileKey::write_value(&vec![254, 0]).unwrap();
    let _: () = redis.set(named(FileKey { path }.name()), value).unwrap();
    let _: () =
        redis.set(named(PageKey { page }.name()), PageKey::write_value(&note).unwrap()).unwrap();
    let _: () = redis.pfadd(named(HostKey { host: "a:b".into() }.name()), "x").unwrap();
    let _: () = redis.setbit(named(MonthKey { month: 12 }.name()), 7, true).unwrap();
    let event = Events { order: ORDER, kind: EventsKind::Placed };
    let mut add = redis::cmd("XADD");
    add.arg(named(EventsKey.name())).arg("*");
    for (name, value) in event.to_fields().unwrap() {
        add.arg(name).arg(value);
    }
    add.exec(redis).unwrap();
    let line = PlacedMessageLines { sku: "s".into(), count: 1, gift: None };
    let message = PlacedMessage { order: 5, lines: vec![line], note: Some(None) };
    let name = named(PageKey { page: "message".into() }.name());
    let _: () = redis.set(name, PlacedKey::write_message(&message).unwrap()).unwrap();
    let ttl = OrderKey::TTL_SECONDS.unwrap();
    for name in names {
        let _: () = redis.expire(name, ttl.cast_signed()).unwrap();
    }
}

pub(super) fn read(redis: &mut Connection) -> Value {
    let mut out = serde_json::Map::new();
    let names: Vec<String> = redis.keys("*").unwrap();
    for name in names {
        let (label, text) = read_key(redis, &name);
        out.insert(label.to_owned(), text.into());
        if let Some(key) = OrderKey::parse(&name) {
            out.insert("order".into(), key.order.to_string().into());
        }
    }
    out.into()
}

fn read_key(redis: &mut Connection, name: &str) -> (&'static str, String) {
    let mut text = |name: &str| -> Vec<u8> { redis.get(name).unwrap() };
    if let Some(key) = SessionKey::parse(name) {
        let value = SessionKey::read_value(text(name)).unwrap();
        let (extra, level) = (value.extra.unwrap(), value.level.as_str());
        let (roles, old) = (value.roles.unwrap(), value.old.unwrap().len());
        let (a, b) = (extra["a"].unwrap(), extra["b"].is_none());
        (
            "session",
            format!("{}|{}|{}|{}|{level}|{a}|{b}|{old}", key.user, key.order, value.user, roles[0]),
        )
    } else if let Some(key) = FileKey::parse(name) {
        ("file", format!("{}|{}", key.path, hex(&FileKey::read_value(text(name)).unwrap())))
    } else if PageKey::parse(name).is_some_and(|key| key.page == "message") {
        let message = PlacedKey::read_message(text(name)).unwrap();
        let note = message.note.flatten();
        ("message", format!("{}|{}|{}", message.order, message.lines[0].sku, note.is_none()))
    } else if let Some(key) = PageKey::parse(name) {
        ("page", format!("{}|{}", key.page, PageKey::read_value(text(name)).unwrap()))
    } else {
        read_collection(redis, name)
    }
}

fn read_collection(redis: &mut Connection, name: &str) -> (&'static str, String) {
    if OrderKey::parse(name).is_some() {
        let fields: HashMap<Vec<u8>, Vec<u8>> = redis.hgetall(name).unwrap();
        ("fields", order_text(&Order::from_fields(fields).unwrap()))
    } else if let Some(key) = BasketKey::parse(name) {
        let members: Vec<Vec<u8>> = redis.smembers(name).unwrap();
        ("basket", format!("{}|{}", key.user, BasketKey::read_member(&members[0]).unwrap()))
    } else if let Some(key) = RecentKey::parse(name) {
        let found: Vec<(Vec<u8>, String)> = redis.zrange_withscores(name, 0, -1).unwrap();
        let member = RecentKey::read_member(&found[0].0).unwrap();
        let score = RecentKey::read_score(&found[0].1).unwrap();
        ("recent", format!("{}|{}|{}|{member}|{score}", key.tenant, key.day, key.kind.as_str()))
    } else if let Some(key) = LogKey::parse(name) {
        let item: Vec<u8> = redis.lindex(name, 0).unwrap();
        let item = LogKey::read_item(item).unwrap();
        ("log", format!("{}|{}|{}|{item}", key.uuid, key.ulid, key.code))
    } else if let Some(key) = FlagsKey::parse(name) {
        let found: Vec<(Vec<u8>, Vec<u8>)> = redis.hgetall(name).unwrap();
        let (field, value) = &found[0];
        let (field, value) =
            (FlagsKey::read_field(field).unwrap(), FlagsKey::read_value(value).unwrap());
        ("flags", format!("{}|{field}|{value}", key.tenant))
    } else if let Some(key) = HostKey::parse(name) {
        let count: u64 = redis.pfcount(name).unwrap();
        ("host", format!("{}|{count}", key.host))
    } else if let Some(key) = MonthKey::parse(name) {
        let bit: u8 = redis.getbit(name, 7).unwrap();
        ("month", format!("{}|{bit}", key.month))
    } else {
        assert_eq!(EventsKey::parse(name), Some(EventsKey), "{name}");
        let mut entries: Vec<(String, HashMap<String, String>)> =
            redis::cmd("XRANGE").arg(name).arg("-").arg("+").query(redis).unwrap();
        let event = Events::from_fields(entries.remove(0).1).unwrap();
        ("events", format!("{}|{}", event.order, event.kind.as_str()))
    }
}

fn order_text(order: &Order) -> String {
    assert!(order.user_agent.is_none() && order.next.is_none());
    let lines = order
        .lines
        .iter()
        .map(|line| format!("{} {} {}", line.sku, line.count, line.gift.unwrap_or_default()));
    let sizes: Vec<String> = order.sizes.iter().map(i64::to_string).collect();
    let fields = [
        order.user.clone(),
        order.total.clone(),
        order.count.to_string(),
        order.balance.to_string(),
        order.weight.to_string(),
        order.at.to_string(),
        order.seen.unwrap().to_string(),
        order.placed.clone(),
        order.paid.to_string(),
        order.gift.to_string(),
        order.status.as_str().to_owned(),
        order.phone.clone(),
        format!("{}|{}", order.place.0, order.place.1),
        sizes.join("|"),
        lines.collect::<Vec<_>>().join("|"),
        order.note.clone().unwrap(),
        order.class.clone().unwrap(),
        hex(&order.blob),
        String::new(),
        order.basket.clone().unwrap(),
        order.mixed.clone(),
    ];
    fields.join("\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
