mod add;
mod combine;
mod pop;
mod range;

use crate::{reply::Reply, test_engine::TestEngine};

#[test]
fn random_members_are_distinct_unless_the_count_is_negative() {
    let mut rig = TestEngine::new();
    for n in 0..200 {
        rig.run(&format!("ZADD z {n} m{n}"));
    }
    for (count, expected) in [("0", 0), ("10", 10), ("150", 150), ("900", 200), ("-900", 900)] {
        let Reply::Array(items) = rig.run(&format!("ZRANDMEMBER z {count}")) else {
            panic!("no array");
        };
        assert_eq!(items.len(), expected);
        if !count.starts_with('-') {
            let distinct: std::collections::HashSet<String> =
                items.iter().map(|item| format!("{item:?}")).collect();
            assert_eq!(distinct.len(), expected);
        }
    }
    rig.check(
        "ZADD y 1 a => :1
         ZRANDMEMBER y => $1 a
         ZRANDMEMBER y 5 WITHSCORES => *2 $1 a $1 1
         ZRANDMEMBER y -2 => *2 $1 a $1 a
         ZRANDMEMBER none => $-1
         ZRANDMEMBER none 5 => *0
         ZRANDMEMBER y 5 x => -ERR syntax error
         ZRANDMEMBER y 4611686018427387904 WITHSCORES => -ERR value is out of range
         ZRANDMEMBER y 4611686018427387904 => *1 $1 a",
    );
}

#[test]
fn zscan_shows_scores_as_text() {
    TestEngine::new().check(
        "ZADD z 1.5 a 1e17 b => :2
         ZSCAN z 0 => *2 $1 0 *4 $1 a $3 1.5 $1 b $18 100000000000000000
         ZSCAN z 0 MATCH b* => *2 $1 0 *2 $1 b $18 100000000000000000
         ZSCAN none 0 MATCH => *2 $1 0 *0
         ZSCAN z 0 COUNT 0 => -ERR syntax error",
    );
}

#[test]
fn newer_protocol_pairs_members_with_scores() {
    let mut rig = TestEngine::new();
    rig.run("ZADD z 1 a 2 b");
    rig.state.clients.get_mut(0).expect("the first client").resp = 3;
    let pair = |member, score| Reply::Array(vec![Reply::bulk(member), Reply::Double(score)]);
    let pairs = Reply::Array(vec![pair("a", 1.0), pair("b", 2.0)]);
    assert_eq!(rig.run("ZRANGE z 0 -1 WITHSCORES"), pairs);
    assert_eq!(rig.run("ZUNION 1 z WITHSCORES"), pairs);
    assert_eq!(rig.run("ZPOPMIN z 2"), pairs);
    rig.run("ZADD z 1 a");
    assert_eq!(rig.run("ZPOPMIN z"), Reply::Array(vec![Reply::bulk("a"), Reply::Double(1.0)]));
}
