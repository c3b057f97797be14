use std::collections::BTreeSet;

use crate::{reply::Reply, test_engine::TestEngine};

/// A hash with enough fields to be a table: `0` to `599`, each its own value.
fn large() -> TestEngine {
    let mut rig = TestEngine::new();
    for n in 0..600 {
        rig.run(&format!("hset h {n} {n}"));
    }
    rig.check("object encoding h => $9 hashtable");
    rig
}

fn texts(reply: &Reply) -> Vec<String> {
    let Reply::Array(items) = reply else { panic!("{reply:?} is no array") };
    let text = |item: &Reply| match item {
        Reply::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?} is no bulk string"),
    };
    items.iter().map(text).collect()
}

#[test]
fn fields_are_set_read_and_removed() {
    TestEngine::new().check(
        "
        hset h a 1 b 2 => :2
        hset h a 3 c 4 a 5 => :1
        hget h a => $1 5
        hget h none => $-1
        hget none a => $-1
        hmget h a none b => *3 $1 5 $-1 $1 2
        hmget none a b => *2 $-1 $-1
        hgetall h => *6 $1 a $1 5 $1 b $1 2 $1 c $1 4
        hgetall none => *0
        hkeys h => *3 $1 a $1 b $1 c
        hvals h => *3 $1 5 $1 2 $1 4
        hlen h => :3
        hlen none => :0
        hexists h a => :1
        hexists h none => :0
        hstrlen h a => :1
        hstrlen h none => :0
        hmset h d 6 => +OK
        hsetnx h d 7 => :0
        hsetnx h e 7 => :1
        hdel h a a none => :1
        hdel h b c d e => :4
        exists h => :0
        hdel none a => :0
        ",
    );
}

#[test]
fn fields_come_with_values() {
    TestEngine::new().check(
        "
        hset h a => -ERR wrong number of arguments for 'hset' command
        hset h a 1 b => -ERR wrong number of arguments for 'hset' command
        hmset h a 1 b => -ERR wrong number of arguments for 'hmset' command
        exists h => :0
        ",
    );
}

#[test]
fn integer_fields_count_up_to_their_limits() {
    TestEngine::new().check(
        "
        hincrby h n 5 => :5
        hincrby h n -7 => :-2
        hincrby h n x => -ERR value is not an integer or out of range
        hset h s text f 1.5 m 9223372036854775807 => :3
        hincrby h s 1 => -ERR hash value is not an integer
        hincrby h f 1 => -ERR hash value is not an integer
        hincrby h m 1 => -ERR increment or decrement would overflow
        ",
    );
}

#[test]
fn float_fields_count_without_infinity() {
    TestEngine::new().check(
        "
        hset h f 1.5 n -2 s text i inf => :4
        hincrbyfloat h f 0.1 => $3 1.6
        hincrbyfloat h n 0.10 => $4 -1.9
        hincrbyfloat h s 1 => -ERR hash value is not a float
        hincrbyfloat h f x => -ERR value is not a valid float
        hincrbyfloat h f inf => -ERR value is NaN or Infinity
        hincrbyfloat h i 1 => -ERR increment would produce NaN or Infinity
        hincrbyfloat none a inf => -ERR value is NaN or Infinity
        exists none => :0
        ",
    );
}

#[test]
fn arguments_are_checked_before_the_type() {
    TestEngine::new().check(
        "
        set s v => +OK
        hset s a => -ERR wrong number of arguments for 'hset' command
        hset s a 1 => -WRONGTYPE Operation against a key holding the wrong kind of value
        hincrby s a x => -ERR value is not an integer or out of range
        hincrby s a 1 => -WRONGTYPE Operation against a key holding the wrong kind of value
        hincrbyfloat s a inf => -ERR value is NaN or Infinity
        hincrbyfloat s a 1 => -WRONGTYPE Operation against a key holding the wrong kind of value
        hrandfield s => -WRONGTYPE Operation against a key holding the wrong kind of value
        hrandfield s x => -ERR value is not an integer or out of range
        hrandfield s 1 foo => -ERR syntax error
        hscan s x => -ERR invalid cursor
        hscan s 0 bogus => -WRONGTYPE Operation against a key holding the wrong kind of value
        hgetall s => -WRONGTYPE Operation against a key holding the wrong kind of value
        ",
    );
}

#[test]
fn random_fields_follow_the_count() {
    TestEngine::new().check(
        "
        hset h a 1 => :1
        hrandfield h => $1 a
        hrandfield h 5 => *1 $1 a
        hrandfield h -3 => *3 $1 a $1 a $1 a
        hrandfield h -2 WITHVALUES => *4 $1 a $1 1 $1 a $1 1
        hrandfield h 2 withvalues => *2 $1 a $1 1
        hrandfield h 0 => *0
        hrandfield none => $-1
        hrandfield none 3 => *0
        hrandfield h x => -ERR value is not an integer or out of range
        hrandfield h 1 foo => -ERR syntax error
        hrandfield h 1 withvalues foo => -ERR syntax error
        hrandfield h -9223372036854775808 => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
        hrandfield h -9223372036854775807 => -ERR value is out of range
        hrandfield h 4611686018427387904 withvalues => -ERR value is out of range
        hrandfield h 9223372036854775807 => *1 $1 a
        ",
    );
}

#[test]
fn random_fields_of_a_table_are_distinct_unless_the_count_is_negative() {
    let mut rig = large();
    for n in [1, 10, 199, 200, 599, 600] {
        let fields = texts(&rig.run(&format!("hrandfield h {n}")));
        assert_eq!(fields.len(), n);
        assert_eq!(fields.iter().collect::<BTreeSet<_>>().len(), n);
    }
    assert_eq!(texts(&rig.run("hrandfield h 1000")).len(), 600);
    let fields = texts(&rig.run("hrandfield h -2000"));
    assert_eq!(fields.len(), 2000);
    assert!(fields.iter().collect::<BTreeSet<_>>().len() > 500);
}

#[test]
fn resp3_clients_get_random_fields_in_pairs() {
    let mut rig = TestEngine::new();
    rig.run("hset h a 1");
    rig.state.clients.get_mut(0).expect("the first client").resp = 3;
    let pair = Reply::bulks(["a", "1"]);
    assert_eq!(rig.run("hrandfield h 1 withvalues"), Reply::Array(vec![pair]));
}

#[test]
fn a_small_hash_is_scanned_at_once() {
    TestEngine::new().check(
        "
        hset h a 1 => :1
        hscan h 0 => *2 $1 0 *2 $1 a $1 1
        hscan h 0 match b* => *2 $1 0 *0
        hscan h 7 COUNT 1 => *2 $1 0 *2 $1 a $1 1
        hscan h 0 count 0 => -ERR syntax error
        hscan h 0 type hash => -ERR syntax error
        hscan h x => -ERR invalid cursor
        hscan none 0 bogus => *2 $1 0 *0
        ",
    );
}

#[test]
fn a_large_hash_is_scanned_in_parts_that_cover_it() {
    let mut rig = large();
    let (mut cursor, mut n_calls, mut fields) = (String::from("0"), 0, BTreeSet::new());
    loop {
        let Reply::Array(parts) = rig.run(&format!("hscan h {cursor} count 20")) else {
            panic!("a scan answers an array")
        };
        fields.extend(texts(&parts[1]).into_iter().step_by(2));
        n_calls += 1;
        cursor = texts(&Reply::Array(vec![parts[0].clone()])).remove(0);
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(fields.len(), 600);
    assert!((20..=60).contains(&n_calls), "{n_calls}");
}

#[test]
fn the_log_has_results() {
    let mut rig = TestEngine::new();
    assert_eq!(rig.logged("hincrbyfloat h f 1.50"), "HSET h f 1.5");
    assert_eq!(rig.logged("hset h a 1"), "hset h a 1");
    assert_eq!(rig.logged("hsetnx h a 1"), "");
    assert_eq!(rig.logged("hdel h none"), "");
    assert_eq!(rig.logged("hincrby h a x"), "");
}
