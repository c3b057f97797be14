//! CONFIG as clients see it; expected replies are a Redis 7.0.15's.

use crate::test_engine::TestEngine;

#[test]
fn get_matches_names_and_patterns_once() {
    TestEngine::new().check(
        "config get timeout => *2 $7 timeout $1 0
         config get timeout tim* => *2 $7 timeout $1 0
         config get TIMEOUT => *2 $7 TIMEOUT $1 0
         config get auto-aof* => *4 $25 auto-aof-rewrite-min-size $8 67108864 $27 auto-aof-rewrite-percentage $3 100
         config get colour => *0
         config get => -ERR wrong number of arguments for 'config|get' command",
    );
}

#[test]
fn set_changes_all_or_nothing() {
    TestEngine::new().check(
        "config set timeout 5 maxclients 7 => +OK
         config get timeout maxclients => *4 $10 maxclients $1 7 $7 timeout $1 5
         config set timeout 9 maxclients 0 => -ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument must be between 1 and 4294967295 inclusive
         config set timeout 9 colour red => -ERR Unknown option or number of arguments for CONFIG SET - 'colour'
         config set timeout 1 timeout 2 => -ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter
         config set timeout 1 maxclients => -ERR syntax error
         config get timeout => *2 $7 timeout $1 5",
    );
}

#[test]
fn values_are_checked_in_redis_words() {
    TestEngine::new().check(
        "config set timeout x => -ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer
         config set timeout -1 => -ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and 2147483647 inclusive
         config set auto-aof-rewrite-min-size 1xb => -ERR CONFIG SET failed (possibly related to argument 'auto-aof-rewrite-min-size') - argument must be a memory value
         config set auto-aof-rewrite-min-size 3mb => +OK
         config get auto-aof-rewrite-min-size => *2 $25 auto-aof-rewrite-min-size $7 3145728
         config set appendfsync sometimes => -ERR CONFIG SET failed (possibly related to argument 'appendfsync') - argument(s) must be one of the following: everysec, always, no
         config set client-output-buffer-limit pubsub => -ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration.",
    );
}

#[test]
fn what_cannot_change_may_be_set_to_what_it_is() {
    TestEngine::new().check(
        "config set save  => +OK
         config set maxmemory-policy noeviction => +OK
         config set databases 2 => -ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable config",
    );
}

#[test]
fn a_password_set_while_running_is_asked_of_new_clients() {
    let mut rig = TestEngine::new();
    rig.check("config set requirepass secret => +OK");
    let stranger = rig.connect_untrusted();
    assert!(rig.run_as(stranger, "ping").is_some_and(|reply| reply.is_error()));
    rig.check(
        "ping => +PONG
         config set requirepass  => +OK",
    );
    let guest = rig.connect_untrusted();
    assert!(rig.run_as(guest, "ping").is_some_and(|reply| !reply.is_error()));
}
