//! Valid content for any declared family, made from its declaration.

use keyrack_keys::json::Schema;
use keyrack_keys::{
    By, Content, Database, Encoding, Family, Field, Holds, Kind, KnownBy, Layout, Shape, Ttl,
};
use keyrack_store::Store;
use redis::Cmd;

/// A database for families that live in their account's own.
const ACCOUNT_DB: i64 = 100;

/// Numbers that look random and are the same each time.
#[derive(Clone, Debug)]
pub(crate) struct TestRandom(pub(crate) u64);

impl TestRandom {
    fn next_u64(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next_u64() % n.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

/// Writes a key of the family with random parts and content, and the keys that it refers to.
pub(crate) async fn write_random(store: &Store, family: &'static Family, random: &mut TestRandom) {
    let parts: Vec<String> = family.parts.iter().map(|slot| part(&slot.kind, random)).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let shard = format!("shard {}", random.below(3));
    write(store, family, &shard, &parts, random).await;
}

/// Writes the family's example.
pub(crate) async fn write_example(store: &Store, family: &'static Family, random: &mut TestRandom) {
    let parsed = keyrack_contract::registry().parse(family.example.as_bytes()).unwrap();
    let parts: Vec<&str> = parsed.parts.iter().map(String::as_str).collect();
    write(store, family, "main", &parts, random).await;
}

async fn write(
    store: &Store,
    family: &'static Family,
    shard: &str,
    parts: &[&str],
    random: &mut TestRandom,
) {
    let in_database = store.layout() == Layout::Documented && family.database == Database::Account;
    let store = if in_database { store.database(ACCOUNT_DB).await.unwrap() } else { store.clone() };
    let mut writer =
        Writer { layout: store.layout(), shard, random, holds: None, commands: Vec::new() };
    writer.key(family, parts);
    for cmd in writer.commands {
        let reply: redis::RedisResult<redis::Value> =
            cmd.query_async(&mut store.connection()).await;
        reply.unwrap_or_else(|error| panic!("{}: {error}", family.template));
    }
}

/// Lets the store know the accounts whose keys [`write_example`] and [`write_random`] write.
pub(crate) async fn know_accounts(store: &Store) {
    let db = if store.layout() == Layout::Documented { ACCOUNT_DB } else { 0 };
    for account in ["main", "shard 0", "shard 1", "shard 2"] {
        know_account(store, account, db).await;
    }
}

/// Lets the store know an account: only then can a key of an ambiguous name be one of its keys.
pub(crate) async fn know_account(store: &Store, account: &str, db: i64) {
    let accounts = keyrack_contract::registry().get("calculations.account_databases").unwrap();
    let key = accounts.render(store.layout(), None, &[]).unwrap();
    let reply: redis::RedisResult<redis::Value> =
        redis::cmd("HSET").arg(key).arg(account).arg(db).query_async(&mut store.connection()).await;
    reply.unwrap();
}

struct Writer<'a> {
    layout: Layout,
    shard: &'a str,
    random: &'a mut TestRandom,
    /// What the keys that are referred to have to hold.
    holds: Option<Holds>,
    commands: Vec<Cmd>,
}

impl Writer<'_> {
    fn key(&mut self, family: &'static Family, parts: &[&str]) {
        let key = family.render(self.layout, Some(self.shard), parts).unwrap();
        self.commands.push(command(&["DEL", &key]));
        let n = 1 + self.random.below(4);
        let holds = std::mem::replace(&mut self.holds, family.holds);
        match &family.content {
            Content::String(value) => {
                let value = self.value(&value.encoding);
                self.commands.push(command(&["SET", &key, &value]));
            }
            Content::List(item) => self.repeat(n, &["RPUSH", &key], &[&item.encoding]),
            Content::Set(member) => self.repeat(n, &["SADD", &key], &[&member.encoding]),
            Content::SortedSet { member, score } => {
                self.repeat(n, &["ZADD", &key], &[&score.encoding, &member.encoding]);
            }
            Content::Map { field, value } => {
                self.repeat(n, &["HSET", &key], &[&field.encoding, &value.encoding]);
            }
            Content::Hash(fields) => {
                let values = self.fields(&key, fields, holds);
                self.list(family, &key, parts.first().copied().unwrap_or_default(), &values);
            }
            Content::Channel(_)
            | Content::Stream(_)
            | Content::Bitmap(_)
            | Content::HyperLogLog(_) => {
                panic!("{} is none of our keys", family.template)
            }
        }
        self.holds = holds;
        if let (Content::Map { .. }, KnownBy::Content([mark, ..])) =
            (&family.content, family.known_by)
        {
            self.commands.push(command(&["HSET", &key, mark, "1"]));
        }
        let ttl_ms = match family.ttl {
            Ttl::Within(secs) => secs * 1_000,
            Ttl::Required => 100_000,
            Ttl::Optional if self.random.below(2) == 0 => 100_000,
            Ttl::Optional | Ttl::Never | Ttl::When(_) | Ttl::Undeclared => return,
        };
        self.commands.push(command(&["PEXPIRE", &key, &ttl_ms.to_string()]));
    }

    fn repeat(&mut self, n: u64, start: &[&str], encodings: &[&Encoding]) {
        for _ in 0..n {
            let mut cmd = command(start);
            for encoding in encodings {
                cmd.arg(self.value(encoding));
            }
            self.commands.push(cmd);
        }
    }

    fn fields(
        &mut self,
        key: &str,
        fields: &[Field],
        holds: Option<Holds>,
    ) -> Vec<(&'static str, String)> {
        let mut values = Vec::new();
        for (i, field) in fields.iter().enumerate() {
            let held = holds.filter(|holds| holds.field == field.name);
            // The first stands even if it is optional, as there is no empty hash.
            if let Some(holds) = held {
                values.push((field.name, (*self.random.pick(holds.words)).to_owned()));
            } else if i == 0 || !field.optional() || self.random.below(2) == 0 {
                values.push((field.name, self.value(&field.encoding)));
            }
        }
        let mut cmd = command(&["HSET", key]);
        for (name, value) in &values {
            cmd.arg(name).arg(value);
        }
        self.commands.push(cmd);
        values
    }

    /// Names a key where it has to be named: in the first place, or it expires.
    fn list(&mut self, family: &Family, key: &str, id: &str, values: &[(&'static str, String)]) {
        let value = |name: &str| values.iter().find(|(other, _)| *other == name);
        for listed in family.listed {
            let state = value(listed.field).map(|(_, word)| word.as_str()).unwrap_or_default();
            if !listed.words.contains(&state) {
                continue;
            }
            let Some(by) = listed.by.first().map(By::family) else {
                self.commands.push(command(&["PEXPIRE", key, "100000"]));
                continue;
            };
            let parts = by.parts.iter().map(|slot| value(slot.name).expect("a part").1.as_str());
            let place = by.render(self.layout, Some(self.shard), &parts.collect::<Vec<_>>());
            let place = place.expect("a place");
            assert!(matches!(by.content, Content::SortedSet { .. }), "{}", by.template);
            self.commands.push(command(&["ZADD", &place, "1600000000000", id]));
        }
    }

    fn value(&mut self, encoding: &Encoding) -> String {
        match encoding {
            Encoding::Text => part(&TEXT, self.random),
            Encoding::Integer { min, max } => {
                let width = u64::try_from((max - min).min(1_000_000)).unwrap() + 1;
                (min + i128::from(self.random.below(width))).to_string()
            }
            Encoding::Float => (self.random.below(1 << 40) as f64 / 1024.0 - 7.0).to_string(),
            Encoding::Decimal => {
                format!("-{}.{:02}", self.random.below(1_000), self.random.below(100))
            }
            Encoding::UnixSeconds => format!("{}.25", 1_600_000_000 + self.random.below(1 << 28)),
            Encoding::UnixMs => (1_600_000_000_000 + self.random.below(1 << 38)).to_string(),
            Encoding::Words(words) => (*self.random.pick(words)).to_owned(),
            Encoding::Like(forms) => self.like(forms),
            Encoding::Json(schema) => self.json(schema).to_string(),
            Encoding::List(item, count) => {
                (0..*count).map(|_| self.value(item)).collect::<Vec<_>>().join(",")
            }
            Encoding::Tuple(fields) => {
                fields.iter().map(|field| self.value(&field.encoding)).collect::<Vec<_>>().join(",")
            }
            Encoding::Id(kind) => part(kind, self.random),
            Encoding::Refers(referent) => {
                let family = referent.family();
                let id = part(&family.parts[0].kind, self.random);
                self.key(family, &[&id]);
                id
            }
            Encoding::AnyOf(forms) => {
                let form = *self.random.pick(forms);
                self.value(&form)
            }
            Encoding::Bytes
            | Encoding::IsoTime
            | Encoding::Bool(..)
            | Encoding::MsgPack
            | Encoding::KeyOf(_) => unreachable!("none of our own: {encoding:?}"),
            Encoding::OrEmpty(_) if self.random.below(2) == 0 => String::new(),
            Encoding::OrEmpty(inner) | Encoding::Optional(inner) | Encoding::Secret(inner) => {
                self.value(inner)
            }
        }
    }

    fn like(&mut self, forms: &[&str]) -> String {
        let form = *self.random.pick(forms);
        let digit = |random: &mut TestRandom| char::from(b'0' + random.below(10) as u8);
        form.chars()
            .map(|letter| match letter {
                '0' => digit(self.random),
                '±' => *self.random.pick(&['+', '-']),
                literal => literal,
            })
            .collect()
    }

    fn json(&mut self, schema: &Schema) -> serde_json::Value {
        use serde_json::Value;
        match schema {
            Schema::Any | Schema::Number => Value::from(self.random.below(1_000)),
            Schema::Integer => Value::from(self.random.below(1_000)),
            Schema::Words(words) => Value::from(*self.random.pick(words)),
            Schema::Bool => Value::from(self.random.below(2) == 0),
            Schema::String => Value::from(part(&TEXT, self.random)),
            Schema::Nullable(_) if self.random.below(2) == 0 => Value::Null,
            Schema::LuaArray(_) if self.random.below(2) == 0 => Value::Object(Default::default()),
            Schema::Nullable(inner) | Schema::Maybe(inner) => self.json(inner),
            Schema::Array(item) | Schema::LuaArray(item) => {
                (0..self.random.below(3)).map(|_| self.json(item)).collect()
            }
            Schema::Object(members) => {
                let mut object = serde_json::Map::new();
                for (name, schema) in *members {
                    if !matches!(schema, Schema::Maybe(_)) || self.random.below(2) == 0 {
                        object.insert((*name).to_owned(), self.json(schema));
                    }
                }
                Value::Object(object)
            }
            Schema::Map(inner) => {
                let n = self.random.below(3);
                Value::Object((0..n).map(|i| (format!("m{i}"), self.json(inner))).collect())
            }
        }
    }
}

const TEXT: Kind = Kind::new("Text", "", Shape::Text { except: &[] });

/// A text of this kind, with what is hard on keys in it.
fn part(kind: &Kind, random: &mut TestRandom) -> String {
    const STARTS: [&str; 6] = ["alice", "a:b", "{x}", "100%", "ü 🐝", "*?[]\\^"];
    let n = random.below(1_000_000);
    let start = *random.pick(&STARTS);
    match kind.shape {
        Shape::Text { .. } => format!("{start}-{n}"),
        Shape::Colons { fields_min } => vec![format!("f {n}"); fields_min].join(":"),
        Shape::Number { min, max } => {
            (min + random.below((max - min).saturating_add(1))).to_string()
        }
        Shape::Words(words) => (*random.pick(words)).to_owned(),
        Shape::Uuid | Shape::Ulid | Shape::Date | Shape::Pattern(_) | Shape::Rest => {
            unreachable!("none of our own: {kind:?}")
        }
    }
}

fn command(words: &[&str]) -> Cmd {
    let mut cmd = redis::cmd(words[0]);
    for word in &words[1..] {
        cmd.arg(*word);
    }
    cmd
}
