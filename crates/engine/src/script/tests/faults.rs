//! Panics injected at every native call: whatever it was doing, the machine is whole again afterwards.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{ToyEngine, render, run};
use crate::script::{Limits, Scripts};

thread_local! {
    /// Native calls until one of them panics.
    static COUNTDOWN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// What a native call that fails by order panics with; not a string, so that nothing takes it for another panic.
struct Injected;

/// Called at the start of every native function, and whenever the engine is asked whether the script may go on.
pub(in crate::script) fn strike() {
    let Some(left) = COUNTDOWN.get() else { return };
    COUNTDOWN.set(left.checked_sub(1));
    if left == 0 {
        // Skips the panic hook, which would fill the output.
        resume_unwind(Box::new(Injected));
    }
}

/// Runs a script whose native call number `at` panics; says whether it came to that.
fn run_with_fault(scripts: &mut Scripts, body: &str, at: u32) -> bool {
    COUNTDOWN.set(Some(at));
    let outcome = catch_unwind(AssertUnwindSafe(|| run(scripts, body, &mut ToyEngine::default())));
    COUNTDOWN.set(None);
    match outcome {
        Ok(_) => false,
        Err(payload) => {
            assert!(payload.is::<Injected>(), "another panic than the injected one");
            true
        }
    }
}

#[test]
fn a_panic_at_any_native_call_leaves_the_machine_whole() {
    let mut scripts = Scripts::new(Limits::default());
    let bodies = [
        "redis.call('set', 'a', 1) redis.pcall('get', 'a') return redis.sha1hex('x')",
        "return pcall(function() return cjson.encode(cjson.decode('[1,{\"a\":[2]}]')) end)",
        "return {pcall(cmsgpack.unpack, cmsgpack.pack({1, {2}}, 'x'))}",
        "return (string.gsub('hello world', '%w+', function(w) return redis.call('echo', w) end))",
        "for w in string.gmatch('one two', '%a+') do redis.log(1, w) end return string.find('ab', '(b)')",
        "local co = coroutine.wrap(function() coroutine.yield(redis.call('ping')) end) co() return co()",
        "return {pcall(load(function() return redis.call('echo', nil) end))}",
        "local t = {3, 1, 2} table.sort(t, function(a, b) return redis.call('echo', a) < redis.call('echo', b) end) return t",
        "return {struct.unpack('>i4', struct.pack('>i4', bit.bnot(7))), math.random(5)}",
        "redis = 1",
        "return undefined_name",
        "return {('x'):rep(70000), {('y'):rep(70000), ('z'):rep(70000)}}",
        "return {err = ('x'):rep(70000)}",
        "local t = {3, 1, 2} table.sort(t, rawequal) table.foreach(t, redis.debug) return load(redis.debug)",
        "return xpcall(function() error({err = 'x'}) end, function(e) return redis.call('echo', 'y') end)",
    ];
    let mut faults = 0;
    for body in bodies {
        for at in 0.. {
            if !run_with_fault(&mut scripts, body, at) {
                break;
            }
            faults += 1;
            assert_eq!(scripts.machine.stack().top(), 0, "after a fault at {at} of {body}");
            let sound = "redis.call('set', 'k1', 'v') return {redis.call('get', 'k1'), ARGV[1]}";
            let answer = render(&run(&mut scripts, sound, &mut ToyEngine::default()));
            assert_eq!(answer, "[\"v\" \"a1\"]", "after a fault at {at} of {body}");
            // The message handler is found where it is expected.
            let answer = render(&run(&mut scripts, "error('x')", &mut ToyEngine::default()));
            let expected = "-ERR user_script:1: x script: <sha>, on @user_script:1.";
            assert_eq!(answer, expected, "after a fault at {at} of {body}");
        }
    }
    assert!(faults > 40, "only {faults} faults were injected");
}
