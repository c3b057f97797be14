use crate::{reply::Reply, test_engine::TestEngine};

fn rig() -> TestEngine {
    let mut rig = TestEngine::new();
    rig.run("ZADD z 1 a 2 b 3 c 4 d");
    rig.run("ZADD l 0 a 0 b 0 c 0 d");
    rig
}

#[test]
fn ranks_count_from_both_ends() {
    rig().check(
        "ZRANGE z 0 1 => *2 $1 a $1 b
         ZRANGE z -2 -1 WITHSCORES => *4 $1 c $1 3 $1 d $1 4
         ZRANGE z 0 0 REV => *1 $1 d
         ZREVRANGE z 1 2 => *2 $1 c $1 b
         ZRANGE z 3 1 => *0
         ZRANGE z 9 20 => *0
         ZRANGE z -9223372036854775808 9223372036854775807 => *4 $1 a $1 b $1 c $1 d
         ZRANGE z 0 -9 => *0
         ZRANGE none 0 -1 => *0",
    );
}

#[test]
fn scores_have_open_and_closed_ends() {
    rig().check(
        "ZRANGEBYSCORE z 2 3 => *2 $1 b $1 c
         ZRANGEBYSCORE z (2 (3 => *0
         ZRANGEBYSCORE z (2 +inf => *2 $1 c $1 d
         ZRANGEBYSCORE z -inf +inf LIMIT 1 2 => *2 $1 b $1 c
         ZRANGEBYSCORE z -inf +inf LIMIT 1 -1 => *3 $1 b $1 c $1 d
         ZRANGEBYSCORE z -inf +inf LIMIT -1 2 => *0
         ZRANGEBYSCORE z -inf +inf LIMIT 9 2 => *0
         ZREVRANGEBYSCORE z 3 1 LIMIT 1 5 WITHSCORES => *4 $1 b $1 2 $1 a $1 1
         ZRANGE z 3 1 BYSCORE REV LIMIT 0 1 => *1 $1 c
         ZRANGE z 3 1 BYSCORE => *0
         ZCOUNT z 1 (4 => :3
         ZCOUNT z 4 1 => :0
         ZCOUNT z 1e999 inf => :0
         ZCOUNT z 1 x => -ERR min or max is not a float",
    );
}

#[test]
fn members_of_one_score_have_ranges_of_their_own() {
    let mut rig = rig();
    for n in 0..300 {
        rig.run(&format!("ZADD large 7 m{n:03}"));
    }
    rig.check(
        "ZRANGEBYLEX l [b (d => *2 $1 b $1 c
         ZRANGEBYLEX l - + LIMIT 1 2 => *2 $1 b $1 c
         ZREVRANGEBYLEX l (d - => *3 $1 c $1 b $1 a
         ZRANGE l + [c BYLEX REV => *2 $1 d $1 c
         ZRANGEBYLEX l + - => *0
         ZRANGEBYLEX l (b (b => *0
         ZLEXCOUNT l - (d => :3
         ZLEXCOUNT l a d => -ERR min or max not valid string range item
         ZLEXCOUNT large [m100 (m200 => :100
         ZRANGEBYLEX large (m150 + LIMIT 1 1 => *1 $4 m152
         ZREVRANGEBYLEX large (m150 - LIMIT 0 1 => *1 $4 m149",
    );
}

#[test]
fn ranges_of_members_with_different_scores_find_something_or_nothing() {
    let mut rig = TestEngine::new();
    for n in 0..1000 {
        rig.run(&format!("ZADD z {} m{n:03}", (n * 7919) % 1000));
    }
    let mut n_left = 1000;
    for n in (0..1000).step_by(7) {
        let range = format!("z [m{n:03} (m{:03}", (n * 31) % 1000);
        let Reply::Array(found) = rig.run(&format!("ZRANGEBYLEX {range}")) else {
            panic!("no members");
        };
        assert_eq!(rig.run(&format!("ZLEXCOUNT {range}")), Reply::Int(found.len() as i64));
        let first_few = rig.run(&format!("ZREVRANGEBYLEX z (m{n:03} - LIMIT 3 5"));
        assert!(matches!(first_few, Reply::Array(items) if items.len() <= 5));
        rig.run(&format!("ZREMRANGEBYLEX {range}"));
        n_left -= found.len() as i64;
        assert_eq!(rig.run("ZCARD z"), Reply::Int(n_left));
    }
}

#[test]
fn options_are_refused_where_the_name_decides() {
    rig().check(
        "ZRANGE z 0 1 LIMIT 0 1 => -ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
         ZRANGE l - + BYLEX WITHSCORES => -ERR syntax error, WITHSCORES not supported in combination with BYLEX
         ZRANGE z 0 1 BYSCORE BYLEX => -ERR syntax error
         ZRANGE z 0 1 REV REV => -ERR syntax error
         ZREVRANGE z 0 1 REV => -ERR syntax error
         ZRANGEBYSCORE z 0 1 BYSCORE => -ERR syntax error
         ZRANGEBYSCORE z 0 1 LIMIT 0 => -ERR syntax error
         ZRANGEBYSCORE z 0 1 LIMIT x 1 => -ERR value is not an integer or out of range
         ZRANGESTORE d z 0 1 WITHSCORES => -ERR syntax error
         ZRANGE z 0 1 LIMIT 3 -1 => *2 $1 a $1 b",
    );
}

#[test]
fn a_stored_range_replaces_what_was_there() {
    rig().check(
        "SADD d x => :1
         ZRANGESTORE d z 0 1 REV => :2
         ZRANGE d 0 -1 WITHSCORES => *4 $1 c $1 3 $1 d $1 4
         ZRANGESTORE d z (2 3 BYSCORE => :1
         ZRANGE d 0 -1 => *1 $1 c
         ZRANGESTORE d none 0 1 => :0
         ZCARD d => :0",
    );
}
