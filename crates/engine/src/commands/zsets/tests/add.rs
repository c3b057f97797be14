use crate::test_engine::TestEngine;

#[test]
fn zadd_counts_new_members_or_with_ch_changed_ones() {
    TestEngine::new().check(
        "ZADD z 1 a 2 b 3 a => :2
         ZADD z CH 1 a 2 b 4 c => :2
         ZADD z 5 a => :0
         ZMSCORE z a b c d => *4 $1 5 $1 2 $1 4 $-1
         ZSCORE z a => $1 5
         ZSCORE z d => $-1
         ZCARD z => :3",
    );
}

#[test]
fn options_guard_old_scores() {
    TestEngine::new().check(
        "ZADD z XX 1 a => :0
         ZCARD z => :0
         ZADD z NX 1 a => :1
         ZADD z NX CH 9 a => :0
         ZADD z XX CH 2 a 1 b => :1
         ZADD z GT CH 1 a => :0
         ZADD z GT CH 3 a 5 n => :2
         ZADD z LT CH 4 a => :0
         ZADD z lt ch 1 a => :1
         ZADD z NX INCR 1 a => $-1
         ZADD z XX INCR 1 none => $-1
         ZADD z GT INCR -1 a => $-1
         ZADD z INCR 1.5 a => $3 2.5
         ZADD none XX INCR 1 a => $-1
         ZINCRBY z 0.5 a => $1 3",
    );
}

#[test]
fn zadd_says_what_is_wrong_before_it_looks_at_the_key() {
    TestEngine::new().check(
        "SADD s a => :1
         ZADD s 1 => -ERR wrong number of arguments for 'zadd' command
         ZADD s 1 a 2 => -ERR syntax error
         ZADD s NX XX 1 a => -ERR XX and NX options at the same time are not compatible
         ZADD s GT NX 1 a => -ERR GT, LT, and/or NX options at the same time are not compatible
         ZADD s GT LT 1 a => -ERR GT, LT, and/or NX options at the same time are not compatible
         ZADD s INCR 1 a 2 b => -ERR INCR option supports a single increment-element pair
         ZADD s nan a => -ERR value is not a valid float
         ZADD s 1e-400 a => -ERR value is not a valid float
         ZADD s 1 a x b => -ERR value is not a valid float
         ZINCRBY s NX a => -ERR syntax error
         ZADD s 1 a => -WRONGTYPE Operation against a key holding the wrong kind of value
         ZADD new x a => -ERR value is not a valid float
         ZCARD new => :0",
    );
}

#[test]
fn opposite_infinities_make_no_score() {
    TestEngine::new().check(
        "ZADD z inf a => :1
         ZINCRBY z -inf a => -ERR resulting score is not a number (NaN)
         ZADD z INCR -inf a => -ERR resulting score is not a number (NaN)
         ZSCORE z a => $3 inf",
    );
}

#[test]
fn negative_zero_is_zero_in_a_small_set() {
    TestEngine::new().check(
        "ZADD z -0 a => :1
         ZSCORE z a => $1 0
         ZADD z CH 0 a => :0",
    );
}

#[test]
fn removals_count_members_and_leave_no_empty_set() {
    let mut rig = TestEngine::new();
    rig.check(
        "ZADD z 1 a 2 b 3 c 4 d => :4
         ZREM z a none a => :1
         ZREMRANGEBYRANK z 0 0 => :1
         ZREMRANGEBYSCORE z (3 4 => :1
         ZREMRANGEBYLEX z [x + => :0
         ZREMRANGEBYLEX z - + => :1
         ZREM z c => :0",
    );
    assert!(!rig.state.dbs[0].contains(b"z"));
    rig.check(
        "ZREMRANGEBYRANK none x 1 => -ERR value is not an integer or out of range
         ZREMRANGEBYSCORE none x 1 => -ERR min or max is not a float
         ZREMRANGEBYLEX none x 1 => -ERR min or max not valid string range item",
    );
}

#[test]
fn a_range_removed_from_a_large_set_leaves_the_rest_in_order() {
    let mut rig = TestEngine::new();
    for n in 0..500 {
        rig.run(&format!("ZADD z {n} m{n:03}"));
    }
    rig.check(
        "ZREMRANGEBYSCORE z 10 (490 => :480
         ZCARD z => :20
         ZRANK z m490 => :10
         ZREVRANK z m009 => :10
         ZREMRANGEBYRANK z -1 -1 => :1
         ZRANGE z -1 -1 => *1 $4 m498",
    );
}
