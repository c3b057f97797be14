//! A piece of work in a trace.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use crate::{TraceContext, TraceParent, current, is_exporting, queue};

/// The most bytes of a text of a span.
const TEXT_BYTES_MAX: usize = 1_024;

/// Who takes part in what a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// This program alone.
    Internal = 1,
    /// It answers a request.
    Server = 2,
    /// It asks another program.
    Client = 3,
    /// It submits a job.
    Producer = 4,
    /// It runs a job.
    Consumer = 5,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(Cow<'static, str>),
    /// A number.
    Number(i64),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(shortened(text).into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

/// A span as it is exported. Times are in unix nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    pub(crate) id: TraceParent,
    pub(crate) state: Option<Arc<str>>,
    pub(crate) parent: Option<u64>,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) links: Vec<TraceParent>,
    pub(crate) error: Option<String>,
}

#[cfg(test)]
impl Record {
    pub(crate) fn example() -> Record {
        Record {
            name: "run emails".into(),
            kind: Kind::Consumer,
            id: TraceParent::fresh(),
            state: Some("a=1".into()),
            parent: Some(7),
            start_ns: 1,
            end_ns: 2,
            attributes: vec![("messaging.system", "keyrack".into()), ("n", 3u64.into())],
            links: vec![TraceParent::fresh()],
            error: Some("it failed".into()),
        }
    }
}

/// A span that has begun. It ends when it is dropped.
#[derive(Debug)]
pub struct Span {
    /// Taken out when it ends; none if the queue of spans was full when it began.
    record: Option<Box<Record>>,
    context: TraceContext,
    started: Instant,
}

impl Span {
    /// Begins a span of the current trace, or of a new one. `None` if this process exports none, or not of this trace.
    pub fn start(name: impl Into<Cow<'static, str>>, kind: Kind) -> Option<Span> {
        if !is_exporting() {
            return None;
        }
        Span::start_in(current().as_ref(), name, kind)
    }

    /// Begins a span if the task is in a trace: what belongs to none is not worth a trace of its own.
    pub fn start_if_traced(name: impl FnOnce() -> Cow<'static, str>, kind: Kind) -> Option<Span> {
        if !is_exporting() {
            return None;
        }
        Span::start_in(Some(&current()?), name(), kind)
    }

    /// Begins a span of this trace, or of a new one.
    pub fn start_in(
        parent: Option<&TraceContext>,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
    ) -> Option<Span> {
        let id = parent.map_or_else(TraceParent::fresh, |parent| parent.parent().child());
        Span::with_id(parent, id, name, kind)
    }

    /// Begins a span whose id is known, such as a [derived](TraceParent::derived) one.
    pub fn with_id(
        parent: Option<&TraceContext>,
        id: TraceParent,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
    ) -> Option<Span> {
        if !is_exporting() || !id.is_sampled() {
            return None;
        }
        let context = parent.map_or_else(|| TraceContext::from(id), |parent| parent.with_span(id));
        let started = Instant::now();
        if !queue::has_room() {
            return Some(Span { record: None, context, started });
        }
        let start_ns = now_ns();
        let record = Box::new(Record {
            name: name.into(),
            kind,
            id,
            state: context.state(),
            parent: parent.map(|parent| parent.parent().span_id),
            start_ns,
            end_ns: 0,
            attributes: Vec::new(),
            links: Vec::new(),
            error: None,
        });
        Some(Span { record: Some(record), context, started })
    }

    /// Whether what is said of it is kept. It is not while the queue of spans is full.
    pub fn is_recorded(&self) -> bool {
        self.record.is_some()
    }

    /// The context of work within it.
    pub fn context(&self) -> &TraceContext {
        &self.context
    }

    fn change(&mut self, change: impl FnOnce(&mut Record)) {
        if let Some(record) = &mut self.record {
            change(record);
        }
    }

    /// Adds an attribute.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.change(|record| record.attributes.push((name, value.into())));
    }

    /// Gives it a name that was not known at first.
    pub fn rename(&mut self, name: impl Into<Cow<'static, str>>) {
        self.change(|record| record.name = name.into());
    }

    /// Refers to another span.
    pub fn link(&mut self, to: TraceParent) {
        self.change(|record| record.links.push(to));
    }

    /// The work has failed.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.change(|record| record.error = Some(shortened(reason.into())));
    }

    /// It has lasted from one time to another, in unix nanoseconds.
    pub fn lasted(mut self, start_ns: u64, end_ns: u64) {
        self.change(|record| {
            (record.start_ns, record.end_ns) = (start_ns, end_ns.max(start_ns));
        });
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(mut record) = self.record.take() else { return };
        if record.end_ns == 0 {
            let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            record.end_ns = record.start_ns.saturating_add(elapsed);
        }
        queue::push(*record);
    }
}

/// The time on this machine, in unix nanoseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "a collector compares the spans of many programs by their machines' clocks"
)]
pub fn now_ns() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_recorded_while_nothing_is_exported() {
        assert!(Span::start("run emails", Kind::Consumer).is_none());
        assert!(Span::start_if_traced(|| unreachable!("no name is made"), Kind::Client).is_none());
    }
}
