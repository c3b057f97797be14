//! Lists as clients see them; expected replies are a Redis 7.0.15's.

use crate::{reply::Reply, test_engine::TestEngine};

#[test]
fn pushes_add_item_by_item() {
    TestEngine::new().check(
        "rpush l a b c => :3
         lpush l x y => :5
         lrange l 0 -1 => *5 $1 y $1 x $1 a $1 b $1 c
         lpushx l z => :6
         rpushx nope z => :0
         llen nope => :0",
    );
}

#[test]
fn pops_remove_the_emptied_list() {
    TestEngine::new().check(
        "rpush l a b c d => :4
         lpop l => $1 a
         rpop l 2 => *2 $1 d $1 c
         lpop l 0 => *0
         lpop l 5 => *1 $1 b
         llen l => :0
         lpop l => $-1
         lpop l 1 => *-1
         lpop l x => -ERR value is out of range, must be positive
         lpop l 1 2 => -ERR wrong number of arguments for 'lpop' command",
    );
}

#[test]
fn positions_count_from_either_end() {
    TestEngine::new().check(
        "rpush l a b c d => :4
         lrange l -100 1 => *2 $1 a $1 b
         lrange l 2 100 => *2 $1 c $1 d
         lrange l 3 2 => *0
         lrange l 4 9 => *0
         lindex l -1 => $1 d
         lindex l 4 => $-1
         lindex l -9223372036854775808 => $-1
         lset l -4 A => +OK
         lset l 4 x => -ERR index out of range
         lset nope x x => -ERR no such key
         ltrim l 1 -2 => +OK
         lrange l 0 -1 => *2 $1 b $1 c
         ltrim l 5 0 => +OK
         llen l => :0",
    );
}

#[test]
fn lpos_counts_matches_from_the_side_of_its_rank() {
    TestEngine::new().check(
        "rpush l a b c a b a => :6
         lpos l a => :0
         lpos l a rank 2 => :3
         lpos l a rank -1 => :5
         lpos l a rank -2 count 0 => *2 :3 :0
         lpos l a count 2 => *2 :0 :3
         lpos l a count 0 maxlen 4 => *2 :0 :3
         lpos l a maxlen 1 rank -2 => $-1
         lpos l z => $-1
         lpos l z count 0 => *0
         lpos l a rank -9223372036854775808 => :5
         lpos l a count -1 => -ERR COUNT can't be negative
         lpos l a rank => -ERR syntax error",
    );
}

#[test]
fn lrem_takes_from_the_side_of_its_sign() {
    TestEngine::new().check(
        "rpush l a b a c a b a => :7
         lrem l 1 a => :1
         lrange l 0 -1 => *6 $1 b $1 a $1 c $1 a $1 b $1 a
         lrem l -2 a => :2
         lrange l 0 -1 => *4 $1 b $1 a $1 c $1 b
         lrem l 5 b => :2
         lrem l 0 a => :1
         lrem l -1 c => :1
         llen l => :0
         lrem l 0 a => :0",
    );
}

#[test]
fn linsert_needs_its_pivot() {
    TestEngine::new().check(
        "rpush l a b => :2
         linsert l before b x => :3
         linsert l AFTER b y => :4
         linsert l after z y => :-1
         linsert nope before a b => :0
         linsert nope beside a b => -ERR syntax error
         lrange l 0 -1 => *4 $1 a $1 x $1 b $1 y",
    );
}

#[test]
fn a_move_to_the_same_list_rotates_it() {
    TestEngine::new().check(
        "rpush l a b c => :3
         rpoplpush l l => $1 c
         lmove l l left right => $1 c
         lrange l 0 -1 => *3 $1 a $1 b $1 c
         lmove l m right left => $1 c
         lmove nope m left left => $-1
         lmove l m left middle => -ERR syntax error
         lrange m 0 -1 => *1 $1 c",
    );
}

#[test]
fn lmpop_takes_from_the_first_list_that_has_items() {
    TestEngine::new().check(
        "rpush l a b c => :3
         lmpop 2 nope l right count 2 => *2 $1 l *2 $1 c $1 b
         lmpop 1 nope left => *-1
         lmpop 0 l left => -ERR numkeys should be greater than 0
         lmpop 2 l left => -ERR syntax error
         lmpop 1 l left count 0 => -ERR count should be greater than 0
         lmpop 1 l left count 1 count 1 => -ERR syntax error
         llen l => :1",
    );
}

fn waits(rig: &mut TestEngine, client: usize, command: &str) {
    assert_eq!(rig.run_as(client, command), None, "{command} waits");
}

fn pair(key: &str, item: &str) -> Reply {
    Reply::bulks([key, item])
}

#[test]
fn waiting_clients_are_served_in_order_of_arrival() {
    let mut rig = TestEngine::new();
    let (first, second) = (rig.connect(), rig.connect());
    waits(&mut rig, first, "blpop l m 0");
    waits(&mut rig, second, "brpop l 0");
    rig.check("rpush l a b c => :3");
    assert_eq!(rig.delivered(first), [pair("l", "a")]);
    assert_eq!(rig.delivered(second), [pair("l", "c")]);
    rig.check("lrange l 0 -1 => *1 $1 b");
}

#[test]
fn a_served_move_serves_who_waits_for_its_destination() {
    let mut rig = TestEngine::new();
    let (mover, popper) = (rig.connect(), rig.connect());
    waits(&mut rig, popper, "blmpop 0 1 m left count 10");
    waits(&mut rig, mover, "blmove l m left right 0");
    rig.check("rpush l a => :1");
    assert_eq!(rig.delivered(mover), [Reply::bulk("a")]);
    let popped = Reply::Array(vec![Reply::bulk("m"), Reply::bulks(["a"])]);
    assert_eq!(rig.delivered(popper), [popped]);
    rig.check("llen m => :0");
}

#[test]
fn a_wait_ends_with_nil_at_its_deadline() {
    let mut rig = TestEngine::new();
    let client = rig.connect();
    waits(&mut rig, client, "blpop l 0.25");
    for (ms, delivered) in [(249, 0), (1, 1)] {
        rig.clock.advance_ms(ms);
        rig.state.freeze_time();
        rig.state.end_overdue_waits();
        assert_eq!(rig.delivered(client).len(), delivered);
    }
    rig.check("rpush l a => :1");
    assert_eq!(rig.delivered(client), []);
}

#[test]
fn blocking_commands_answer_at_once_where_there_is_data() {
    TestEngine::new().check(
        "rpush l a b c => :3
         blpop nope l 0 => *2 $1 l $1 a
         brpoplpush l m 0 => $1 c
         blmpop 0 1 l left => *2 $1 l *1 $1 b
         blpop m -1 => -ERR timeout is negative
         blpop m x => -ERR timeout is not a float or out of range
         blmpop x 0 l left => -ERR numkeys should be greater than 0",
    );
}

#[test]
fn the_log_has_what_was_done_and_never_a_wait() {
    let mut rig = TestEngine::new();
    rig.run("rpush l a b c d e f");
    let cases = [
        ("blpop nope l 0", "LPOP l"),
        ("brpop l 0", "RPOP l"),
        ("blmove l m left right 0", "LMOVE l m LEFT RIGHT"),
        ("brpoplpush l m 0", "LMOVE l m RIGHT LEFT"),
        ("blmpop 0 2 nope l left count 1", "LPOP l 1"),
        ("lpop nope", ""),
        ("ltrim l 0 -1", ""),
        ("lrem l 0 nope", ""),
        ("lpop l 0", ""),
        ("lmpop 1 l right", "RPOP l 1"),
    ];
    for (command, logged) in cases {
        assert_eq!(rig.logged(command), logged, "{command}");
    }
}
