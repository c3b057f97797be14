//! From Lua values to JSON.

use super::{Config, DEPTH_CEILING, config};
use crate::script::number::append_g;
use crate::script::stack::{Kind, Outcome, Raised, Stack};

/// `cjson.encode(value)`.
pub(super) fn encode(stack: &mut Stack<'_>) -> Outcome {
    if stack.top() != 1 {
        return Err(stack.arg_error(1, "expected 1 argument"));
    }
    let mut encoder =
        Encoder { config: config(stack), out: stack.context().take_scratch(), depth: 0 };
    encoder.append_top(stack)?;
    stack.push_built(&encoder.out)?;
    stack.context().put_scratch(encoder.out);
    Ok(1)
}

/// Room for a value beside its bytes, which is about the work it takes.
const VALUE_ROOM: usize = 64;

struct Encoder {
    config: Config,
    out: Vec<u8>,
    depth: i32,
}

impl Encoder {
    /// Appends the value on top, which stays there.
    fn append_top(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        // One table may stand in many places, so what is written has no bound but this.
        stack.make_room(&mut self.out, VALUE_ROOM)?;
        match stack.kind(-1) {
            Kind::String => self.append_string_at(stack, -1)?,
            Kind::Number => self.append_number(stack)?,
            Kind::Boolean => {
                self.out.extend_from_slice(if stack.truth(-1) { b"true" } else { b"false" })
            }
            Kind::Table => self.append_table(stack)?,
            Kind::Nil => self.out.extend_from_slice(b"null"),
            Kind::LightUserdata if stack.is_null(-1) => self.out.extend_from_slice(b"null"),
            Kind::None | Kind::LightUserdata | Kind::Function | Kind::Userdata | Kind::Thread => {
                return Err(refuse(stack, "type not supported"));
            }
        }
        Ok(())
    }

    fn append_string_at(&mut self, stack: &mut Stack<'_>, index: i32) -> Result<(), Raised> {
        stack.spend(stack.bytes(index).len(), self.out.capacity())?;
        let text = stack.bytes(index);
        let escaped = text.iter().filter(|&&byte| needs_escape(byte)).count();
        let length = text.len() + escaped * (ESCAPE_MAX - 1) + 2;
        stack.make_room(&mut self.out, length)?;
        append_string(&mut self.out, stack.bytes(index));
        Ok(())
    }

    fn append_number(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        let value = stack.number(-1);
        if !value.is_finite() {
            match self.config.encode_invalid {
                0 => return Err(refuse(stack, "must not be NaN or Inf")),
                1 if value.is_nan() => self.out.extend_from_slice(b"nan"),
                1 => append_g(&mut self.out, value, self.config.precision as usize),
                _ => self.out.extend_from_slice(b"null"),
            }
            return Ok(());
        }
        append_g(&mut self.out, value, self.config.precision as usize);
        Ok(())
    }

    fn append_table(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        self.depth += 1;
        let too_deep = self.depth > self.config.encode_depth_max.min(DEPTH_CEILING);
        if too_deep || stack.context().is_deep() || !stack.reserve(6) {
            return Err(
                stack.error(format!("Cannot serialise, excessive nesting ({})", self.depth))
            );
        }
        stack.push_unsealed(-1);
        match self.array_length(stack)? {
            length @ 1.. => self.append_array(stack, length)?,
            _ => self.append_object(stack)?,
        }
        stack.pop(1);
        self.depth -= 1;
        Ok(())
    }

    /// The length of the table on top if it is an array, else nothing positive.
    fn array_length(&self, stack: &mut Stack<'_>) -> Result<i32, Raised> {
        let (mut length, mut items) = (0i32, 0i32);
        stack.push_nil();
        while stack.next(-2) {
            let key = stack.number(-2);
            if stack.kind(-2) != Kind::Number || key < 1.0 || key.floor() != key {
                stack.pop(2);
                return Ok(-1);
            }
            stack.spend(1, 0)?;
            if key > f64::from(length) {
                length = if key <= f64::from(i32::MAX) { key as i32 } else { i32::MIN };
            }
            items += 1;
            stack.pop(1);
        }
        let ratio = self.config.sparse_ratio;
        if ratio > 0 && length > items.saturating_mul(ratio) && length > self.config.sparse_safe {
            if self.config.sparse_convert == 0 {
                return Err(refuse(stack, "excessively sparse array"));
            }
            return Ok(-1);
        }
        Ok(length)
    }

    fn append_array(&mut self, stack: &mut Stack<'_>, length: i32) -> Result<(), Raised> {
        self.out.push(b'[');
        for position in 1..=length {
            if position > 1 {
                self.out.push(b',');
            }
            stack.raw_get_at(-1, position);
            self.append_top(stack)?;
            stack.pop(1);
        }
        self.out.push(b']');
        Ok(())
    }

    fn append_object(&mut self, stack: &mut Stack<'_>) -> Result<(), Raised> {
        self.out.push(b'{');
        let mut first = true;
        stack.push_nil();
        while stack.next(-2) {
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            match stack.kind(-2) {
                Kind::String => self.append_string_at(stack, -2)?,
                Kind::Number => {
                    self.out.push(b'"');
                    stack.push_copy(-2);
                    self.append_number(stack)?;
                    stack.pop(1);
                    self.out.push(b'"');
                }
                _ => {
                    stack.push_copy(-2);
                    return Err(refuse(stack, "table key must be a number or string"));
                }
            }
            self.out.push(b':');
            self.append_top(stack)?;
            stack.pop(1);
        }
        self.out.push(b'}');
        Ok(())
    }
}

/// Raises that the value on top cannot be written.
fn refuse(stack: &mut Stack<'_>, reason: &str) -> Raised {
    let kind = stack.kind(-1).name();
    stack.error(format!("Cannot serialise {kind}: {reason}"))
}

/// Appends `text` in quotes. Bytes that are no UTF-8 go through as they are.
fn append_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut rest = text;
    while let Some(position) = rest.iter().position(|&byte| needs_escape(byte)) {
        out.extend_from_slice(&rest[..position]);
        append_escape(out, rest[position]);
        rest = &rest[position + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The longest form of an escaped byte.
const ESCAPE_MAX: usize = 6;

fn needs_escape(byte: u8) -> bool {
    byte < 32 || matches!(byte, b'"' | b'\\' | b'/' | 127)
}

fn append_escape(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' | b'\\' | b'/' => out.extend_from_slice(&[b'\\', byte]),
        8 => out.extend_from_slice(b"\\b"),
        9 => out.extend_from_slice(b"\\t"),
        10 => out.extend_from_slice(b"\\n"),
        12 => out.extend_from_slice(b"\\f"),
        13 => out.extend_from_slice(b"\\r"),
        _ => {
            out.extend_from_slice(b"\\u00");
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
    }
}
