//! The `struct` library: packing values into bytes and back, driven by a format string.

use super::number::to_i64;
use super::stack::{Kind, Outcome, Raised, Stack, c_function};

/// Pushes the library's table.
pub(super) fn push_library(stack: &mut Stack<'_>) {
    stack.push_library(&[
        ("pack", c_function(pack)),
        ("unpack", c_function(unpack)),
        ("size", c_function(size)),
    ]);
}

/// The widest integer a format may ask for.
const INTEGER_SIZE_MAX: usize = 32;
/// What `!` alone aligns to.
const ALIGN_DEFAULT: usize = 8;

/// Work that a value read stands for: making a string of it may take long.
const VALUE_UNITS: usize = 1024;

/// A format string being read.
struct Format {
    text: Vec<u8>,
    position: usize,
    big_endian: bool,
    align: usize,
}

/// One item of a format.
#[derive(Clone, Copy)]
struct Item {
    option: u8,
    /// Bytes it takes; 0 where the data decides or where it takes none.
    size: usize,
}

impl Format {
    fn new(stack: &mut Stack<'_>) -> Result<Format, Raised> {
        let length = stack.check_bytes(1)?.len();
        stack.spend(length, length)?;
        let text = stack.bytes(1);
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(Format { text: text[..end].to_vec(), position: 0, big_endian: false, align: 1 })
    }

    /// The next item, `None` at the end.
    fn next(&mut self, stack: &mut Stack<'_>) -> Result<Option<Item>, Raised> {
        let Some(&option) = self.text.get(self.position) else { return Ok(None) };
        self.position += 1;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'f' => 4,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'c' => self.number(stack, 1)?,
            b'i' | b'I' => {
                let size = self.number(stack, 4)?;
                if size > INTEGER_SIZE_MAX {
                    return Err(stack.error(format!(
                        "integral size {size} is larger than limit of {INTEGER_SIZE_MAX}"
                    )));
                }
                size
            }
            _ => 0,
        };
        Ok(Some(Item { option, size }))
    }

    /// The number at the current position, or `default` if there is none.
    fn number(&mut self, stack: &mut Stack<'_>, default: usize) -> Result<usize, Raised> {
        let mut value = None::<i32>;
        while let Some(digit) = self.text.get(self.position).filter(|byte| byte.is_ascii_digit()) {
            let grown = value
                .unwrap_or(0)
                .checked_mul(10)
                .and_then(|value| value.checked_add(i32::from(digit - b'0')));
            let Some(grown) = grown else { return Err(stack.error("integral size overflow")) };
            value = Some(grown);
            self.position += 1;
        }
        Ok(value.map_or(default, |value| value as usize))
    }

    /// Bytes to skip before `item` at `offset`.
    fn padding(&self, offset: usize, item: Item) -> usize {
        if item.size == 0 || item.option == b'c' {
            return 0;
        }
        let align = item.size.min(self.align);
        // Sizes that are no power of two give what the same arithmetic gives in the reference.
        align.wrapping_sub(offset & (align - 1)) & (align - 1)
    }

    /// Obeys an option that stands for no data.
    fn control(&mut self, stack: &mut Stack<'_>, option: u8) -> Result<(), Raised> {
        match option {
            b' ' => {}
            b'>' => self.big_endian = true,
            b'<' => self.big_endian = false,
            b'!' => {
                let align = self.number(stack, ALIGN_DEFAULT)?;
                if !align.is_power_of_two() {
                    return Err(stack.error(format!("alignment {align} is not a power of 2")));
                }
                self.align = align;
            }
            _ => {
                let option = char::from(option);
                return Err(stack.arg_error(1, &format!("invalid format option '{option}'")));
            }
        }
        Ok(())
    }

    /// Puts little-endian bytes into the order of the format.
    fn order(&self, bytes: &mut [u8]) {
        if self.big_endian {
            bytes.reverse();
        }
    }
}

/// `struct.pack(format, …)`.
fn pack(stack: &mut Stack<'_>) -> Outcome {
    let mut format = Format::new(stack)?;
    // Errors about a missing value call it nil, as the reference has one above the arguments.
    stack.push_nil();
    let mut out = Vec::new();
    let mut argument = 2;
    while let Some(item) = format.next(stack)? {
        stack.make_room(&mut out, 2 * INTEGER_SIZE_MAX)?;
        out.resize(out.len() + format.padding(out.len(), item), 0);
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let value = bits_of(stack.check_number(argument)?);
                let mut bytes = [0; INTEGER_SIZE_MAX];
                bytes[..8].copy_from_slice(&value.to_le_bytes());
                format.order(&mut bytes[..item.size]);
                out.extend_from_slice(&bytes[..item.size]);
                argument += 1;
            }
            b'x' => out.push(0),
            b'f' => {
                let mut bytes = (stack.check_number(argument)? as f32).to_le_bytes();
                format.order(&mut bytes);
                out.extend_from_slice(&bytes);
                argument += 1;
            }
            b'd' => {
                let mut bytes = stack.check_number(argument)?.to_le_bytes();
                format.order(&mut bytes);
                out.extend_from_slice(&bytes);
                argument += 1;
            }
            b'c' | b's' => {
                let text = stack.check_bytes(argument)?;
                argument += 1;
                let size = if item.size == 0 { text.len() } else { item.size };
                if text.len() < size {
                    return Err(stack.arg_error(argument, "string too short"));
                }
                stack.make_room(&mut out, size)?;
                let text = stack.bytes(argument - 1);
                out.extend_from_slice(&text[..size]);
                if item.option == b's' {
                    out.push(0);
                }
            }
            option => format.control(stack, option)?,
        }
    }
    stack.push_built(&out)?;
    Ok(1)
}

/// The number as 64 bits, by the casts a C compiler makes.
fn bits_of(value: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    if value >= HALF { to_i64(value - HALF) as u64 ^ (1 << 63) } else { to_i64(value) as u64 }
}

/// `struct.unpack(format, data [, position])`.
fn unpack(stack: &mut Stack<'_>) -> Outcome {
    let mut format = Format::new(stack)?;
    let length = stack.check_bytes(2)?.len();
    stack.spend(length, length)?;
    let data = stack.bytes(2).to_vec();
    let start = if matches!(stack.kind(3), Kind::None | Kind::Nil) {
        1
    } else {
        to_i64(stack.check_number(3)?)
    };
    if start == 0 {
        return Err(stack.arg_error(3, "offset must be 1 or greater"));
    }
    // Negative positions are huge ones in the reference, and so beyond the data.
    let mut offset = usize::try_from(start.wrapping_sub(1)).unwrap_or(usize::MAX / 2);
    let mut results = 0;
    while let Some(item) = format.next(stack)? {
        stack.spend(VALUE_UNITS, 0)?;
        offset += format.padding(offset, item);
        let mut size = item.size;
        slice(stack, &data, offset, size)?;
        if !stack.reserve(2) {
            return Err(stack.error("stack overflow (too many results)"));
        }
        match item.option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                let bytes = slice(stack, &data, offset, size)?;
                let value = integer_of(&format, bytes, item.option.is_ascii_lowercase());
                stack.push_number(value);
                results += 1;
            }
            b'f' => {
                let mut bytes = [0; 4];
                bytes.copy_from_slice(slice(stack, &data, offset, size)?);
                format.order(&mut bytes);
                stack.push_number(f64::from(f32::from_le_bytes(bytes)));
                results += 1;
            }
            b'd' => {
                let mut bytes = [0; 8];
                bytes.copy_from_slice(slice(stack, &data, offset, size)?);
                format.order(&mut bytes);
                stack.push_number(f64::from_le_bytes(bytes));
                results += 1;
            }
            b'c' => {
                if size == 0 {
                    if results == 0 || !stack.is_number(-1) {
                        return Err(stack.error("format 'c0' needs a previous size"));
                    }
                    size = bits_of(stack.number(-1)) as usize;
                    stack.pop(1);
                    results -= 1;
                }
                let bytes = slice(stack, &data, offset, size)?;
                stack.spend(size, data.len() + size)?;
                stack.push_bytes(bytes);
                results += 1;
            }
            b's' => {
                let rest = data.get(offset..).unwrap_or_default();
                let Some(end) = rest.iter().position(|&byte| byte == 0) else {
                    return Err(stack.error("unfinished string in data"));
                };
                stack.spend(end, data.len() + end)?;
                stack.push_bytes(&rest[..end]);
                results += 1;
                size = end + 1;
            }
            b'x' => {}
            option => format.control(stack, option)?,
        }
        offset += size;
    }
    stack.push_number((offset + 1) as f64);
    Ok(results + 1)
}

fn slice<'a>(
    stack: &mut Stack<'_>,
    data: &'a [u8],
    offset: usize,
    size: usize,
) -> Result<&'a [u8], Raised> {
    let bytes = offset.checked_add(size).and_then(|end| data.get(offset..end));
    bytes.ok_or_else(|| stack.arg_error(2, "data string too short"))
}

/// The integer in `bytes`; of more than eight the lowest eight count.
fn integer_of(format: &Format, bytes: &[u8], signed: bool) -> f64 {
    let push = |value: u64, byte: &u8| (value << 8) | u64::from(*byte);
    let value = if format.big_endian {
        bytes.iter().fold(0, push)
    } else {
        bytes.iter().rev().fold(0, push)
    };
    if !signed {
        return value as f64;
    }
    let sign = u64::MAX.wrapping_shl((bytes.len() as u32).wrapping_mul(8).wrapping_sub(1));
    (if value & sign != 0 { value | sign } else { value }) as i64 as f64
}

/// `struct.size(format)`.
fn size(stack: &mut Stack<'_>) -> Outcome {
    let mut format = Format::new(stack)?;
    let mut total = 0usize;
    while let Some(item) = format.next(stack)? {
        stack.spend(VALUE_UNITS / 64, 0)?;
        total += format.padding(total, item);
        match item.option {
            b's' => return Err(stack.arg_error(1, "option 's' has no fixed size")),
            b'c' if item.size == 0 => {
                return Err(stack.arg_error(1, "option 'c0' has no fixed size"));
            }
            option if !option.is_ascii_alphanumeric() => format.control(stack, option)?,
            _ => {}
        }
        total += item.size;
    }
    stack.push_number(total as f64);
    Ok(1)
}
