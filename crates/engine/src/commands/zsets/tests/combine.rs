use crate::test_engine::TestEngine;

fn rig() -> TestEngine {
    let mut rig = TestEngine::new();
    rig.run("ZADD a 1 x 2 y");
    rig.run("ZADD b 10 y 20 z");
    rig.run("SADD s y w");
    rig
}

#[test]
fn unions_and_intersections_weigh_and_join_scores() {
    rig().check(
        "ZUNION 2 a b WITHSCORES => *6 $1 x $1 1 $1 y $2 12 $1 z $2 20
         ZUNION 2 a b WEIGHTS 2 1 AGGREGATE MAX WITHSCORES => *6 $1 x $1 2 $1 y $2 10 $1 z $2 20
         ZINTER 2 a b AGGREGATE MIN WITHSCORES => *2 $1 y $1 2
         ZINTERSTORE d 2 a b WEIGHTS 1 -1 => :1
         ZRANGE d 0 -1 WITHSCORES => *2 $1 y $2 -8
         ZUNIONSTORE a 2 a a => :2
         ZRANGE a 0 -1 WITHSCORES => *4 $1 x $1 2 $1 y $1 4
         ZINTERCARD 2 a b => :1
         ZINTERCARD 2 a a LIMIT 1 => :1
         ZINTER 2 a none => *0",
    );
}

#[test]
fn plain_sets_count_as_scores_of_1() {
    rig().check(
        "ZUNION 2 a s WITHSCORES => *6 $1 w $1 1 $1 x $1 1 $1 y $1 3
         ZINTER 2 s b WEIGHTS 5 1 WITHSCORES => *2 $1 y $2 15
         ZDIFF 2 s b WITHSCORES => *2 $1 w $1 1",
    );
}

#[test]
fn differences_keep_the_first_sets_scores() {
    rig().check(
        "ZDIFF 2 b a WITHSCORES => *2 $1 z $2 20
         ZDIFFSTORE d 3 a none b => :1
         ZRANGE d 0 -1 WITHSCORES => *2 $1 x $1 1
         ZDIFFSTORE d 2 a a => :0
         ZCARD d => :0",
    );
}

#[test]
fn what_would_be_no_number_is_0() {
    TestEngine::new().check(
        "ZADD p inf m => :1
         ZADD n -inf m => :1
         ZUNION 2 p n WITHSCORES => *2 $1 m $1 0
         ZINTER 2 p n WITHSCORES => *2 $1 m $1 0
         ZUNION 1 p WEIGHTS 0 WITHSCORES => *2 $1 m $1 0",
    );
}

#[test]
fn options_fit_the_command() {
    rig().check(
        "ZUNIONSTORE d 0 a => -ERR at least 1 input key is needed for 'zunionstore' command
         ZINTERCARD -1 a => -ERR at least 1 input key is needed for 'zintercard' command
         ZUNION x a => -ERR value is not an integer or out of range
         ZUNION 2 a => -ERR syntax error
         ZUNIONSTORE d 1 a WITHSCORES => -ERR syntax error
         ZUNION 2 a b WEIGHTS 1 => -ERR syntax error
         ZUNION 2 a b WEIGHTS 1 x => -ERR weight value is not a float
         ZUNION 1 a AGGREGATE avg => -ERR syntax error
         ZDIFF 1 a WEIGHTS 1 => -ERR syntax error
         ZINTERCARD 1 a LIMIT -1 => -ERR LIMIT can't be negative
         ZINTERCARD 1 a AGGREGATE SUM => -ERR syntax error",
    );
}
