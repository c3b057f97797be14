//! The `cjson` library: JSON with the settings and the quirks of the one in Redis 7.0.
//!
//! An empty table is `{}`, numbers have 14 digits, slashes are escaped, and the order of keys is that of the Lua table.

mod decode;
mod encode;
mod token;

use std::ffi::c_int;

use mlua::ffi;

use super::failure::short_text;
use super::number::to_i64;
use super::stack::{Data, Kind, Outcome, Raised, Stack, c_function};

/// The settings of one instance; `cjson.new` makes more. They outlive the script that changes them.
#[derive(Debug, Clone, Copy)]
struct Config {
    /// Write arrays with too many holes as objects instead of refusing them.
    sparse_convert: i32,
    /// An array with more than this many times its items in length is sparse; 0 for never.
    sparse_ratio: i32,
    /// Up to this length no array is sparse.
    sparse_safe: i32,
    encode_depth_max: i32,
    decode_depth_max: i32,
    precision: i32,
    /// Kept for those who ask; the buffer is always kept.
    keep_buffer: i32,
    /// What to do with infinities and NaN: 0 refuse, 1 write, 2 write null.
    encode_invalid: i32,
    /// Whether to read infinities, NaN and hexadecimal numbers.
    decode_invalid: i32,
}

const DEFAULT: Config = Config {
    sparse_convert: 0,
    sparse_ratio: 2,
    sparse_safe: 10,
    encode_depth_max: 1000,
    decode_depth_max: 1000,
    precision: 14,
    keep_buffer: 1,
    encode_invalid: 0,
    decode_invalid: 1,
};

/// Nesting that no setting can exceed, since encoder and decoder recurse.
const DEPTH_CEILING: i32 = 2000;

/// Pushes the library's table, with settings of its own.
pub(super) fn push_library(stack: &mut Stack<'_>) {
    let functions = [
        ("encode", c_function(encode::encode)),
        ("decode", c_function(decode::decode)),
        ("encode_sparse_array", c_function(encode_sparse_array)),
        ("encode_max_depth", c_function(encode_max_depth)),
        ("decode_max_depth", c_function(decode_max_depth)),
        ("encode_number_precision", c_function(encode_number_precision)),
        ("encode_keep_buffer", c_function(encode_keep_buffer)),
        ("encode_invalid_numbers", c_function(encode_invalid_numbers)),
        ("decode_invalid_numbers", c_function(decode_invalid_numbers)),
        ("new", c_function(new)),
    ];
    stack.push_data(DEFAULT);
    let settings = stack.top();
    stack.push_table(0, 0);
    for (name, function) in functions {
        stack.push_copy(settings);
        stack.push_function(function, 1);
        stack.raw_set_field(-2, name);
    }
    stack.push_null();
    stack.raw_set_field(-2, "null");
    for (name, text) in [("_NAME", "cjson"), ("_VERSION", "2.1.0")] {
        stack.push_bytes(text);
        stack.raw_set_field(-2, name);
    }
    stack.replace(settings);
}

/// `cjson.new()`: another instance.
fn new(stack: &mut Stack<'_>) -> Outcome {
    push_library(stack);
    Ok(1)
}

/// The settings of the running function's instance.
fn config(stack: &Stack<'_>) -> Config {
    settings(stack).map_or(DEFAULT, |data| data.get())
}

fn settings<'a>(stack: &'a Stack<'_>) -> Option<Data<'a, Config>> {
    stack.data::<Config>(ffi::lua_upvalueindex(1))
}

/// Changes the settings of the running function's instance.
fn change(stack: &mut Stack<'_>, edit: impl FnOnce(&mut Config)) {
    let mut config = config(stack);
    edit(&mut config);
    if let Some(data) = settings(stack) {
        data.set(config);
    }
}

fn expect_at_most(stack: &mut Stack<'_>, count: c_int) -> Result<(), Raised> {
    if stack.top() > count {
        return Err(stack.arg_error(count + 1, "found too many arguments"));
    }
    Ok(())
}

/// Reads the integer setting in argument `number`, if it is given, and pushes the value in force.
fn integer_option(
    stack: &mut Stack<'_>,
    number: c_int,
    (low, high): (i32, i32),
    field: fn(&mut Config) -> &mut i32,
) -> Result<(), Raised> {
    if !matches!(stack.kind(number), Kind::None | Kind::Nil) {
        let value = to_i64(stack.check_number(number)?) as i32;
        if value < low || value > high {
            // Always the first argument, whichever it was: so says the reference.
            return Err(stack.arg_error(1, &format!("expected integer between {low} and {high}")));
        }
        change(stack, |config| *field(config) = value);
    }
    let mut config = config(stack);
    stack.push_number(f64::from(*field(&mut config)));
    Ok(())
}

/// Reads the setting in argument `number`, a boolean or one of `names`, and pushes the value in force.
fn choice_option(
    stack: &mut Stack<'_>,
    number: c_int,
    names: &[&str],
    field: fn(&mut Config) -> &mut i32,
) -> Result<(), Raised> {
    match stack.kind(number) {
        Kind::None | Kind::Nil => {}
        Kind::Boolean => {
            let value = i32::from(stack.truth(number));
            change(stack, |config| *field(config) = value);
        }
        _ => {
            let name = stack.check_bytes(number)?;
            let Some(value) = names.iter().position(|known| known.as_bytes() == name) else {
                let name = short_text(name);
                return Err(stack.arg_error(number, &format!("invalid option '{name}'")));
            };
            change(stack, |config| *field(config) = value as i32);
        }
    }
    let mut config = config(stack);
    match *field(&mut config) {
        value @ (0 | 1) => stack.push_bool(value == 1),
        value => stack.push_bytes(names.get(value as usize).copied().unwrap_or_default()),
    }
    Ok(())
}

const SWITCH: [&str; 2] = ["off", "on"];

fn encode_sparse_array(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 3)?;
    while stack.top() < 3 {
        stack.push_nil();
    }
    choice_option(stack, 1, &SWITCH, |config| &mut config.sparse_convert)?;
    integer_option(stack, 2, (0, i32::MAX), |config| &mut config.sparse_ratio)?;
    integer_option(stack, 3, (0, i32::MAX), |config| &mut config.sparse_safe)?;
    Ok(3)
}

fn encode_max_depth(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    integer_option(stack, 1, (1, i32::MAX), |config| &mut config.encode_depth_max)?;
    Ok(1)
}

fn decode_max_depth(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    integer_option(stack, 1, (1, i32::MAX), |config| &mut config.decode_depth_max)?;
    Ok(1)
}

fn encode_number_precision(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    integer_option(stack, 1, (1, 14), |config| &mut config.precision)?;
    Ok(1)
}

fn encode_keep_buffer(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    choice_option(stack, 1, &SWITCH, |config| &mut config.keep_buffer)?;
    Ok(1)
}

fn encode_invalid_numbers(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    choice_option(stack, 1, &["off", "on", "null"], |config| &mut config.encode_invalid)?;
    Ok(1)
}

fn decode_invalid_numbers(stack: &mut Stack<'_>) -> Outcome {
    expect_at_most(stack, 1)?;
    choice_option(stack, 1, &SWITCH, |config| &mut config.decode_invalid)?;
    Ok(1)
}
