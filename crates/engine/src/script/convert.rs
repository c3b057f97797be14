//! Conversion between replies and Lua values, by the rules of Redis 7.0.

use std::borrow::Cow;

use super::failure::{TEXT_COPIES, c_text};
use super::number;
use super::stack::{Kind, Raised, Stack};
use crate::reply::{Error, Reply};

/// Nesting of a script's result beyond which it is cut off with an error.
///
/// Redis goes on to about 8,000 levels. Every reader of a reply recurses, so this leaves room on small thread stacks.
const DEPTH_MAX: usize = 500;

/// Work that a value of a reply stands for: making a string of it may take long.
const VALUE_UNITS: usize = 512;

/// Pushes `reply` in the form that the protocol chosen with `redis.setresp` gives it.
pub(super) fn push_reply(stack: &mut Stack<'_>, reply: &Reply) -> Result<(), Raised> {
    // Enough for the widest case below, so that nested replies run out of stack here and not in a push.
    if !stack.reserve(6) {
        return Err(stack.error_bare("reached lua stack limit"));
    }
    let length = match reply {
        Reply::Bulk(bytes) => bytes.len(),
        Reply::Verbatim(text) => text.len(),
        _ => 0,
    };
    stack.spend(VALUE_UNITS + length, length)?;
    let resp3 = stack.context().resp.get() == 3;
    match reply {
        Reply::Bulk(bytes) => stack.push_bytes(bytes),
        Reply::Int(value) => stack.push_number(*value as f64),
        Reply::Status(text) => push_wrapped(stack, "ok", |stack| stack.push_bytes(text.as_bytes())),
        Reply::Error(error) => push_error(stack, error),
        Reply::Nil | Reply::NilArray | Reply::None if resp3 => stack.push_nil(),
        Reply::Nil | Reply::NilArray | Reply::None => stack.push_bool(false),
        Reply::Bool(value) if resp3 => stack.push_bool(*value),
        Reply::Bool(value) => stack.push_number(f64::from(u8::from(*value))),
        Reply::Double(value) if resp3 => {
            push_wrapped(stack, "double", |stack| stack.push_number(*value))
        }
        Reply::Double(value) => {
            let mut text = Vec::with_capacity(24);
            number::append_g(&mut text, *value, number::EXACT);
            stack.push_bytes(text);
        }
        Reply::Verbatim(text) if resp3 => push_verbatim(stack, text),
        Reply::Verbatim(text) => stack.push_bytes(text),
        Reply::Array(items) | Reply::Push(items) | Reply::Several(items) => {
            push_items(stack, items)?
        }
        Reply::Set(members) if resp3 => push_set(stack, members)?,
        Reply::Set(members) => push_items(stack, members)?,
        Reply::Map(pairs) if resp3 => push_map(stack, pairs)?,
        Reply::Map(pairs) => push_pairs(stack, pairs)?,
    }
    Ok(())
}

/// Pushes the table that stands for an error reply of a command.
fn push_error(stack: &mut Stack<'_>, error: &Error) {
    push_error_text(stack, error.text());
    stack.push_bool(true);
    stack.raw_set_field(-2, "ignore_error_stats_update");
}

/// Pushes the table that stands for an error; `text` starts with its code.
pub(super) fn push_error_text(stack: &mut Stack<'_>, text: impl AsRef<[u8]>) {
    push_wrapped(stack, "err", |stack| stack.push_bytes(text));
}

/// Pushes a table whose one field `name` is what `push` pushes.
pub(super) fn push_wrapped(stack: &mut Stack<'_>, name: &str, push: impl FnOnce(&mut Stack<'_>)) {
    // Not sized beforehand: the order in which `pairs` finds fields depends on how the table grew.
    stack.push_table(0, 0);
    push(stack);
    stack.raw_set_field(-2, name);
}

fn push_verbatim(stack: &mut Stack<'_>, text: &str) {
    push_wrapped(stack, "verbatim_string", |stack| {
        stack.push_table(0, 0);
        stack.push_bytes(text);
        stack.raw_set_field(-2, "string");
        stack.push_bytes("txt");
        stack.raw_set_field(-2, "format");
    });
}

fn push_items(stack: &mut Stack<'_>, items: &[Reply]) -> Result<(), Raised> {
    stack.push_table(items.len(), 0);
    for (position, item) in (1..).zip(items) {
        push_reply(stack, item)?;
        stack.raw_set_at(-2, position);
    }
    Ok(())
}

fn push_pairs(stack: &mut Stack<'_>, pairs: &[(Reply, Reply)]) -> Result<(), Raised> {
    stack.push_table(pairs.len() * 2, 0);
    for (position, item) in (1..).zip(pairs.iter().flat_map(|(key, value)| [key, value])) {
        push_reply(stack, item)?;
        stack.raw_set_at(-2, position);
    }
    Ok(())
}

fn push_map(stack: &mut Stack<'_>, pairs: &[(Reply, Reply)]) -> Result<(), Raised> {
    stack.push_table(0, 0);
    stack.push_table(0, pairs.len());
    for (key, value) in pairs {
        push_reply(stack, key)?;
        push_reply(stack, value)?;
        stack.raw_set(-3);
    }
    stack.raw_set_field(-2, "map");
    Ok(())
}

fn push_set(stack: &mut Stack<'_>, members: &[Reply]) -> Result<(), Raised> {
    stack.push_table(0, 0);
    stack.push_table(0, members.len());
    for member in members {
        push_reply(stack, member)?;
        stack.push_bool(true);
        stack.raw_set(-3);
    }
    stack.raw_set_field(-2, "set");
    Ok(())
}

/// Pops the value on top and returns it as the script's reply. Fails if the reply would take more memory than the script
/// has left, or if the script has to stop meanwhile: one table may stand in many places, so a reply has no bound but this.
pub(super) fn pop_reply(stack: &mut Stack<'_>) -> Result<Reply, Raised> {
    let reply = Builder { held: 0 }.reply_of_top(stack, 0)?;
    stack.pop(1);
    Ok(reply)
}

/// A reply under construction.
struct Builder {
    /// Bytes of what has been built so far.
    held: usize,
}

impl Builder {
    fn reply_of_top(&mut self, stack: &mut Stack<'_>, depth: usize) -> Result<Reply, Raised> {
        // Its place is counted by whoever made room for it.
        stack.spend(size_of::<Reply>(), self.held)?;
        if depth > DEPTH_MAX || stack.context().is_deep() || !stack.reserve(8) {
            return Ok(Reply::Error(Error::fixed("ERR reached lua stack limit")));
        }
        let length = stack.bytes(-1).len();
        if length > 0 {
            self.held += length;
            stack.spend(length, self.held)?;
        }
        Ok(match stack.kind(-1) {
            Kind::String => Reply::Bulk(stack.bytes(-1).to_vec()),
            Kind::Number => Reply::Int(number::to_i64(stack.number(-1))),
            Kind::Boolean if stack.context().resp.get() == 3 => Reply::Bool(stack.truth(-1)),
            Kind::Boolean if stack.truth(-1) => Reply::Int(1),
            Kind::Table => match self.tagged_reply(stack, depth)? {
                Some(reply) => reply,
                None => self.array_reply(stack, depth)?,
            },
            _ => Reply::Nil,
        })
    }

    /// The reply for a table that names its type in a field, or `None` for a plain list.
    fn tagged_reply(
        &mut self,
        stack: &mut Stack<'_>,
        depth: usize,
    ) -> Result<Option<Reply>, Raised> {
        const TAGS: [(&str, Kind); 7] = [
            ("err", Kind::String),
            ("ok", Kind::String),
            ("double", Kind::Number),
            ("map", Kind::Table),
            ("set", Kind::Table),
            ("big_number", Kind::String),
            ("verbatim_string", Kind::Table),
        ];
        for (tag, kind) in TAGS {
            let reply = if stack.raw_field(-1, tag) != kind {
                None
            } else {
                self.hold_text(stack)?;
                match tag {
                    "err" => Some(Error::new(c_text(stack.bytes(-1))).into()),
                    "ok" => Some(Reply::Status(Cow::Owned(line(stack)))),
                    "double" => Some(Reply::Double(stack.number(-1))),
                    "map" => Some(self.map_reply(stack, depth)?),
                    "set" => Some(self.set_reply(stack, depth)?),
                    "big_number" => Some(Reply::bulk(line(stack))),
                    _ => self.verbatim_reply(stack)?,
                }
            };
            stack.pop(1);
            if reply.is_some() {
                return Ok(reply);
            }
        }
        Ok(None)
    }

    /// Counts the string on top, of which a text is to be made.
    fn hold_text(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        let length = stack.bytes(-1).len();
        self.held += length.saturating_mul(TEXT_COPIES);
        stack.spend(length, self.held)
    }

    fn verbatim_reply(&mut self, stack: &mut Stack<'_>) -> Result<Option<Reply>, Raised> {
        let is_format = stack.raw_field(-1, "format") == Kind::String;
        let is_text = stack.raw_field(-2, "string") == Kind::String;
        self.hold_text(stack)?;
        let reply = (is_format && is_text)
            .then(|| Reply::Verbatim(String::from_utf8_lossy(stack.bytes(-1)).into_owned()));
        stack.pop(2);
        Ok(reply)
    }

    /// Adds `item` to `items`, and counts what these take when they grow.
    #[inline]
    fn push<T>(
        &mut self,
        stack: &mut Stack<'_>,
        items: &mut Vec<T>,
        item: T,
    ) -> Result<(), Raised> {
        if items.len() == items.capacity() {
            self.make_room(stack, items, items.capacity().max(4))?;
        }
        items.push(item);
        Ok(())
    }

    /// Counts `more` places in `items`, and makes them.
    fn make_room<T>(
        &mut self,
        stack: &mut Stack<'_>,
        items: &mut Vec<T>,
        more: usize,
    ) -> Result<(), Raised> {
        self.held += more * size_of::<T>();
        // What grows exists twice for a moment.
        stack.spend(0, self.held + items.capacity() * size_of::<T>())?;
        items.reserve_exact(more);
        Ok(())
    }

    fn array_reply(&mut self, stack: &mut Stack<'_>, depth: usize) -> Result<Reply, Raised> {
        let mut items = Vec::new();
        self.make_room(stack, &mut items, stack.length(-1).min(1 << 10))?;
        for position in 1.. {
            stack.raw_get_at(-1, position);
            if stack.kind(-1) == Kind::Nil {
                stack.pop(1);
                break;
            }
            let item = self.reply_of_top(stack, depth + 1)?;
            self.push(stack, &mut items, item)?;
            stack.pop(1);
        }
        Ok(Reply::Array(items))
    }

    fn map_reply(&mut self, stack: &mut Stack<'_>, depth: usize) -> Result<Reply, Raised> {
        let mut pairs = Vec::new();
        stack.push_nil();
        while stack.next(-2) {
            stack.push_copy(-2);
            let key = self.reply_of_top(stack, depth + 1)?;
            stack.pop(1);
            let value = self.reply_of_top(stack, depth + 1)?;
            stack.pop(1);
            self.push(stack, &mut pairs, (key, value))?;
        }
        Ok(Reply::Map(pairs))
    }

    fn set_reply(&mut self, stack: &mut Stack<'_>, depth: usize) -> Result<Reply, Raised> {
        let mut members = Vec::new();
        stack.push_nil();
        while stack.next(-2) {
            stack.pop(1);
            let member = self.reply_of_top(stack, depth + 1)?;
            self.push(stack, &mut members, member)?;
        }
        Ok(Reply::Set(members))
    }
}

/// The string on top as one line of text.
fn line(stack: &Stack<'_>) -> String {
    c_text(stack.bytes(-1)).replace(['\r', '\n'], " ")
}
