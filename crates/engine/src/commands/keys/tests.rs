use crate::{reply::Reply, test_engine::TestEngine};

#[test]
fn keys_are_counted_typed_and_removed() {
    TestEngine::new().check(
        "
        set a 1 => +OK
        set b 2 => +OK
        hset h f v => :1
        del a a none => :1
        unlink a h => :1
        exists b b none => :2
        touch b none => :1
        type b => +string
        type none => +none
        ",
    );
}

#[test]
fn an_expiry_is_set_only_under_its_conditions() {
    TestEngine::new().check(
        "
        set b 2 ex 100 => +OK
        expire b 10 gt => :0
        expire b 200 gt => :1
        ttl b => :200
        expire b 300 lt => :0
        expire b 50 LT => :1
        ttl b => :50
        expire b 60 nx => :0
        persist b => :1
        ttl b => :-1
        persist b => :0
        persist none => :0
        expire b 60 xx => :0
        expire b 60 gt => :0
        expire b 60 lt => :1
        ttl b => :60
        expire b 70 xx lt => :0
        expire b 60 nx xx => -ERR NX and XX, GT or LT options at the same time are not compatible
        expire b 60 gt lt => -ERR GT and LT options at the same time are not compatible
        expire b x foo => -ERR Unsupported option foo
        expire b x => -ERR value is not an integer or out of range
        expire none 10 => :0
        ",
    );
}

#[test]
fn an_expiry_fits_in_64_bits() {
    TestEngine::new().check(
        "
        set b 1 => +OK
        expire b 9223372036854775807 => -ERR invalid expire time in 'expire' command
        pexpire b 9223372036854775807 => -ERR invalid expire time in 'pexpire' command
        expireat b 9223372036854775807 => -ERR invalid expire time in 'expireat' command
        expire none 9223372036854775807 => -ERR invalid expire time in 'expire' command
        expire b -9223372036854775808 => -ERR invalid expire time in 'expire' command
        pexpireat b 9223372036854775807 => :1
        pexpiretime b => :9223372036854775807
        expiretime b => :9223372036854776
        pexpire b 1500 => :1
        ttl b => :2
        pexpire b -9223372036854775808 => :1
        exists b => :0
        ttl b => :-2
        pexpiretime b => :-2
        ",
    );
}

#[test]
fn an_expiry_in_the_past_removes_unless_loading() {
    let mut rig = TestEngine::new();
    rig.check("set k v => +OK");
    rig.check("expire k -1 => :1");
    rig.check("dbsize => :0");
    rig.state.loading = true;
    rig.check("set k v => +OK");
    rig.check("pexpireat k 1 => :1");
    rig.check("pexpiretime k => :1");
    rig.state.loading = false;
    rig.check("pexpiretime k => :-2");
}

#[test]
fn a_key_takes_its_expiry_to_its_new_name() {
    TestEngine::new().check(
        "
        set a 1 ex 100 => +OK
        rename a b => +OK
        ttl b => :100
        get b => $1 1
        rename b b => +OK
        rename none b => -ERR no such key
        renamenx b b => :0
        renamenx none b => -ERR no such key
        set c 2 => +OK
        renamenx b c => :0
        rename c b => +OK
        ttl b => :-1
        get b => $1 2
        renamenx b d => :1
        exists b => :0
        ",
    );
}

#[test]
fn copies_need_room_or_leave_to_replace() {
    TestEngine::new().check(
        "
        set d 2 ex 100 => +OK
        copy d e => :1
        ttl e => :100
        copy d e => :0
        copy d e replace => :1
        copy d d => -ERR source and destination objects are the same
        copy d d db 0 => -ERR source and destination objects are the same
        copy d d DB 1 => :1
        copy none d => :0
        copy d e db => -ERR syntax error
        copy d e db 99999 => -ERR DB index is out of range
        copy d e db x => -ERR value is not an integer or out of range
        copy d e db 99999999999 => -ERR value is out of range, value must between -2147483648 and 2147483647
        copy d e foo => -ERR syntax error
        ",
    );
}

#[test]
fn keys_move_and_databases_swap() {
    TestEngine::new().check(
        "
        set d 1 => +OK
        copy d d db 1 => :1
        move d 1 => :0
        move none 1 => :0
        move d 0 => -ERR source and destination objects are the same
        move d x => -ERR value is not an integer or out of range
        move d 99999 => -ERR DB index is out of range
        set m 1 ex 50 => +OK
        move m 1 => :1
        exists m => :0
        dbsize => :1
        swapdb 0 1 => +OK
        ttl m => :50
        dbsize => :2
        swapdb 0 99999 => -ERR DB index is out of range
        swapdb x 0 => -ERR invalid first DB index
        swapdb 0 x => -ERR invalid second DB index
        swapdb 0 99999999999 => -ERR invalid second DB index
        ",
    );
}

#[test]
fn flushing_empties_one_database_or_all() {
    TestEngine::new().check(
        "
        set a 1 => +OK
        copy a a db 1 => :1
        flushdb foo => -ERR syntax error
        flushdb sync async => -ERR syntax error
        flushdb async => +OK
        dbsize => :0
        swapdb 0 1 => +OK
        dbsize => :1
        swapdb 0 1 => +OK
        flushall SYNC => +OK
        swapdb 0 1 => +OK
        dbsize => :0
        ",
    );
}

#[test]
fn flushing_is_a_change_to_those_who_watch_a_key() {
    let mut rig = TestEngine::new();
    let watcher = rig.connect();
    rig.run("set a 1");
    rig.run_as(watcher, "watch a none");
    assert!(!rig.state.watchers.is_touched(watcher));
    rig.run("flushall");
    assert!(rig.state.watchers.is_touched(watcher));
}

#[test]
fn values_tell_how_they_are_stored() {
    TestEngine::new().check(
        "
        set n 5 => +OK
        set t text => +OK
        object encoding n => $3 int
        object encoding t => $6 embstr
        object encoding none => $-1
        object refcount n => :2147483647
        object refcount t => :1
        object refcount none => $-1
        object idletime t => :0
        object idletime none => $-1
        object freq none => $-1
        object freq t => -ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.
        object foo t => -ERR unknown subcommand 'foo'. Try OBJECT HELP.
        object encoding => -ERR wrong number of arguments for 'object|encoding' command
        object => -ERR wrong number of arguments for 'object' command
        memory usage none => $-1
        memory usage t samples => -ERR syntax error
        memory usage t samples x => -ERR value is not an integer or out of range
        memory usage t samples -1 => -ERR syntax error
        memory usage t foo 1 => -ERR syntax error
        ",
    );
}

#[test]
fn memory_usage_grows_with_the_value() {
    let mut rig = TestEngine::new();
    rig.run("set small x");
    rig.run(&format!("set large {}", "x".repeat(10_000)));
    let mut usage = |key: &str| match rig.run(&format!("memory usage {key} samples 0")) {
        Reply::Int(n) => n,
        other => panic!("{other:?} is no integer"),
    };
    assert!((50..200).contains(&usage("small")));
    assert!((10_000..10_300).contains(&usage("large")));
}

#[test]
fn listings_match_patterns_and_types() {
    TestEngine::new().check(
        "
        randomkey => $-1
        scan 0 => *2 $1 0 *0
        set n 5 => +OK
        hset h f v => :1
        keys n* => *1 $1 n
        keys z* => *0
        scan 0 match z* => *2 $1 0 *0
        scan 0 match n type string count 100 => *2 $1 0 *1 $1 n
        scan 0 type HASH => *2 $1 0 *1 $1 h
        scan 0 type none => *2 $1 0 *0
        scan 0 count 0 => -ERR syntax error
        scan 0 count x => -ERR value is not an integer or out of range
        scan x => -ERR invalid cursor
        scan 0 match => -ERR syntax error
        scan 0 foo bar => -ERR syntax error
        ",
    );
}

#[test]
fn no_listing_has_expired_keys() {
    for (command, expected) in
        [("keys *", "*1 $4 stay"), ("scan 0", "*2 $1 0 *1 $4 stay"), ("randomkey", "$4 stay")]
    {
        let mut rig = TestEngine::new();
        rig.check("set stay v => +OK");
        rig.check("set go1 v px 10 => +OK");
        rig.check("set go2 v px 10 => +OK");
        rig.clock.advance_ms(10);
        rig.check(&format!("{command} => {expected}"));
    }
}

#[test]
fn a_scan_removes_the_expired_keys_it_meets() {
    let mut rig = TestEngine::new();
    rig.run("set k v px 10");
    rig.clock.advance_ms(10);
    rig.check("dbsize => :1");
    assert_eq!(rig.logged("scan 0"), "DEL k");
    rig.check("dbsize => :0");
}

#[test]
fn the_log_has_moments_and_removals() {
    let mut rig = TestEngine::new();
    assert_eq!(rig.logged("set k v"), "set k v");
    assert_eq!(rig.logged("expire k 10"), "PEXPIREAT k 1700000010000");
    assert_eq!(rig.logged("expire k 10 nx"), "");
    assert_eq!(rig.logged("expireat k 1700000020 gt"), "PEXPIREAT k 1700000020000");
    assert_eq!(rig.logged("persist k"), "persist k");
    assert_eq!(rig.logged("persist k"), "");
    assert_eq!(rig.logged("pexpire k 0"), "DEL k");
    assert_eq!(rig.logged("del k"), "");
    assert_eq!(rig.logged("flushall"), "");
    assert_eq!(rig.logged("set k v"), "set k v");
    assert_eq!(rig.logged("flushall"), "flushall");
}

#[test]
fn lists_that_arrive_whole_serve_those_who_wait() {
    for arrival in ["rename src k", "copy src k", "swapdb 0 1"] {
        let mut rig = TestEngine::new();
        let waiter = rig.connect();
        rig.run("rpush src v");
        rig.run("copy src k db 1");
        assert_eq!(rig.run_as(waiter, "blpop k 0"), None);
        rig.run(arrival);
        assert_eq!(rig.delivered(waiter), [Reply::bulks(["k", "v"])], "{arrival}");
    }
}
