//! An engine of a few commands, just enough for scripts to talk to.

use std::collections::BTreeMap;

use crate::reply::{Error, Reply};
use crate::script::{Caller, Interrupt, Sha};

/// A value of the toy engine.
enum Value {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
    Set(Vec<Vec<u8>>),
    Scores(BTreeMap<Vec<u8>, f64>),
}

/// The toy engine.
#[derive(Default)]
pub(super) struct ToyEngine {
    values: BTreeMap<Vec<u8>, Value>,
    /// What scripts logged.
    pub(super) logged: Vec<(u8, Vec<u8>)>,
    /// How often scripts were asked about.
    pub(super) asked: usize,
    /// Commands of a script that it has told to stop.
    pub(super) calls_after_stop: usize,
    /// After how many questions the answer is to stop.
    patience: Option<usize>,
    /// The protocol scripts chose last.
    pub(super) resp: u8,
}

const WRONG_ARITY: Error =
    Error::fixed("ERR Wrong number of args calling Redis command from script");

impl Caller for ToyEngine {
    fn call(&mut self, args: &[&[u8]]) -> Reply {
        self.calls_after_stop +=
            usize::from(self.patience.is_some_and(|patience| self.asked > patience));
        let name = args[0].to_ascii_lowercase();
        match (name.as_slice(), &args[1..]) {
            (b"ping", []) => Reply::Status("PONG".into()),
            (b"echo", [text]) => Reply::bulk(text),
            (b"set", [key, value]) => {
                self.values.insert(key.to_vec(), Value::Text(value.to_vec()));
                Reply::OK
            }
            (b"get", [key]) => self.read(key, |value| match value {
                Value::Text(text) => Some(Reply::bulk(text)),
                _ => None,
            }),
            (b"mget", [_, ..]) => {
                Reply::Array(args[1..].iter().map(|key| self.call(&[b"get", key])).collect())
            }
            (b"rpush", [key, items @ ..]) if !items.is_empty() => {
                match self.values.entry(key.to_vec()).or_insert(Value::List(Vec::new())) {
                    Value::List(list) => {
                        list.extend(items.iter().map(|item| item.to_vec()));
                        Reply::Int(list.len() as i64)
                    }
                    _ => Error::WRONG_TYPE.into(),
                }
            }
            (b"lrange", [key, b"0", b"-1"]) => self.read(key, |value| match value {
                Value::List(list) => Some(Reply::bulks(list)),
                _ => None,
            }),
            (b"lpop", [_, _]) => Reply::NilArray,
            (b"hset", [key, field, value]) => {
                let fields = BTreeMap::from([(field.to_vec(), value.to_vec())]);
                self.values.insert(key.to_vec(), Value::Hash(fields));
                Reply::Int(1)
            }
            (b"hgetall", [key]) if !self.values.contains_key(*key) => Reply::Map(Vec::new()),
            (b"hgetall", [key]) => self.read(key, |value| match value {
                Value::Hash(fields) => Some(Reply::Map(
                    fields.iter().map(|(k, v)| (Reply::bulk(k), Reply::bulk(v))).collect(),
                )),
                _ => None,
            }),
            (b"sadd", [key, member]) => {
                self.values.insert(key.to_vec(), Value::Set(vec![member.to_vec()]));
                Reply::Int(1)
            }
            (b"smembers", [key]) if !self.values.contains_key(*key) => Reply::Set(Vec::new()),
            (b"smembers", [key]) => self.read(key, |value| match value {
                Value::Set(members) => Some(Reply::Set(members.iter().map(Reply::bulk).collect())),
                _ => None,
            }),
            (b"zadd", [key, score, member]) => {
                let score = String::from_utf8_lossy(score).parse().unwrap_or_default();
                self.values.insert(
                    key.to_vec(),
                    Value::Scores(BTreeMap::from([(member.to_vec(), score)])),
                );
                Reply::Int(1)
            }
            (b"zscore", [key, member]) => self.read(key, |value| match value {
                Value::Scores(scores) => {
                    Some(scores.get(*member).map_or(Reply::Nil, |score| Reply::Double(*score)))
                }
                _ => None,
            }),
            (b"eval", _) => {
                Error::fixed("ERR This Redis command is not allowed from script").into()
            }
            (b"panic", _) => panic!("the toy engine broke"),
            (b"get" | b"echo" | b"set" | b"rpush", _) => WRONG_ARITY.into(),
            _ => Error::fixed("ERR Unknown Redis command called from script").into(),
        }
    }

    fn interrupt(&mut self) -> Interrupt {
        self.asked += 1;
        match self.patience {
            Some(patience) if self.asked > patience => {
                Interrupt::Stop(Error::fixed("ERR Script killed by user with SCRIPT KILL..."))
            }
            _ => Interrupt::Continue,
        }
    }

    fn set_resp(&mut self, version: u8) {
        self.resp = version;
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        self.logged.push((level, message.to_vec()));
    }

    fn may_call(&mut self, args: &[&[u8]]) -> Option<bool> {
        (args[0] == b"get").then_some(true)
    }
}

impl ToyEngine {
    /// An engine that stops a script when asked for the time after `patience`.
    pub(super) fn impatient(patience: usize) -> ToyEngine {
        ToyEngine { patience: Some(patience), ..ToyEngine::default() }
    }

    fn read(&self, key: &[u8], read: impl FnOnce(&Value) -> Option<Reply>) -> Reply {
        match self.values.get(key) {
            None => Reply::Nil,
            Some(value) => read(value).unwrap_or_else(|| Error::WRONG_TYPE.into()),
        }
    }
}

/// The reply as a RESP2 client sees it, on one line, with the name of the script left out.
pub(super) fn render(reply: &Reply) -> String {
    match reply {
        Reply::Status(text) => format!("+{text}"),
        Reply::Error(error) => format!("-{}", without_name(error.text())),
        Reply::Int(value) => format!(":{value}"),
        Reply::Bool(value) => format!(":{}", i32::from(*value)),
        Reply::Bulk(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Reply::Verbatim(text) => format!("\"{}\"", text.as_bytes().escape_ascii()),
        Reply::Double(value) => {
            let mut text = Vec::new();
            crate::script::number::append_g(&mut text, *value, 17);
            format!("\"{}\"", text.escape_ascii())
        }
        Reply::Nil | Reply::NilArray | Reply::None => "nil".to_owned(),
        Reply::Array(items) | Reply::Set(items) | Reply::Push(items) | Reply::Several(items) => {
            format!("[{}]", items.iter().map(render).collect::<Vec<_>>().join(" "))
        }
        Reply::Map(pairs) => {
            let items = pairs.iter().flat_map(|(key, value)| [render(key), render(value)]);
            format!("[{}]", items.collect::<Vec<_>>().join(" "))
        }
    }
}

/// The text with the digits of every script name replaced.
pub(super) fn without_name(text: &str) -> String {
    match text.split_once(" script: ") {
        Some((before, after))
            if after.get(..40).is_some_and(|sha| Sha::parse(sha.as_bytes()).is_some()) =>
        {
            format!("{before} script: <sha>{}", &after[40..])
        }
        _ => text.to_owned(),
    }
}
