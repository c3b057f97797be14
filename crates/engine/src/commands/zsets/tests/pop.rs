use crate::{reply::Reply, test_engine::TestEngine};

fn popped(key: &str, member: &str, score: f64) -> Reply {
    Reply::Array(vec![Reply::bulk(key), Reply::bulk(member), Reply::Double(score)])
}

/// What a run of commands wrote to the log, line ends shown as spaces.
fn logged(rig: &mut TestEngine) -> String {
    let mut text = String::new();
    rig.state.effects.finish(|unit| {
        text = String::from_utf8_lossy(unit).replace("\r\n", " ");
        1
    });
    text
}

#[test]
fn pops_take_from_the_ends() {
    let mut rig = TestEngine::new();
    rig.check(
        "ZADD z 1 a 2 b 3 c 4 d 5 e => :5
         ZPOPMIN z => *2 $1 a $1 1
         ZPOPMAX z 2 => *4 $1 e $1 5 $1 d $1 4
         ZPOPMIN z 0 => *0
         ZPOPMIN z -1 => -ERR value is out of range, must be positive
         ZPOPMIN z 1 2 => -ERR syntax error
         ZMPOP 2 none z MAX => *2 $1 z *1 *2 $1 c $1 3
         ZPOPMIN z 9223372036854775807 => *2 $1 b $1 2
         ZPOPMIN z => *0
         ZMPOP 1 z MIN => *-1",
    );
    assert!(!rig.state.dbs[0].contains(b"z"));
    rig.check(
        "ZMPOP 0 z MIN => -ERR numkeys should be greater than 0
         ZMPOP 9223372036854775807 z MIN => -ERR syntax error
         ZMPOP 1 z MID => -ERR syntax error
         ZMPOP 1 z MIN COUNT 0 => -ERR count should be greater than 0
         ZMPOP 1 z MIN COUNT 1 COUNT 1 => -ERR syntax error",
    );
}

#[test]
fn a_blocking_pop_takes_what_is_there() {
    let mut rig = TestEngine::new();
    rig.check(
        "ZADD z 1 a 2 b 3 c => :3
         BZPOPMIN none z 0 => *3 $1 z $1 a $1 1
         BZPOPMAX z 0 => *3 $1 z $1 c $1 3
         BZMPOP 0 1 z MIN COUNT 5 => *2 $1 z *1 *2 $1 b $1 2
         SADD s a => :1
         BZPOPMIN s 0 => -WRONGTYPE Operation against a key holding the wrong kind of value
         BZPOPMIN z -1 => -ERR timeout is negative
         BZPOPMIN z x => -ERR timeout is not a float or out of range",
    );
}

#[test]
fn waiting_clients_are_served_in_their_order() {
    let mut rig = TestEngine::new();
    let (first, second) = (rig.connect(), rig.connect());
    assert_eq!(rig.run_as(first, "BZPOPMIN y z 0"), None);
    assert_eq!(rig.run_as(second, "BZMPOP 0 1 z MAX COUNT 2"), None);
    rig.run("ZADD z 1 a 2 b 3 c 4 d");
    assert_eq!(rig.delivered(first), [popped("z", "a", 1.0)]);
    let pair = |member, score| Reply::Array(vec![Reply::bulk(member), Reply::Double(score)]);
    let pairs = Reply::Array(vec![pair("d", 4.0), pair("c", 3.0)]);
    assert_eq!(rig.delivered(second), [Reply::Array(vec![Reply::bulk("z"), pairs])]);
    rig.check("ZRANGE z 0 -1 => *1 $1 b");
}

#[test]
fn a_waiting_client_leaves_other_types_alone() {
    let mut rig = TestEngine::new();
    let waiting = rig.connect();
    assert_eq!(rig.run_as(waiting, "BZPOPMAX z 0"), None);
    rig.run("SADD z a");
    rig.run("SPOP z");
    assert_eq!(rig.delivered(waiting), []);
    rig.run("SADD s x");
    rig.run("ZUNIONSTORE z 1 s");
    assert_eq!(rig.delivered(waiting), [popped("z", "x", 1.0)]);
}

#[test]
fn a_pop_for_a_waiting_client_is_logged_after_what_it_waited_for() {
    let mut rig = TestEngine::new();
    rig.state.effects.enable();
    let waiting = rig.connect();
    assert_eq!(rig.run_as(waiting, "BZPOPMIN z 0"), None);
    rig.run("ZADD z 1 a");
    assert_eq!(
        logged(&mut rig),
        "*1 $5 MULTI *2 $6 SELECT $1 0 *4 $4 ZADD $1 z $1 1 $1 a *2 $7 ZPOPMIN $1 z *1 $4 EXEC "
    );
}
