//! The `bit` library: operations on 32-bit integers.

use super::stack::{Outcome, Raised, Stack, c_function};

/// Pushes the library's table.
pub(super) fn push_library(stack: &mut Stack<'_>) {
    stack.push_library(&[
        ("tobit", c_function(tobit)),
        ("bnot", c_function(bnot)),
        ("band", c_function(band)),
        ("bor", c_function(bor)),
        ("bxor", c_function(bxor)),
        ("lshift", c_function(lshift)),
        ("rshift", c_function(rshift)),
        ("arshift", c_function(arshift)),
        ("rol", c_function(rol)),
        ("ror", c_function(ror)),
        ("bswap", c_function(bswap)),
        ("tohex", c_function(tohex)),
    ]);
}

/// Argument `number` modulo 2^32, rounded to the nearest even integer.
fn check_bits(stack: &mut Stack<'_>, number: i32) -> Result<u32, Raised> {
    /// 2^52 + 2^51: adding it leaves the integer part of a double in its low bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    Ok((stack.check_number(number)? + SHIFT).to_bits() as u32)
}

fn push_bits(stack: &mut Stack<'_>, bits: u32) -> Outcome {
    stack.push_number(f64::from(bits as i32));
    Ok(1)
}

fn tobit(stack: &mut Stack<'_>) -> Outcome {
    let bits = check_bits(stack, 1)?;
    push_bits(stack, bits)
}

fn bnot(stack: &mut Stack<'_>) -> Outcome {
    let bits = check_bits(stack, 1)?;
    push_bits(stack, !bits)
}

fn bswap(stack: &mut Stack<'_>) -> Outcome {
    let bits = check_bits(stack, 1)?;
    push_bits(stack, bits.swap_bytes())
}

fn band(stack: &mut Stack<'_>) -> Outcome {
    fold(stack, |left, right| left & right)
}

fn bor(stack: &mut Stack<'_>) -> Outcome {
    fold(stack, |left, right| left | right)
}

fn bxor(stack: &mut Stack<'_>) -> Outcome {
    fold(stack, |left, right| left ^ right)
}

fn fold(stack: &mut Stack<'_>, combine: fn(u32, u32) -> u32) -> Outcome {
    let mut bits = check_bits(stack, 1)?;
    for number in 2..=stack.top() {
        bits = combine(bits, check_bits(stack, number)?);
    }
    push_bits(stack, bits)
}

fn lshift(stack: &mut Stack<'_>) -> Outcome {
    shift(stack, u32::wrapping_shl)
}

fn rshift(stack: &mut Stack<'_>) -> Outcome {
    shift(stack, u32::wrapping_shr)
}

fn arshift(stack: &mut Stack<'_>) -> Outcome {
    shift(stack, |bits, count| (bits as i32).wrapping_shr(count) as u32)
}

fn rol(stack: &mut Stack<'_>) -> Outcome {
    shift(stack, |bits, count| bits.rotate_left(count & 31))
}

fn ror(stack: &mut Stack<'_>) -> Outcome {
    shift(stack, |bits, count| bits.rotate_right(count & 31))
}

/// Only the low five bits of the count matter, which is what the wrapping operations look at.
fn shift(stack: &mut Stack<'_>, shift: fn(u32, u32) -> u32) -> Outcome {
    let bits = check_bits(stack, 1)?;
    let count = check_bits(stack, 2)?;
    push_bits(stack, shift(bits, count))
}

/// `bit.tohex(x [, digits])`: upper case for a negative number of digits.
fn tohex(stack: &mut Stack<'_>) -> Outcome {
    let bits = check_bits(stack, 1)?;
    let digits = if stack.top() < 2 { 8 } else { check_bits(stack, 2)? as i32 };
    let text = if digits < 0 { format!("{bits:08X}") } else { format!("{bits:08x}") };
    let shown = (digits.unsigned_abs() as usize).min(8);
    stack.push_bytes(&text[8 - shown..]);
    Ok(1)
}
