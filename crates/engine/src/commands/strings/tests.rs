use crate::{reply::Reply, test_engine::TestEngine};

#[test]
fn set_obeys_its_conditions_and_answers_the_old_value() {
    TestEngine::new().check(
        "
        set k v => +OK
        get k => $1 v
        set k 2 nx => $-1
        set k 3 XX get => $1 v
        set new 1 xx => $-1
        get new => $-1
        set k 4 nx get => $1 3
        set fresh 5 NX GET => $-1
        get fresh => $1 5
        set k v nx xx => -ERR syntax error
        setnx k v => :0
        setnx k2 v => :1
        getset k z => $1 3
        ",
    );
}

#[test]
fn set_takes_one_kind_of_lifetime() {
    TestEngine::new().check(
        "
        set k v ex 10 EX 20 => +OK
        ttl k => :20
        set k w keepttl => +OK
        ttl k => :20
        set k w => +OK
        ttl k => :-1
        setex k 10 w => +OK
        getset k z => $1 w
        ttl k => :-1
        psetex k 10000 w => +OK
        pttl k => :10000
        set k v ex 10 px 10 => -ERR syntax error
        set k w KEEPTTL ex 10 => -ERR syntax error
        set k v ex => -ERR syntax error
        set k v persist => -ERR syntax error
        ",
    );
}

#[test]
fn lifetimes_are_positive_and_fit_in_64_bits() {
    TestEngine::new().check(
        "
        set k v ex 0 => -ERR invalid expire time in 'set' command
        set k v px -1 => -ERR invalid expire time in 'set' command
        set k v ex x => -ERR value is not an integer or out of range
        set k v ex 9223372036854775807 => -ERR invalid expire time in 'set' command
        set k v px 9223372036854775807 => -ERR invalid expire time in 'set' command
        set k v pxat 9223372036854775807 => +OK
        setex k 0 v => -ERR invalid expire time in 'setex' command
        psetex k 0 w => -ERR invalid expire time in 'psetex' command
        psetex k 9223372036854775807 w => -ERR invalid expire time in 'psetex' command
        hset h f v => :1
        set h v get => -WRONGTYPE Operation against a key holding the wrong kind of value
        set h v get ex 0 => -ERR invalid expire time in 'set' command
        ",
    );
}

#[test]
fn several_strings_are_set_at_once_or_not_at_all() {
    TestEngine::new().check(
        "
        mset a 1 b 2 a 3 => +OK
        mget a b none => *3 $1 3 $1 2 $-1
        mset a => -ERR wrong number of arguments for 'mset' command
        mset a 1 b => -ERR wrong number of arguments for 'mset' command
        msetnx c 1 a 2 => :0
        exists c => :0
        msetnx c 1 d 2 => :1
        mget c d => *2 $1 1 $1 2
        msetnx e 1 d => -ERR wrong number of arguments for 'msetnx' command
        ",
    );
}

#[test]
fn getdel_and_getex_change_the_key_in_passing() {
    TestEngine::new().check(
        "
        set k v => +OK
        getdel k => $1 v
        getdel k => $-1
        set k v => +OK
        getex k ex 100 => $1 v
        ttl k => :100
        getex k => $1 v
        getex k persist => $1 v
        ttl k => :-1
        getex k nx => -ERR syntax error
        getex k ex => -ERR syntax error
        getex k keepttl => -ERR syntax error
        getex k ex 0 => -ERR invalid expire time in 'getex' command
        getex none ex 0 => $-1
        getex none ex 0 foo => -ERR syntax error
        getex k pxat 1 => $1 v
        exists k => :0
        ",
    );
}

#[test]
fn other_types_are_refused() {
    let mut rig = TestEngine::new();
    rig.check("hset h f v => :1");
    for command in [
        "get h",
        "getdel h",
        "getex h ex 0",
        "getset h v",
        "strlen h",
        "append h v",
        "incr h",
        "incrbyfloat h x",
        "getrange h 0 1",
        "setrange h 0 a",
    ] {
        assert_eq!(rig.run(command), Reply::Error(crate::Error::WRONG_TYPE), "{command}");
    }
    rig.check("mget h => *1 $-1");
    rig.check("setnx h v => :0");
    rig.check("set h v => +OK");
}

#[test]
fn integers_count_up_to_their_limits() {
    TestEngine::new().check(
        "
        incr n => :1
        incrby n 41 => :42
        decr n => :41
        decrby n 1 => :40
        object encoding n => $3 int
        incrby n x => -ERR value is not an integer or out of range
        decrby n -9223372036854775808 => -ERR decrement would overflow
        set n 9223372036854775807 => +OK
        incr n => -ERR increment or decrement would overflow
        set n -9223372036854775808 => +OK
        decr n => -ERR increment or decrement would overflow
        set n 1.5 => +OK
        incr n => -ERR value is not an integer or out of range
        setex n 100 7 => +OK
        incr n => :8
        ttl n => :100
        ",
    );
}

#[test]
#[cfg(all(target_arch = "x86_64", unix))]
fn floats_count_in_extended_precision() {
    TestEngine::new().check(
        "
        setex f 100 0.1 => +OK
        incrbyfloat f 0.2 => $3 0.3
        incrbyfloat f 3.0e3 => $22 3000.30000000000000004
        ttl f => :100
        set f 1 => +OK
        incrbyfloat f 2 => $1 3
        object encoding f => $6 embstr
        incrbyfloat f inf => -ERR increment would produce NaN or Infinity
        incrbyfloat f nan => -ERR value is not a valid float
        set f x => +OK
        incrbyfloat f 1 => -ERR value is not a valid float
        incrbyfloat i 0x10 => $2 16
        ",
    );
}

#[test]
fn appending_makes_a_string_raw() {
    TestEngine::new().check(
        "
        append a 12 => :2
        object encoding a => $3 int
        append a 3 => :3
        object encoding a => $3 raw
        get a => $3 123
        incr a => :124
        strlen a => :3
        strlen none => :0
        ",
    );
}

#[test]
fn ranges_count_from_either_end() {
    TestEngine::new().check(
        "
        set s abcdef => +OK
        getrange s 0 2 => $3 abc
        getrange s -3 -1 => $3 def
        getrange s 0 -100 => $1 a
        getrange s -1 -3 => $0
        getrange s 4 100 => $2 ef
        getrange s 6 7 => $0
        getrange s 3 2 => $0
        getrange s x 1 => -ERR value is not an integer or out of range
        substr s 1 2 => $2 bc
        getrange none 0 1 => $0
        getrange s -9223372036854775808 9223372036854775807 => $6 abcdef
        setrange s 2 XY => :6
        get s => $6 abXYef
        setrange z 3 ab => :5
        object encoding z => $3 raw
        setrange z -1 a => -ERR offset is out of range
        setrange z 536870912 a => -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        setrange z 9223372036854775807 a => -ERR string exceeds maximum allowed size (proto-max-bulk-len)
        ",
    );
}

#[test]
fn nothing_is_written_beyond_the_end_of_no_string() {
    let mut rig = TestEngine::new();
    let args: [&[u8]; 4] = [b"setrange", b"none", b"5", b""];
    assert_eq!(rig.state.execute(0, &args).reply, Some(Reply::Int(0)));
    rig.check("exists none => :0");
}

#[test]
fn the_log_has_moments_and_results() {
    let mut rig = TestEngine::new();
    assert_eq!(rig.logged("set k v ex 10"), "SET k v PXAT 1700000010000");
    assert_eq!(rig.logged("setex k 10 v"), "SET k v PXAT 1700000010000");
    assert_eq!(rig.logged("getex k px 5"), "PEXPIREAT k 1700000000005");
    assert_eq!(rig.logged("getex k"), "");
    assert_eq!(rig.logged("getex k persist"), "PERSIST k");
    assert_eq!(rig.logged("getex k pxat 1"), "DEL k");
    assert_eq!(rig.logged("set k v nx"), "set k v nx");
    assert_eq!(rig.logged("set k v nx"), "");
    assert_eq!(rig.logged("getdel k"), "DEL k");
    assert_eq!(rig.logged("getdel k"), "");
    assert_eq!(rig.logged("incrbyfloat f 1.50"), "SET f 1.5 KEEPTTL");
    assert_eq!(rig.logged("incrby f x"), "");
}

#[test]
fn a_string_set_with_a_passed_moment_is_gone_but_kept_while_loading() {
    let mut rig = TestEngine::new();
    rig.check("set k v pxat 1 => +OK");
    rig.check("get k => $-1");
    rig.state.loading = true;
    rig.check("set k v pxat 1 => +OK");
    rig.check("get k => $1 v");
    rig.state.loading = false;
    rig.check("get k => $-1");
}
