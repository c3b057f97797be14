use crate::{reply::Reply, test_engine::TestEngine, types::Value};

fn members(reply: Reply) -> Vec<String> {
    let (Reply::Set(items) | Reply::Array(items)) = reply else { panic!("no members: {reply:?}") };
    let text = |item| match item {
        Reply::Bulk(bytes) => String::from_utf8(bytes).expect("members are text here"),
        other => panic!("no member: {other:?}"),
    };
    let mut members: Vec<String> = items.into_iter().map(text).collect();
    members.sort();
    members
}

#[test]
fn members_are_added_found_and_removed_once() {
    TestEngine::new().check(
        "SADD s 3 1 2 1 => :3
         SADD s 1 => :0
         SMEMBERS s => *3 $1 1 $1 2 $1 3
         SISMEMBER s 2 => :1
         SISMEMBER s 02 => :0
         SMISMEMBER s 1 9 => *2 :1 :0
         SMISMEMBER none 1 9 => *2 :0 :0
         SCARD s => :3
         SREM s 1 9 2 => :2
         SREM s 3 => :1
         SREM s 3 => :0
         SCARD s => :0
         SMEMBERS s => *0",
    );
}

#[test]
fn an_emptied_set_is_gone() {
    let mut rig = TestEngine::new();
    for removal in ["SREM s a", "SPOP s", "SPOP s 5", "SMOVE s t a", "SDIFFSTORE s s s"] {
        rig.run("SADD s a");
        rig.run(removal);
        assert!(!rig.state.dbs[0].contains(b"s"), "{removal}");
    }
}

#[test]
fn smove_checks_the_source_before_the_destination() {
    let mut rig = TestEngine::new();
    rig.check(
        "ZADD z 1 a => :1
         SMOVE none z a => :0
         SADD s a b => :2
         SMOVE s z a => -WRONGTYPE Operation against a key holding the wrong kind of value
         SMOVE s s a => :1
         SMOVE s s c => :0
         SMOVE s t c => :0
         SMOVE s t a => :1
         SMEMBERS s => *1 $1 b
         SMEMBERS t => *1 $1 a",
    );
}

#[test]
fn intersections_of_integers_are_sorted() {
    TestEngine::new().check(
        "SADD a 5 3 1 4 => :4
         SADD b 1 5 4 => :3
         SADD c 4 5 9 => :3
         SINTER a b c => *2 $1 4 $1 5
         SINTER a none => *0
         SINTERCARD 3 a b c => :2
         SINTERCARD 3 a b c LIMIT 1 => :1
         SINTERCARD 2 a b LIMIT 0 => :3
         SUNION a c => *5 $1 1 $1 3 $1 4 $1 5 $1 9
         SDIFF a b none => *1 $1 3
         SDIFF none a => *0
         SDIFF a a => *0
         SINTERSTORE a a b => :3
         SUNIONSTORE a none => :0
         SCARD a => :0",
    );
}

#[test]
fn every_source_is_checked_even_when_one_is_missing() {
    let mut rig = TestEngine::new();
    rig.run("ZADD z 1 a");
    for command in ["SINTER none z", "SUNION none z", "SDIFF none z", "SINTERCARD 2 none z"] {
        assert!(rig.run(command).is_error(), "{command}");
    }
}

#[test]
fn storing_replaces_any_type() {
    TestEngine::new().check(
        "ZADD d 1 a => :1
         SADD s x => :1
         SUNIONSTORE d s => :1
         SMEMBERS d => *1 $1 x
         ZADD z 1 a => :1
         SINTERSTORE z none => :0
         ZCARD z => :0",
    );
}

#[test]
fn sintercard_says_what_is_wrong() {
    TestEngine::new().check(
        "SINTERCARD 0 a => -ERR numkeys should be greater than 0
         SINTERCARD x a => -ERR numkeys should be greater than 0
         SINTERCARD 2 a => -ERR Number of keys can't be greater than number of args
         SINTERCARD 1 a LIMIT => -ERR syntax error
         SINTERCARD 1 a LIMIT -1 => -ERR LIMIT can't be negative
         SINTERCARD 1 a LIMIT x => -ERR LIMIT can't be negative
         SINTERCARD 1 a b => -ERR syntax error",
    );
}

#[test]
fn random_members_are_distinct_unless_the_count_is_negative() {
    let mut rig = TestEngine::new();
    for kind in ["", "m"] {
        for n in 0..100 {
            rig.run(&format!("SADD s{kind} {kind}{n}"));
        }
        for count in [0, 1, 10, 50, 99, 100, 1000] {
            let mut found = members(rig.run(&format!("SRANDMEMBER s{kind} {count}")));
            found.dedup();
            assert_eq!(found.len(), count.min(100), "{count}");
        }
        assert_eq!(members(rig.run(&format!("SRANDMEMBER s{kind} -300"))).len(), 300);
    }
    rig.check(
        "SRANDMEMBER none => $-1
         SRANDMEMBER none 5 => *0
         SRANDMEMBER none -9223372036854775808 => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
         SRANDMEMBER s x => -ERR value is not an integer or out of range
         SRANDMEMBER s 1 2 => -ERR syntax error",
    );
}

#[test]
fn spop_takes_what_it_returns() {
    let mut rig = TestEngine::new();
    for n in 0..1000 {
        rig.run(&format!("SADD s m{n}"));
    }
    let popped = members(rig.run("SPOP s 400"));
    assert_eq!(popped.len(), 400);
    let left = members(rig.run("SMEMBERS s"));
    assert_eq!(left.len(), 600);
    assert!(popped.iter().all(|member| left.binary_search(member).is_err()));
    rig.check(
        "SPOP s 0 => *0
         SPOP none => $-1
         SPOP none 3 => *0
         SPOP s -1 => -ERR value is out of range, must be positive
         SPOP s x => -ERR value is out of range, must be positive
         SPOP s 1 2 => -ERR syntax error",
    );
}

#[test]
fn sscan_sees_every_member_of_a_large_set() {
    let mut rig = TestEngine::new();
    for n in 0..1000 {
        rig.run(&format!("SADD s m{n}"));
    }
    assert!(matches!(rig.state.dbs[0].get(b"s"), Some(Value::Set(set)) if set.len() == 1000));
    let (mut seen, mut cursor) = (Vec::new(), "0".to_owned());
    loop {
        let Reply::Array(mut reply) = rig.run(&format!("SSCAN s {cursor} MATCH m* COUNT 50"))
        else {
            panic!("no array");
        };
        let found = members(reply.pop().expect("the members"));
        assert!(found.len() < 200, "about as many as asked for");
        seen.extend(found);
        cursor = members(Reply::Array(reply)).remove(0);
        if cursor == "0" {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 1000);
    rig.check("SSCAN s x => -ERR invalid cursor");
}

#[test]
fn random_pops_are_logged_as_removals() {
    let mut rig = TestEngine::new();
    rig.run("SADD s a b");
    rig.state.effects.enable();
    let mut logged = |command| {
        let reply = rig.run(command);
        let mut unit = String::new();
        rig.state.effects.finish(|bytes| {
            unit = String::from_utf8_lossy(bytes).replace("\r\n", " ");
            1
        });
        (reply, unit)
    };
    let (reply, unit) = logged("SPOP s");
    let Reply::Bulk(member) = reply else { panic!("no member") };
    let member = String::from_utf8(member).expect("a letter");
    assert_eq!(unit, format!("*2 $6 SELECT $1 0 *3 $4 SREM $1 s $1 {member} "));
    assert_eq!(logged("SPOP s 2").1, "*2 $3 DEL $1 s ");
}
