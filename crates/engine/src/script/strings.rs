//! `string.find`, `match`, `gmatch` and `gsub` over our own [`super::pattern`] matcher.
#![allow(
    unsafe_code,
    reason = "reads strings that stay on the Lua stack, and calls replacement functions from a C function"
)]

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use super::number;
use super::pattern::{Capture, Captures, Matcher};
use super::stack::{Kind, Outcome, Raised, Stack, c_function, leave, protect};

/// Characters that make a text a pattern.
const SPECIALS: &[u8] = b"^$*+?.([%-";

/// `string.find(subject, pattern [, init [, plain]])`.
pub(super) fn find(stack: &mut Stack<'_>) -> Outcome {
    // SAFETY: nothing below takes the two arguments off the stack.
    let (subject, pattern) = unsafe { (text_argument(stack, 1)?, text_argument(stack, 2)?) };
    let init = start_position(stack, subject.len())?;
    let up_to_zero = pattern.split(|&byte| byte == 0).next().unwrap_or_default();
    if stack.truth(4) || !up_to_zero.iter().any(|byte| SPECIALS.contains(byte)) {
        // Linear in both lengths, so there is no need to check in between.
        return match memchr::memmem::find(&subject[init..], pattern) {
            Some(at) => {
                stack.push_number((init + at + 1) as f64);
                stack.push_number((init + at + pattern.len()) as f64);
                Ok(2)
            }
            None => not_found(stack),
        };
    }
    let Some(Match { captures, whole }) = search(stack, subject, pattern, init)? else {
        return not_found(stack);
    };
    stack.push_number((whole.0 + 1) as f64);
    stack.push_number(whole.1 as f64);
    push_captures(stack, &captures, captures.count(), subject, whole)?;
    Ok(2 + captures.count() as c_int)
}

/// `string.match(subject, pattern [, init])`.
pub(super) fn find_captures(stack: &mut Stack<'_>) -> Outcome {
    // SAFETY: nothing below takes the two arguments off the stack.
    let (subject, pattern) = unsafe { (text_argument(stack, 1)?, text_argument(stack, 2)?) };
    let init = start_position(stack, subject.len())?;
    match search(stack, subject, pattern, init)? {
        Some(found) => push_all_captures(stack, &found.captures, subject, found.whole),
        None => not_found(stack),
    }
}

fn not_found(stack: &mut Stack<'_>) -> Outcome {
    stack.push_nil();
    Ok(1)
}

/// Argument `number` as text.
///
/// # Safety
/// The argument must stay on the stack for as long as the text is used.
unsafe fn text_argument<'s>(stack: &mut Stack<'_>, number: c_int) -> Result<&'s [u8], Raised> {
    stack.check_bytes(number)?;
    // SAFETY: by contract.
    Ok(unsafe { stack.pinned(number) })
}

/// Where the search begins by the third argument, which counts from 1, or from the end if it is negative.
fn start_position(stack: &mut Stack<'_>, length: usize) -> Result<usize, Raised> {
    if matches!(stack.kind(3), Kind::None | Kind::Nil) {
        return Ok(0);
    }
    let position = number::to_i64(stack.check_number(3)?);
    let from_start =
        if position < 0 { position.saturating_add(length as i64 + 1) } else { position };
    Ok(usize::try_from(from_start.saturating_sub(1)).unwrap_or(0).min(length))
}

/// A match: its captures, where it begins and where it ends.
struct Match {
    captures: Captures,
    whole: (usize, usize),
}

/// The first match at or after `init`; only there if the pattern is anchored.
fn search(
    stack: &mut Stack<'_>,
    subject: &[u8],
    pattern: &[u8],
    init: usize,
) -> Result<Option<Match>, Raised> {
    let anchored = pattern.strip_prefix(b"^");
    let mut matcher = Matcher::new(stack, subject, anchored.unwrap_or(pattern))?;
    let found = match anchored {
        Some(_) => matcher.match_at(stack, init)?.map(|end| (init, end)),
        None => matcher.search(stack, init)?,
    };
    Ok(found.map(|whole| Match { captures: matcher.captures, whole }))
}

/// Pushes all captures, or the whole match where there are none.
fn push_all_captures(
    stack: &mut Stack<'_>,
    captures: &Captures,
    subject: &[u8],
    whole: (usize, usize),
) -> Outcome {
    let count = captures.count().max(1);
    push_captures(stack, captures, count, subject, whole)?;
    Ok(count as c_int)
}

fn push_captures(
    stack: &mut Stack<'_>,
    captures: &Captures,
    count: usize,
    subject: &[u8],
    whole: (usize, usize),
) -> Result<(), Raised> {
    if !stack.reserve(count as c_int) {
        return Err(stack.error("stack overflow (too many captures)"));
    }
    for index in 0..count {
        match captures.get(index, subject, whole) {
            Ok(Capture::Text(text)) => {
                stack.spend(text.len(), text.len())?;
                stack.push_bytes(text);
            }
            Ok(Capture::Position(position)) => stack.push_number(position as f64),
            Err(problem) => return Err(stack.error(problem)),
        }
    }
    Ok(())
}

/// `string.gmatch(subject, pattern)`: an iterator, whose upvalues are the two and where it goes on.
pub(super) fn gmatch(stack: &mut Stack<'_>) -> Outcome {
    stack.check_bytes(1)?;
    stack.check_bytes(2)?;
    stack.truncate(2);
    stack.push_data(0usize);
    stack.push_function(c_function(next_match), 3);
    Ok(1)
}

fn next_match(stack: &mut Stack<'_>) -> Outcome {
    let upvalue = ffi::lua_upvalueindex;
    // SAFETY: the upvalues live as long as the running function.
    let (subject, pattern) = unsafe { (stack.pinned(upvalue(1)), stack.pinned(upvalue(2))) };
    let from = stack.data::<usize>(upvalue(3)).map_or(0, |from| from.get());
    let mut matcher = Matcher::new(stack, subject, pattern)?;
    let Some((start, end)) = matcher.search(stack, from)? else { return Ok(0) };
    if let Some(next) = stack.data::<usize>(upvalue(3)) {
        // An empty match goes on at the next byte.
        next.set(if end == start { end + 1 } else { end });
    }
    push_all_captures(stack, &matcher.captures, subject, (start, end))
}

/// Where the parts of a running `gsub` are on its stack.
const SUBJECT: c_int = 1;
const PATTERN: c_int = 2;
const REPLACEMENT: c_int = 3;
const STATE: c_int = 4;
const OUTPUT: c_int = 5;

/// How far a `gsub` has come.
#[derive(Clone, Copy)]
struct Gsub {
    at: usize,
    count: i64,
    max: i64,
    anchored: bool,
    /// The match whose replacement is being computed.
    found: (usize, usize),
    /// Bytes written to the output, and bytes it has room for.
    written: usize,
    capacity: usize,
}

/// `string.gsub(subject, pattern, replacement [, max])`.
///
/// The replacement may be a function or a table with metamethods, which may raise. So this frame owns nothing: what a
/// `gsub` needs between two calls lies on the Lua stack.
pub(super) unsafe extern "C-unwind" fn gsub(l: *mut lua_State) -> c_int {
    // SAFETY: called by Lua; the frame owns nothing, and leaves the stack as the steps below expect it.
    unsafe {
        leave(l, protect(l, begin));
        loop {
            match leave(l, protect(l, replace_until_call)) {
                0 => break,
                _ if ffi::lua_type(l, REPLACEMENT) == ffi::LUA_TTABLE => {
                    ffi::lua_gettable_(l, REPLACEMENT);
                }
                // The function lies below its arguments.
                arguments => ffi::lua_call(l, arguments, 1),
            }
            leave(l, protect(l, take_replacement));
        }
        leave(l, protect(l, finish))
    }
}

fn begin(stack: &mut Stack<'_>) -> Outcome {
    let length = stack.check_bytes(SUBJECT)?.len();
    let pattern = stack.check_bytes(PATTERN)?;
    let anchored = pattern.first() == Some(&b'^');
    let max = match stack.kind(4) {
        Kind::None | Kind::Nil => length as i64 + 1,
        _ => i64::from(stack.check_int(4)?),
    };
    match stack.kind(REPLACEMENT) {
        // A number becomes text.
        Kind::Number | Kind::String => {
            stack.text(REPLACEMENT);
        }
        Kind::Function | Kind::Table => {}
        _ => return Err(stack.arg_error(3, "string/function/table expected")),
    }
    stack.truncate(3);
    let state = Gsub { at: 0, count: 0, max, anchored, found: (0, 0), written: 0, capacity: 0 };
    stack.push_data(state);
    stack.push_block(1);
    Ok(0)
}

fn state(stack: &Stack<'_>) -> Gsub {
    stack.data::<Gsub>(STATE).expect("the state lies where `begin` has put it").get()
}

fn save(stack: &Stack<'_>, state: Gsub) {
    if let Some(data) = stack.data::<Gsub>(STATE) {
        data.set(state);
    }
}

/// Goes on until a replacement has to be asked for; returns how many arguments it takes, 0 at the end.
fn replace_until_call(stack: &mut Stack<'_>) -> Outcome {
    // SAFETY: both stay on the stack until `finish`.
    let (subject, pattern) = unsafe { (stack.pinned(SUBJECT), stack.pinned(PATTERN)) };
    let mut state = state(stack);
    let pattern = &pattern[usize::from(state.anchored)..];
    let mut matcher = Matcher::new(stack, subject, pattern)?;
    while state.count < state.max {
        let found = matcher.match_at(stack, state.at)?;
        if let Some(end) = found {
            state.count += 1;
            state.found = (state.at, end);
            match stack.kind(REPLACEMENT) {
                Kind::String => expand(stack, &mut state, &matcher.captures, subject)?,
                Kind::Table => {
                    save(stack, state);
                    push_captures(stack, &matcher.captures, 1, subject, state.found)?;
                    return Ok(1);
                }
                _ => {
                    save(stack, state);
                    stack.push_copy(REPLACEMENT);
                    return push_all_captures(stack, &matcher.captures, subject, state.found);
                }
            }
        } else {
            state.found = (state.at, state.at);
        }
        if !advance(stack, &mut state, subject)? {
            break;
        }
    }
    save(stack, state);
    Ok(0)
}

/// Goes past the last match, or past a byte that stays; false at the end.
fn advance(stack: &mut Stack<'_>, state: &mut Gsub, subject: &[u8]) -> Result<bool, Raised> {
    if state.found.1 > state.at {
        state.at = state.found.1;
    } else if let Some(byte) = subject.get(state.at) {
        append(stack, state, std::slice::from_ref(byte))?;
        state.at += 1;
    } else {
        return Ok(false);
    }
    Ok(!state.anchored)
}

/// Writes the replacement text with `%0` to `%9` filled in.
fn expand(
    stack: &mut Stack<'_>,
    state: &mut Gsub,
    captures: &Captures,
    subject: &[u8],
) -> Result<(), Raised> {
    // SAFETY: it stays on the stack until `finish`.
    let mut rest = unsafe { stack.pinned(REPLACEMENT) };
    while let Some(at) = memchr::memchr(b'%', rest) {
        append(stack, state, &rest[..at])?;
        // A sign at the very end stands before the zero byte that ends a C string.
        let sign = rest.get(at + 1).copied().unwrap_or(0);
        rest = rest.get(at + 2..).unwrap_or_default();
        match sign {
            b'0' => append(stack, state, &subject[state.found.0..state.found.1])?,
            b'1'..=b'9' => match captures.get(usize::from(sign - b'1'), subject, state.found) {
                Ok(Capture::Text(text)) => append(stack, state, text)?,
                Ok(Capture::Position(position)) => {
                    append(stack, state, itoa::Buffer::new().format(position).as_bytes())?;
                }
                Err(problem) => return Err(stack.error(problem)),
            },
            other => append(stack, state, &[other])?,
        }
    }
    append(stack, state, rest)
}

/// Writes what the function or table gave, which is on top: nil and false keep the match as it is.
fn take_replacement(stack: &mut Stack<'_>) -> Outcome {
    // SAFETY: it stays on the stack until `finish`.
    let subject = unsafe { stack.pinned(SUBJECT) };
    let mut state = state(stack);
    match stack.kind(-1) {
        Kind::Nil | Kind::Boolean if !stack.truth(-1) => {
            let kept = &subject[state.found.0..state.found.1];
            append(stack, &mut state, kept)?;
        }
        Kind::String | Kind::Number => {
            stack.text(-1);
            // SAFETY: it stays on top while it is copied: growing the output puts a value above it and moves that down.
            let text = unsafe { stack.pinned(stack.top()) };
            append(stack, &mut state, text)?;
        }
        kind => {
            let name = kind.name();
            return Err(stack.error(format!("invalid replacement value (a {name})")));
        }
    }
    if !advance(stack, &mut state, subject)? {
        // The loop ends here: nothing is left to match.
        state.max = state.count;
    }
    save(stack, state);
    stack.truncate(OUTPUT);
    Ok(0)
}

/// Pushes the new text and the number of replacements.
fn finish(stack: &mut Stack<'_>) -> Outcome {
    // SAFETY: it is on the stack.
    let subject = unsafe { stack.pinned(SUBJECT) };
    let mut state = state(stack);
    let rest = &subject[state.at..];
    append(stack, &mut state, rest)?;
    save(stack, state);
    stack.spend(state.written, state.written)?;
    // SAFETY: so many bytes of the block have been written, and it stays on the stack while they are copied.
    let text = unsafe { stack.block(OUTPUT, state.written) };
    stack.push_bytes(text);
    stack.push_number(state.count as f64);
    Ok(2)
}

/// Appends `bytes` to the output, which grows as needed.
fn append(stack: &mut Stack<'_>, state: &mut Gsub, bytes: &[u8]) -> Result<(), Raised> {
    stack.spend(bytes.len(), 0)?;
    let needed = state.written + bytes.len();
    if needed > state.capacity {
        let capacity = needed.max(state.capacity * 2).max(64);
        // The old block, the new one and the string that is made of it in the end.
        stack.spend(state.written, capacity)?;
        stack.push_block(capacity);
        // SAFETY: the new block is on top and has room for what the old one holds.
        unsafe {
            let written = stack.block(OUTPUT, state.written);
            stack.write_block(-1, 0, written);
        }
        stack.replace(OUTPUT);
        state.capacity = capacity;
    }
    // SAFETY: the block has room.
    unsafe { stack.write_block(OUTPUT, state.written, bytes) };
    state.written = needed;
    Ok(())
}
