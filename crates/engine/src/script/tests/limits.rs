//! What hostile scripts can and cannot do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{ToyEngine, eval, eval_with, render, run};
use crate::script::{Limits, Scripts, Sha};

const SMALL: Limits = Limits { memory: 4 << 20, instructions: 1000 };

/// Runs `body` with an engine that stops it at the third look, and checks that it ends with that verdict.
#[track_caller]
fn is_stopped(body: &str) {
    let mut scripts = Scripts::new(SMALL);
    let mut toy = ToyEngine::impatient(2);
    let answer = render(&run(&mut scripts, body, &mut toy));
    assert!(
        answer.starts_with(
            "-ERR Script killed by user with SCRIPT KILL... script: <sha>, on @user_script:"
        ),
        "{answer}"
    );
    assert_eq!(render(&run(&mut scripts, "return KEYS[1]", &mut ToyEngine::default())), "\"k1\"");
}

#[test]
fn endless_loops_are_stopped() {
    is_stopped("while true do end");
    is_stopped("repeat local x = ('x'):rep(10) until false");
    is_stopped("local function f() return f() end f()");
    is_stopped("for i = 1, 1e18 do end");
    is_stopped("table.sort({1,2,3,4,5}, function() while true do end end)");
    is_stopped("string.gsub('x', 'x', function() while true do end end)");
    is_stopped("return setmetatable({}, {__index = function() while true do end end}).x");
}

#[test]
fn a_stopped_script_cannot_catch_its_end() {
    is_stopped("while true do pcall(function() while true do end end) end");
    is_stopped("pcall(function() while true do end end) return 1");
    is_stopped("local f f = function() while true do end end while true do xpcall(f, f) end");
    is_stopped("xpcall(function() while true do end end, function() while true do end end)");
    is_stopped("local function f() pcall(f) while true do end end f()");
    is_stopped("while true do redis.pcall('ping') end");
}

#[test]
fn a_stopped_script_does_nothing_more() {
    for body in [
        // Stopped by a check inside a native function, by one after a command, and by the hook.
        "local s = ('x'):rep(65000) while true do pcall(cmsgpack.pack, s) redis.pcall('rpush', 'l', 1) end",
        "while true do pcall(redis.call, 'rpush', 'l', 1) end",
        "local function f() for i = 1, 1000 do end end while true do pcall(f) pcall(redis.call, 'rpush', 'l', 1) end",
        "while true do coroutine.wrap(function() pcall(redis.call, 'rpush', 'l', 1) end)() end",
    ] {
        let mut scripts = Scripts::new(SMALL);
        let mut toy = ToyEngine::impatient(5);
        let answer = render(&run(&mut scripts, body, &mut toy));
        assert!(answer.starts_with("-ERR Script killed by user"), "{body}: {answer}");
        assert_eq!((toy.asked, toy.calls_after_stop), (6, 0), "{body}");
        assert_eq!(scripts.hook_count(), 1, "{body}");
    }
}

#[test]
fn a_coroutine_whose_error_load_swallows_is_not_touched_any_more() {
    // The first one dies after the second took its place in the registry, is collected, and its block gets a new owner.
    let answer = eval(
        "local function mk()
           return coroutine.wrap(function() coroutine.wrap(function() end)() error('x') end)
         end
         load(function() return mk()() end)
         collectgarbage() collectgarbage()
         local t, sums = {}, {}
         local function sum(s) local n = 0 for i = 1, #s do n = n + i * s:byte(i) end return n end
         for i = 1, 40 do for n = 134, 161 do t[#t + 1] = ('A'):rep(n) .. ('%06d'):format(i * 1000 + n) end end
         for i, s in ipairs(t) do sums[i] = sum(s) end
         local big = ('x'):rep(4000000)
         local bad = 0
         for i, s in ipairs(t) do if sum(s) ~= sums[i] then bad = bad + 1 end end
         return bad",
    );
    assert_eq!(answer, ":0");
}

#[test]
fn coroutines_do_not_hide_from_the_count() {
    is_stopped("coroutine.wrap(function() while true do end end)()");
    is_stopped(
        "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    );
    // Each coroutine stays below the count on its own.
    is_stopped(
        "local function f(n) if n == 0 then return end
         for i = 1, 9 do coroutine.wrap(f)(n - 1) end end
         f(150)",
    );
}

#[test]
fn a_load_function_that_never_ends_is_stopped() {
    is_stopped("load(function() while true do end end)");
    is_stopped("load(function() return '\\n' end)");
}

#[track_caller]
fn runs_out_of_memory(body: &str) {
    let mut scripts = Scripts::new(SMALL);
    let idle = scripts.memory_used();
    for _ in 0..3 {
        let answer = render(&run(&mut scripts, body, &mut ToyEngine::default()));
        assert!(answer.contains("not enough memory"), "{answer}");
        assert!(
            scripts.memory_used() < idle + SMALL.memory,
            "garbage stays: {}",
            scripts.memory_used()
        );
    }
    assert_eq!(render(&run(&mut scripts, "return ARGV[3]", &mut ToyEngine::default())), "\"a3\"");
}

#[test]
fn memory_is_bounded_and_the_machine_survives() {
    runs_out_of_memory("local t = {} while true do t[#t + 1] = ('x'):rep(100) .. #t end");
    runs_out_of_memory("return ('x'):rep(1e9)");
    runs_out_of_memory("local s = 'x' while true do s = s .. s end");
    runs_out_of_memory("local t = {} for i = 1, 1e9 do t[i] = i end");
    runs_out_of_memory(
        "local t = {} while true do t[#t + 1] = redis.call('echo', ('x'):rep(1000) .. #t) end",
    );
    runs_out_of_memory(
        "local t = {} while true do t[#t + 1] = coroutine.create(function() end) end",
    );
    runs_out_of_memory("local t = {} while true do t[#t + 1] = cjson.new() end");
    runs_out_of_memory("local t = {} while true do t[#t + 1] = cjson.decode('[[[[[[1]]]]]]') end");
    runs_out_of_memory("local t = {} while true do t[#t + 1] = assert(loadstring('return 1')) end");
    runs_out_of_memory("return table.concat({('x'):rep(1e6)}, '', 1, 1):rep(8)");
}

#[test]
fn values_made_in_one_call_respect_the_memory_limit() {
    // Small texts that unfold to much more.
    runs_out_of_memory("return cjson.decode('[' .. ('[],'):rep(100000) .. '1]')");
    runs_out_of_memory("return cmsgpack.unpack('\\221\\0\\1\\134\\160' .. ('\\144'):rep(100000))");
}

#[test]
fn a_reply_takes_no_more_memory_than_is_counted() {
    // Much is announced and little comes, many times over.
    runs_out_of_memory(&format!(
        "{FORGED} local r = {{}} for i = 1, 1000 do r[i] = t end return r"
    ));
    // Most of it lies where nesting ends.
    let nested = "local t = {} for i = 1, 7000 do t[i] = t end return t";
    runs_out_of_memory(nested);
    is_stopped(nested);
    runs_out_of_memory("local t = {} for i = 1, 100 do t[i] = {map = {t, t, t}} end return t");
    runs_out_of_memory(
        "local t = {} for i = 1, 100 do t[i] = {set = {[t] = 1, [{t}] = 1}} end return t",
    );
}

#[test]
fn a_caught_memory_error_does_not_raise_the_limit() {
    let answer = eval_with(
        SMALL,
        "local t, failed = {}, 0
         for i = 1, 50 do if not pcall(function() t[i] = ('x'):rep(1e6) .. i end) then failed = failed + 1 end end
         return failed",
    );
    let failed: i64 = answer.trim_start_matches(':').parse().unwrap();
    assert!(failed >= 46, "{failed} of 50 failed");
}

#[test]
fn garbage_of_many_runs_is_collected() {
    let mut scripts = Scripts::new(SMALL);
    let idle = scripts.memory_used();
    for _ in 0..200 {
        run(
            &mut scripts,
            "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(100) .. i end",
            &mut ToyEngine::default(),
        );
    }
    assert!(scripts.memory_used() < idle + SMALL.memory, "{}", scripts.memory_used());
}

#[test]
fn deep_recursion_is_an_error() {
    let overflow = "-ERR user_script:1: stack overflow script: <sha>, on @user_script:1.";
    assert_eq!(eval("local function f() return 1 + f() end return f()"), overflow);
    assert_eq!(
        eval("local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x"),
        "-ERR user_script:1: loop in gettable script: <sha>, on @user_script:1."
    );
    let answer = eval("local f f = function() return ('x'):gsub('x', f) end return f()");
    assert!(answer.contains("C stack overflow"), "{answer}");
    let answer = eval(&format!("return {}1{}", "(".repeat(10_000), ")".repeat(10_000)));
    assert!(answer.contains("chunk has too many syntax levels"), "{answer}");
}

#[test]
fn deep_data_neither_overflows_nor_panics() {
    let nested = "local t = {} for i = 1, 100000 do t = {t} end ";
    assert!(eval(&format!("{nested} return t")).contains("reached lua stack limit"));
    assert!(eval("local t = {} t[1] = t return t").contains("reached lua stack limit"));
    assert!(eval("local t = {} t.map = {t} return t").contains("reached lua stack limit"));
    assert!(eval("local t = {} t.set = {[t] = 1} return t").contains("reached lua stack limit"));
    let deepest = "cjson.encode_max_depth(1e9) cjson.decode_max_depth(1e9) ";
    assert!(
        eval(&format!("{deepest} {nested} return cjson.encode(t)"))
            .contains("excessive nesting (2001)")
    );
    assert!(
        eval(&format!("{deepest} return cjson.decode(('['):rep(100000))"))
            .contains("nested data structures (2001)")
    );
    assert!(eval("return cmsgpack.unpack(('\\145'):rep(100000))").contains("stack overflow"));
}

#[test]
fn patterns_cannot_exhaust_the_c_stack() {
    let too_complex = "-ERR user_script:1: pattern too complex script: <sha>, on @user_script:1.";
    for call in [
        "('a'):find(p)",
        "('a'):match(p)",
        "('a'):gmatch(p)()",
        "('a'):gfind(p)()",
        "('a'):gsub(p, '')",
    ] {
        assert_eq!(
            eval(&format!("local p = ('a?'):rep(300000) return {call}")),
            too_complex,
            "{call}"
        );
    }
    assert_eq!(eval("return ('a'):find(('a?'):rep(400))"), ":1");
    assert_eq!(eval("return ('a-'):rep(2000):find(('a-'):rep(2000), 1, true)"), ":1");
}

#[test]
fn long_work_inside_one_library_call_is_bounded() {
    assert_eq!(eval("return #(''):rep(2147483647)"), ":0");
    assert!(eval("table.insert({}, -2147483648, 1)").contains("position out of bounds"));
    assert_eq!(eval("collectgarbage('stop') return collectgarbage('setpause', 1e6)"), ":200");
}

/// A table of 31 items whose border is 335,544,320.
const FORGED: &str =
    "local t = {1,2,3,4} for k = 1, 26 do t[5 * 2^k] = 1 end t[5] = 1 assert(#t == 335544320) ";

#[test]
fn walks_up_to_a_forged_border_are_stopped() {
    for walk in [
        "table.insert(t, 1, 'x')",
        "table.insert(t, -1000000, 'x')",
        "table.remove(t, 1)",
        "table.foreachi(t, redis.debug)",
        "table.foreachi(t, function() end)",
        "table.sort(t, rawequal)",
        "table.sort(t, function() return true end)",
    ] {
        is_stopped(&format!("{FORGED} {walk}"));
    }
    // What meets a nil on its way ends by itself.
    assert!(eval(&format!("{FORGED} table.sort(t)")).contains("attempt to compare"));
    assert!(eval(&format!("{FORGED} return table.concat(t)")).contains("invalid value (nil)"));
    assert!(eval(&format!("{FORGED} return {{unpack(t)}}")).contains("too many results"));
    assert_eq!(
        eval(&format!("{FORGED} return {{table.getn(t), table.maxn(t)}}")),
        "[:335544320 :335544320]"
    );
    assert_eq!(eval(&format!("{FORGED} table.insert(t, 2) return table.remove(t)")), ":2");
}

#[test]
fn loops_of_c_over_functions_of_c_are_stopped() {
    is_stopped("load(math.random)");
    is_stopped(
        "load(redis.breakpoint) local t = {} for i = 1, 5 do t[i] = i end table.foreach(t, redis.debug)",
    );
    is_stopped("table.foreach({1, 2, 3}, redis.debug)");
    is_stopped("table.foreachi({1, 2, 3}, redis.debug)");
    is_stopped("table.sort({3, 1, 2, 5, 4}, rawequal)");
    // Each sort may take long, though it has few items.
    is_stopped("for i = 1, 5 do table.sort({2, 1}) end");
    is_stopped(
        "local m, t = {__lt = table.maxn}, {} for i = 1, 1000 do t[i] = setmetatable({}, m) end table.sort(t)",
    );
    is_stopped("for i = 1, 5 do loadstring(('a = 1 '):rep(1000)) end");
    is_stopped("return ('b'):rep(1000):find('[' .. ('a'):rep(100000) .. ']')");
    is_stopped("return ('b'):rep(1000):find('[^' .. ('a'):rep(100000) .. ']-c')");
    is_stopped("return ('b'):rep(1000):find('[^' .. ('a'):rep(100000) .. ']*c')");
    is_stopped("return ('b'):rep(1000):find('%f[' .. ('a'):rep(100000) .. ']')");
}

#[test]
fn table_functions_do_what_those_of_lua_do() {
    let cases = [
        (
            "local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) table.insert(t, 7, 7) return {#t, t[1], t[4], t[7]}",
            "[:4 :0 :3 :7]",
        ),
        (
            "local t = {} table.insert(t, 0, 'a') table.insert(t, -2, 'b') return {t[1], t[-2], t[0] or 'none'}",
            "[\"a\" \"b\" \"none\"]",
        ),
        (
            "table.insert({})",
            "-ERR user_script:1: wrong number of arguments to 'insert' script: <sha>, on @user_script:1.",
        ),
        (
            "table.insert({}, 1, 2, 3)",
            "-ERR user_script:1: wrong number of arguments to 'insert' script: <sha>, on @user_script:1.",
        ),
        (
            "table.insert({}, 'x', 2)",
            "-ERR user_script:1: bad argument #2 to 'insert' (number expected, got string) script: <sha>, on @user_script:1.",
        ),
        (
            "table.insert(1, 2)",
            "-ERR user_script:1: bad argument #1 to 'insert' (table expected, got number) script: <sha>, on @user_script:1.",
        ),
        (
            "table.insert(redis, 2)",
            "-ERR Attempt to modify a readonly table script: <sha>, on @user_script:1.",
        ),
        (
            "local t = {1, 2, 3} return {table.remove(t, 1), table.remove(t), #t, t[1], table.remove(t, 9) or 'none', table.remove({}) or 'none'}",
            "[:1 :3 :1 :2 \"none\" \"none\"]",
        ),
        ("return {select('#', table.remove({}))}", "[:0]"),
        (
            "return table.remove()",
            "-ERR user_script:1: bad argument #1 to 'remove' (table expected, got no value) script: <sha>, on @user_script:1.",
        ),
        (
            "local s = '' table.foreachi({'a', 'b', nil, 'd'}, function(i, v) s = s .. i .. tostring(v) end) return s",
            "\"1a2b3nil4d\"",
        ),
        (
            "return table.foreachi({'a', 'b'}, function(i, v) if i == 2 then return v end end)",
            "\"b\"",
        ),
        (
            "local s = '' table.foreach({'a', x = 'y'}, function(k, v) s = s .. k .. v end) return s",
            "\"1axy\"",
        ),
        (
            "return table.foreach(redis, function(k, v) if k == 'LOG_WARNING' then return v end end)",
            ":3",
        ),
        (
            "table.foreach({}, 1)",
            "-ERR user_script:1: bad argument #2 to 'foreach' (function expected, got number) script: <sha>, on @user_script:1.",
        ),
        ("local t = {3, 1, 2} table.sort(t) return t", "[:1 :2 :3]"),
        (
            "local t = {'b', 'a'} table.sort(t, function(a, b) return a > b end) return t",
            "[\"b\" \"a\"]",
        ),
        ("local t = {'b', 'a'} table.sort(t, rawequal) return t", "[\"b\" \"a\"]"),
    ];
    for (body, expected) in cases {
        assert_eq!(eval(body), expected, "{body}");
    }
}

#[test]
fn long_texts_are_not_compiled() {
    let limits = Limits::default();
    let long = "('x'):rep(17 * 1024 * 1024)";
    let refused = "\"chunk is longer than 16 MiB\"";
    assert_eq!(eval_with(limits, &format!("return select(2, loadstring({long}))")), refused);
    assert_eq!(
        eval_with(
            limits,
            "local s = (' '):rep(2^20) return select(2, load(function() return s end))"
        ),
        "-ERR chunk is longer than 16 MiB"
    );
    let mut scripts = Scripts::new(limits);
    let error = scripts.load(&vec![b' '; 17 << 20]).unwrap_err();
    assert!(error.text().ends_with(": chunk is longer than 16 MiB"), "{}", error.text());
    assert_eq!(
        eval(
            "return load(coroutine.wrap(function() coroutine.yield('return ') coroutine.yield(7) end))()"
        ),
        ":7"
    );
}

#[test]
fn names_and_values_in_messages_are_cut() {
    for body in [
        "return _G[('\\255'):rep(100000)]",
        "cjson.encode_keep_buffer(('\\255'):rep(100000))",
        "loadstring('error(1)', '=' .. ('n'):rep(100000))()",
        "loadstring('local t = {} t.' .. ('n'):rep(100000) .. '= cjson.encode t.' .. ('n'):rep(100000) .. '()')()",
    ] {
        let answer = eval(body);
        assert!(
            answer.starts_with("-ERR") && answer.len() < 5000,
            "{body}: {} bytes",
            answer.len()
        );
    }
}

#[test]
fn copies_outside_of_the_machine_count_against_the_memory() {
    // Two texts that leave less than two more of their size.
    let texts = "local s = ('x'):rep(1200000) local q = '\"' .. s .. '\"' collectgarbage() ";
    for body in [
        "return #cjson.decode(q)",
        "return #cjson.encode(s)",
        "q = nil local p = '\\219\\0\\18\\79\\128' .. s collectgarbage() return #cmsgpack.unpack(p)",
        "return #cmsgpack.pack(s)",
        "return #struct.unpack('c1200000', s)",
        "return #struct.pack('s', s)",
        "return #s:gsub('x', 'x')",
        "return #redis.error_reply(s).err",
        "return {err = s}",
        "return {ok = s}",
        "return {verbatim_string = {string = s, format = 'txt'}}",
        "error(s)",
        "error({err = s})",
        "local a = redis.call('echo', s .. 1) local b = redis.call('echo', s) return #a",
    ] {
        let mut scripts = Scripts::new(SMALL);
        let answer =
            render(&run(&mut scripts, &format!("{texts} {body}"), &mut ToyEngine::default()));
        assert!(answer.contains("not enough memory"), "{body}: {answer:.200}");
        assert_eq!(render(&run(&mut scripts, "return 1", &mut ToyEngine::default())), ":1");
    }
}

#[test]
fn a_function_with_many_parameters_fits_the_stack() {
    // CVE-2014-5461: room was made for the registers, but not for the fixed parameters of a function with more.
    let parameters = (1..=190).map(|n| format!("a{n}")).collect::<Vec<_>>().join(",");
    let answer = eval(&format!(
        "local function f({parameters}, ...) return a190 end
         local function deep(n) if n == 0 then return f(1, 2) end return (deep(n - 1)) end
         for n = 1, 3000 do deep(n % 300) coroutine.wrap(function() deep(n % 300) end)() end return 1",
    ));
    assert_eq!(answer, ":1");
}

#[test]
fn a_panic_of_the_engine_passes_through_and_leaves_the_machine_usable() {
    let mut scripts = Scripts::new(Limits::default());
    for body in [
        "redis.call('panic')",
        "pcall(redis.call, 'panic') return 1",
        "while true do redis.pcall('panic') end",
    ] {
        let caught =
            catch_unwind(AssertUnwindSafe(|| run(&mut scripts, body, &mut ToyEngine::default())));
        let payload = caught.expect_err("the panic goes on after the script has ended");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the toy engine broke"));
        assert_eq!(
            render(&run(&mut scripts, "return redis.call('ping')", &mut ToyEngine::default())),
            "+PONG"
        );
    }
}

#[test]
fn the_protocol_and_the_log_reach_the_engine() {
    let mut scripts = Scripts::new(Limits::default());
    let mut toy = ToyEngine::default();
    run(&mut scripts, "redis.setresp(3) redis.log(redis.LOG_WARNING, 'a', 1, {}, 'b')", &mut toy);
    assert_eq!((toy.resp, toy.logged), (3, vec![(3, b"a 1 b".to_vec())]));
    let reply = run(&mut scripts, "return redis.call('get', 'x')", &mut ToyEngine::default());
    assert_eq!(reply, crate::reply::Reply::Nil, "the choice of protocol ends with the script");
}

#[test]
fn one_script_leaves_nothing_for_the_next() {
    let mut scripts = Scripts::new(Limits::default());
    for body in [
        "getmetatable('').__index = nil",
        "getmetatable(_G).__index = nil",
        "rawset(_G, 'x', 1)",
        "_G.x = 1",
        "x = 1",
        "setmetatable(_G, {})",
        "setmetatable(string, {})",
        "table.insert(string, 1)",
        "string.len = nil",
        "redis.call = print",
        "loadstring('x = 1')()",
        "coroutine.wrap(function() x = 1 end)()",
        "getmetatable(getmetatable('')).__index = 1",
    ] {
        let answer = render(&run(&mut scripts, body, &mut ToyEngine::default()));
        assert!(answer.starts_with("-ERR"), "{body}: {answer}");
    }
    let check = "local n = 0 for _ in pairs(string) do n = n + 1 end
                 return {n, ('ab'):len(), type(redis.call), tostring(rawget(_G, 'x')), #string, tostring(getmetatable(string))}";
    assert_eq!(
        render(&run(&mut scripts, check, &mut ToyEngine::default())),
        "[:15 :2 \"function\" \"nil\" :0 \"nil\"]"
    );
}

#[test]
fn scripts_are_known_by_name_until_flushed() {
    let mut scripts = Scripts::new(Limits::default());
    let sha = scripts.load(b"return 1").unwrap();
    assert_eq!(sha.as_str(), "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    assert!(scripts.exists(b"E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"));
    assert_eq!(Sha::parse(b"E0E1F9FABFC9D4800C877A703B823AC0578FF8DB"), Some(sha));
    assert!(!scripts.exists(b"e0e1"));
    assert_eq!(
        (scripts.len(), scripts.find(&sha).map(|script| script.flags().declared)),
        (1, Some(false))
    );
    scripts.flush();
    assert!(!scripts.exists(sha.as_str().as_bytes()));
    assert!(scripts.find(&sha).is_none());
}

#[test]
fn random_numbers_go_on_from_script_to_script_and_through_a_flush() {
    let mut scripts = Scripts::new(Limits::default());
    let draw = |scripts: &mut Scripts| {
        render(&run(scripts, "return tostring(math.random())", &mut ToyEngine::default()))
    };
    assert_eq!(draw(&mut scripts), "\"0.39646477363839\"");
    scripts.flush();
    assert_eq!(draw(&mut scripts), "\"0.84048536971234\"");
}

#[test]
fn a_machine_can_move_between_threads() {
    let mut scripts = Scripts::new(Limits::default());
    let sha = scripts.load(b"return #KEYS + #ARGV").unwrap();
    let reply = std::thread::spawn(move || {
        scripts.run(
            scripts.find(&sha).expect("it is loaded"),
            &sha,
            &[b"k"],
            &[b"a", b"b"],
            &mut ToyEngine::default(),
        )
    })
    .join();
    assert_eq!(render(&reply.unwrap()), ":3");
}
