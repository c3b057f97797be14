//! The `cmsgpack` library: MessagePack, without binary and extension types.

use super::number::to_i64;
use super::stack::{Kind, Outcome, Raised, Stack, c_function};

/// Pushes the library's table.
pub(super) fn push_library(stack: &mut Stack<'_>) {
    stack.push_library(&[
        ("pack", c_function(pack)),
        ("unpack", c_function(unpack)),
        ("unpack_one", c_function(unpack_one)),
        ("unpack_limit", c_function(unpack_limit)),
    ]);
    let texts = [
        ("_NAME", "cmsgpack"),
        ("_VERSION", "lua-cmsgpack 0.4.0"),
        ("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
        ("_DESCRIPTION", "MessagePack C implementation for Lua"),
    ];
    for (name, text) in texts {
        stack.push_bytes(text);
        stack.raw_set_field(-2, name);
    }
}

/// Tables nested deeper are packed as nil.
const NESTING_MAX: usize = 16;

/// `cmsgpack.pack(…)`: the arguments one after the other.
fn pack(stack: &mut Stack<'_>) -> Outcome {
    let count = stack.top();
    if count == 0 {
        return Err(stack.arg_error(0, "MessagePack pack needs input."));
    }
    let mut out = stack.context().take_scratch();
    for index in 1..=count {
        stack.push_copy(index);
        pack_top(stack, &mut out, 0)?;
    }
    stack.push_built(&out)?;
    stack.context().put_scratch(out);
    Ok(1)
}

/// Room for a value beside its bytes, which is about the work it takes.
const VALUE_ROOM: usize = 64;
/// Work that a value read stands for: making a string of it may take long.
const VALUE_UNITS: usize = 1024;

/// Appends the value on top and pops it.
fn pack_top(stack: &mut Stack<'_>, out: &mut Vec<u8>, level: usize) -> Result<(), Raised> {
    // One table may stand in many places, so what is written has no bound but this.
    stack.make_room(out, VALUE_ROOM + stack.bytes(-1).len())?;
    match stack.kind(-1) {
        Kind::String => {
            pack_bytes(out, stack.bytes(-1));
            stack.pop(1);
        }
        Kind::Boolean => {
            out.push(if stack.truth(-1) { 0xc3 } else { 0xc2 });
            stack.pop(1);
        }
        Kind::Number => {
            pack_number(out, stack.number(-1));
            stack.pop(1);
        }
        Kind::Table if level < NESTING_MAX => {
            if !stack.reserve(6) {
                return Err(stack.error("stack overflow (too many nested tables)"));
            }
            stack.push_unsealed(-1);
            pack_table(stack, out, level)?;
            stack.pop(2);
        }
        _ => {
            out.push(0xc0);
            stack.pop(1);
        }
    }
    Ok(())
}

fn pack_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        length @ ..32 => out.push(0xa0 | length as u8),
        length @ ..=0xff => out.extend_from_slice(&[0xd9, length as u8]),
        length => pack_length(out, length, [0xda, 0xdb]),
    }
    out.extend_from_slice(bytes);
}

/// Appends a length of two bytes after the first tag, or of four after the second.
fn pack_length(out: &mut Vec<u8>, length: usize, tags: [u8; 2]) {
    if let Ok(length) = u16::try_from(length) {
        out.push(tags[0]);
        out.extend_from_slice(&length.to_be_bytes());
    } else {
        out.push(tags[1]);
        out.extend_from_slice(&(length as u32).to_be_bytes());
    }
}

fn pack_number(out: &mut Vec<u8>, value: f64) {
    let whole = to_i64(value);
    if whole as f64 == value {
        return pack_integer(out, whole);
    }
    let short = value as f32;
    if f64::from(short) == value {
        out.push(0xca);
        out.extend_from_slice(&short.to_be_bytes());
    } else {
        out.push(0xcb);
        out.extend_from_slice(&value.to_be_bytes());
    }
}

fn pack_integer(out: &mut Vec<u8>, value: i64) {
    match value {
        -32..=127 => out.push(value as u8),
        128..=0xff => out.extend_from_slice(&[0xcc, value as u8]),
        0x100..=0xffff => tagged(out, 0xcd, &(value as u16).to_be_bytes()),
        0x1_0000..=0xffff_ffff => tagged(out, 0xce, &(value as u32).to_be_bytes()),
        0x1_0000_0000.. => tagged(out, 0xcf, &value.to_be_bytes()),
        -128..=-33 => out.extend_from_slice(&[0xd0, value as u8]),
        -32_768..=-129 => tagged(out, 0xd1, &(value as i16).to_be_bytes()),
        -2_147_483_648..=-32_769 => tagged(out, 0xd2, &(value as i32).to_be_bytes()),
        _ => tagged(out, 0xd3, &value.to_be_bytes()),
    }
}

fn tagged(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// Appends the table on top, as an array if its keys are 1 to its size.
fn pack_table(stack: &mut Stack<'_>, out: &mut Vec<u8>, level: usize) -> Result<(), Raised> {
    let (count, is_array) = survey(stack)?;
    if is_array {
        match count {
            0..16 => out.push(0x90 | count as u8),
            _ => pack_length(out, count, [0xdc, 0xdd]),
        }
        for position in 1..=count {
            stack.raw_get_at(-1, position as i32);
            pack_top(stack, out, level + 1)?;
        }
        return Ok(());
    }
    match count {
        0..16 => out.push(0x80 | count as u8),
        _ => pack_length(out, count, [0xde, 0xdf]),
    }
    stack.push_nil();
    while stack.next(-2) {
        stack.push_copy(-2);
        pack_top(stack, out, level + 1)?;
        pack_top(stack, out, level + 1)?;
    }
    Ok(())
}

/// The number of entries of the table on top, and whether their keys are 1 to that number.
fn survey(stack: &mut Stack<'_>) -> Result<(usize, bool), Raised> {
    let (mut count, mut largest, mut positions) = (0usize, 0.0, true);
    stack.push_nil();
    while stack.next(-2) {
        stack.pop(1);
        stack.spend(1, 0)?;
        count += 1;
        let key = stack.number(-1);
        positions &= stack.kind(-1) == Kind::Number && key > 0.0 && key.fract() == 0.0;
        largest = key.max(largest);
    }
    Ok((count, positions && largest == count as f64))
}

/// `cmsgpack.unpack(data)`: all values.
fn unpack(stack: &mut Stack<'_>) -> Outcome {
    unpack_some(stack, None, 0)
}

/// `cmsgpack.unpack_one(data [, offset])`: the offset of what follows and one value.
fn unpack_one(stack: &mut Stack<'_>) -> Outcome {
    let offset = optional_int(stack, 2)?;
    unpack_some(stack, Some(1), offset)
}

/// `cmsgpack.unpack_limit(data, limit [, offset])`: the offset of what follows and up to `limit` values.
fn unpack_limit(stack: &mut Stack<'_>) -> Outcome {
    let limit = stack.check_int(2)?;
    let offset = optional_int(stack, 3)?;
    unpack_some(stack, (limit != 0 || offset != 0).then_some(limit), offset)
}

fn optional_int(stack: &mut Stack<'_>, number: i32) -> Result<i32, Raised> {
    match stack.kind(number) {
        Kind::None | Kind::Nil => Ok(0),
        _ => stack.check_int(number),
    }
}

/// Pushes up to `limit` values, all without one; with a limit the offset of what follows comes first.
fn unpack_some(stack: &mut Stack<'_>, limit: Option<i32>, offset: i32) -> Outcome {
    let length = stack.check_bytes(1)?.len();
    stack.spend(length, length)?;
    let mut data = stack.context().take_scratch();
    data.extend_from_slice(stack.bytes(1));
    let Some(start) = usize::try_from(offset).ok().filter(|_| limit.is_none_or(|limit| limit >= 0))
    else {
        return Err(stack.error(format!(
            "Invalid request to unpack with offset of {offset} and limit of {length}."
        )));
    };
    if start > length {
        return Err(
            stack.error(format!("Start offset {offset} greater than input length {length}."))
        );
    }
    let base = stack.top();
    if limit.is_some() {
        stack.push_nil();
    }
    let mut reader = Reader { rest: &data[start..], held: length };
    let mut count = 0;
    while !reader.rest.is_empty() && limit.is_none_or(|limit| count < limit) {
        if !stack.reserve(4) {
            return Err(stack.error(
                "stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)",
            ));
        }
        unpack_value(stack, &mut reader)?;
        count += 1;
    }
    if limit.is_some() {
        let next = if reader.rest.is_empty() { -1.0 } else { (length - reader.rest.len()) as f64 };
        stack.push_number(next);
        stack.replace(base + 1);
        count += 1;
    }
    stack.context().put_scratch(data);
    Ok(count)
}

/// Packed data being read.
struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes of the copy that is read.
    held: usize,
}

/// Why packed data cannot be read.
enum UnpackError {
    Short,
    Format,
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], UnpackError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(UnpackError::Short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], UnpackError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    /// A big-endian length of `N` bytes.
    fn length<const N: usize>(&mut self) -> Result<usize, UnpackError> {
        Ok(self.array::<N>()?.into_iter().fold(0, |length, byte| length << 8 | usize::from(byte)))
    }
}

/// A value as its first bytes announce it.
enum Value<'a> {
    Nil,
    Boolean(bool),
    Number(f64),
    String(&'a [u8]),
    Array(usize),
    Map(usize),
}

fn read<'a>(reader: &mut Reader<'a>) -> Result<Value<'a>, UnpackError> {
    let tag = reader.array::<1>()?[0];
    Ok(match tag {
        0x00..=0x7f => Value::Number(f64::from(tag)),
        0x80..=0x8f => Value::Map(usize::from(tag & 0x0f)),
        0x90..=0x9f => Value::Array(usize::from(tag & 0x0f)),
        0xa0..=0xbf => Value::String(reader.bytes(usize::from(tag & 0x1f))?),
        0xc0 => Value::Nil,
        0xc2 | 0xc3 => Value::Boolean(tag == 0xc3),
        0xca => Value::Number(f64::from(f32::from_be_bytes(reader.array()?))),
        0xcb => Value::Number(f64::from_be_bytes(reader.array()?)),
        0xcc => Value::Number(f64::from(u8::from_be_bytes(reader.array()?))),
        0xcd => Value::Number(f64::from(u16::from_be_bytes(reader.array()?))),
        0xce => Value::Number(f64::from(u32::from_be_bytes(reader.array()?))),
        // The unsigned type, too, ends up in a signed integer of Lua's API.
        0xcf | 0xd3 => Value::Number(i64::from_be_bytes(reader.array()?) as f64),
        0xd0 => Value::Number(f64::from(i8::from_be_bytes(reader.array()?))),
        0xd1 => Value::Number(f64::from(i16::from_be_bytes(reader.array()?))),
        0xd2 => Value::Number(f64::from(i32::from_be_bytes(reader.array()?))),
        0xd9 => {
            let length = reader.length::<1>()?;
            Value::String(reader.bytes(length)?)
        }
        0xda => {
            let length = reader.length::<2>()?;
            Value::String(reader.bytes(length)?)
        }
        0xdb => {
            let length = reader.length::<4>()?;
            Value::String(reader.bytes(length)?)
        }
        0xdc => Value::Array(reader.length::<2>()?),
        0xdd => Value::Array(reader.length::<4>()?),
        0xde => Value::Map(reader.length::<2>()?),
        0xdf => Value::Map(reader.length::<4>()?),
        0xe0..=0xff => Value::Number(f64::from(tag as i8)),
        _ => return Err(UnpackError::Format),
    })
}

/// A table being filled.
enum Open {
    Array {
        filled: usize,
        length: usize,
    },
    /// Entries to come; whether a key waits on the stack for its value.
    Map {
        missing: usize,
        keyed: bool,
    },
}

/// Pushes one value. Tables under construction wait on the Lua stack, not on Rust's.
fn unpack_value(stack: &mut Stack<'_>, reader: &mut Reader<'_>) -> Result<(), Raised> {
    let mut open: Vec<Open> = Vec::new();
    loop {
        stack.spend(VALUE_UNITS, reader.held)?;
        let value = match read(reader) {
            Ok(value) => value,
            Err(UnpackError::Short) => return Err(stack.error("Missing bytes in input.")),
            Err(UnpackError::Format) => return Err(stack.error("Bad data format in input.")),
        };
        match value {
            Value::Nil => stack.push_nil(),
            Value::Boolean(value) => stack.push_bool(value),
            Value::Number(value) => stack.push_number(value),
            Value::String(bytes) => {
                stack.spend(bytes.len(), reader.held + bytes.len())?;
                stack.push_bytes(bytes);
            }
            Value::Array(length) => {
                open_table(stack, "in function mp_decode_to_lua_array")?;
                open.push(Open::Array { filled: 0, length });
            }
            Value::Map(missing) => {
                open_table(stack, "in function mp_decode_to_lua_hash")?;
                open.push(Open::Map { missing, keyed: false });
            }
        }
        if !matches!(value, Value::Array(1..) | Value::Map(1..)) {
            close(stack, &mut open)?;
        }
        if open.is_empty() {
            return Ok(());
        }
    }
}

fn open_table(stack: &mut Stack<'_>, place: &str) -> Result<(), Raised> {
    if !stack.reserve(4) {
        return Err(stack.error(format!("stack overflow ({place})")));
    }
    stack.push_table(0, 0);
    Ok(())
}

/// Puts the finished value on top into the table it belongs to, and so on while that finishes tables.
fn close(stack: &mut Stack<'_>, open: &mut Vec<Open>) -> Result<(), Raised> {
    // An empty table has just been opened and is finished already.
    if matches!(open.last(), Some(Open::Array { length: 0, .. } | Open::Map { missing: 0, .. })) {
        open.pop();
    }
    while let Some(table) = open.last_mut() {
        match table {
            Open::Array { filled, length } => {
                *filled += 1;
                stack.raw_set_at(-2, *filled as i32);
                if filled < length {
                    return Ok(());
                }
            }
            Open::Map { keyed, .. } if !*keyed => {
                *keyed = true;
                return Ok(());
            }
            Open::Map { missing, keyed } => {
                let key = stack.kind(-2);
                if key == Kind::Nil {
                    return Err(stack.error_bare("table index is nil"));
                }
                if key == Kind::Number && stack.number(-2).is_nan() {
                    return Err(stack.error_bare("table index is NaN"));
                }
                stack.raw_set(-3);
                *keyed = false;
                *missing -= 1;
                if *missing > 0 {
                    return Ok(());
                }
            }
        }
        open.pop();
    }
    Ok(())
}
