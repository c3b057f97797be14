//! What is nested deeper than any stack: Lua calls, tables, JSON, code.

use super::{Victim, assert_error};
use crate::wire::Frame;

/// Runs a script that must end with an error of its own.
#[track_caller]
fn check(victim: &mut Victim, body: &str, expected: &str) {
    let answer = victim.honest.call(&["EVAL", body, "0"]);
    assert_error(&answer, expected);
    victim.assert_sound();
}

#[test]
fn endless_recursion_is_an_error() {
    let mut victim = Victim::start();
    for (body, expected) in [
        ("local function f() return 1 + f() end return f()", "stack overflow"),
        (
            "local function f() local ok, e = pcall(f) if not ok then error(e, 0) end end f()",
            "stack overflow",
        ),
        ("local function f() coroutine.wrap(f)() end f()", "C stack overflow"),
        ("local f f = function() return (string.gsub('x', 'x', f)) end f()", "stack overflow"),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring return tostring(t)",
            "stack overflow",
        ),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k + 1] end return t[1]",
            "stack overflow",
        ),
        (
            "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
            "loop in gettable",
        ),
        ("local function f() table.sort({1, 2}, f) end f()", "stack overflow"),
        ("return unpack({}, 1, 1e7)", "too many results to unpack"),
    ] {
        check(&mut victim, body, expected);
    }
}

#[test]
fn tables_nested_too_deep_are_refused_as_results() {
    let mut victim = Victim::start();
    for body in [
        "local t = {} for i = 1, 1e5 do t = {t} end return t",
        "local t = {} t[1] = t return t",
        "local t = {} t.map = {} t.map.map = t redis.setresp(3) t = {map = {[1] = t}} for i = 1, 1e5 do t = {map = {[1] = t}} end return t",
    ] {
        let answer = victim.honest.call(&["EVAL", body, "0"]).to_string();
        assert!(answer.contains("reached lua stack limit"), "{answer:.200}");
        victim.assert_sound();
    }
}

#[test]
fn json_and_messagepack_nested_too_deep_are_refused() {
    let mut victim = Victim::start();
    for (body, expected) in [
        ("local t = {} for i = 1, 1e5 do t = {t} end return cjson.encode(t)", "excessive nesting"),
        ("local t = {} t[1] = t return cjson.encode(t)", "excessive nesting"),
        ("return cjson.decode(string.rep('[', 1e6))", "Found too many nested data structures"),
        (
            "return cjson.decode(string.rep('{\"a\":', 1e6))",
            "Found too many nested data structures",
        ),
        (
            "cjson.encode_max_depth(1e9) local t = {} for i = 1, 1e5 do t = {t} end return cjson.encode(t)",
            "excessive nesting",
        ),
        (
            "cjson.decode_max_depth(1e9) return cjson.decode(string.rep('[', 1e6))",
            "Found too many nested data structures",
        ),
        ("return cmsgpack.unpack(string.rep('\\145', 1e6))", ""),
    ] {
        check(&mut victim, body, expected);
    }
    let body = "local t = {} for i = 1, 1e5 do t = {t} end return #cmsgpack.pack(t)";
    assert!(matches!(victim.honest.call(&["EVAL", body, "0"]), Frame::Int(1..100)));
}

#[test]
fn code_nested_too_deep_is_refused() {
    let mut victim = Victim::start();
    let n = 100_000;
    for body in [
        format!("return {}1{}", "(".repeat(n), ")".repeat(n)),
        format!("return {}{}", "{".repeat(n), "}".repeat(n)),
        "do ".repeat(n),
        format!("return {}1", "not ".repeat(n)),
        format!("return {}1", "1 ..".repeat(n)),
        "if x then ".repeat(n),
        "function f() ".repeat(n),
    ] {
        check(&mut victim, &body, "Error compiling script");
    }
}

#[test]
fn patterns_too_deep_are_refused() {
    let mut victim = Victim::start();
    for (body, expected) in [
        ("return string.find('x', string.rep('(', 1e5))", "pattern too complex"),
        ("return string.find(string.rep('x', 1e6), string.rep('x?', 1e5))", "pattern too complex"),
        ("return string.find('x', string.rep('(', 100))", "too many captures"),
        ("return string.find('x', string.rep('[', 1e5))", "malformed pattern"),
        ("return string.find('x', '%')", "malformed pattern"),
    ] {
        check(&mut victim, body, expected);
    }
}
