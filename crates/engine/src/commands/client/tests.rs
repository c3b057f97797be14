//! CLIENT as clients see it; expected replies are a Redis 7.0.15's.

use crate::{reply::Reply, test_engine::TestEngine};

fn lines(reply: Reply) -> Vec<String> {
    match reply {
        Reply::Verbatim(text) => text.lines().map(str::to_owned).collect(),
        other => panic!("{other:?} is no list of clients"),
    }
}

#[test]
fn a_client_has_a_number_and_may_have_a_name() {
    TestEngine::new().check(
        "client id => :1
         client getname => $-1
         client setname me => +OK
         client getname => $2 me
         client setname  => +OK
         client getname => $-1
         client setinfo lib-name any => +OK
         client setinfo lib-colour red => -ERR Unrecognized option 'lib-colour'
         client setname a\tb => -ERR Client names cannot contain spaces, newlines or special characters.",
    );
}

#[test]
fn list_shows_everybody_in_order_of_arrival() {
    let mut rig = TestEngine::new();
    let (listener, waiter) = (rig.connect(), rig.connect());
    rig.run_as(listener, "subscribe a b");
    rig.run_as(waiter, "blpop l 0");
    rig.clock.advance_ms(2500);
    let all = lines(rig.run("client list"));
    assert_eq!(all.len(), 3);
    assert!(all[0].starts_with("id=1 ") && all[0].contains(" cmd=client|list "), "{}", all[0]);
    assert!(all[1].contains(" age=2 idle=2 flags=P db=0 sub=2 "), "{}", all[1]);
    assert!(all[2].contains(" flags=b ") && all[2].contains(" cmd=blpop "), "{}", all[2]);
    assert_eq!(lines(rig.run("client list type pubsub")), all[1..2]);
    assert_eq!(lines(rig.run("client list id 3 9")), all[2..]);
    rig.check(
        "client list type some => -ERR Unknown client type 'some'
         client list id x => -ERR Invalid client ID
         client list id => -ERR syntax error",
    );
}

#[test]
fn kill_closes_those_who_fit() {
    let mut rig = TestEngine::new();
    let (listener, other) = (rig.connect(), rig.connect());
    rig.run_as(listener, "subscribe a");
    rig.check(
        "client kill type pubsub => :1
         client kill id 3 type pubsub => :0
         client kill 127.0.0.1:1 => -ERR No such client
         client kill id 0 => -ERR client-id should be greater than 0
         client kill id 3 skipme => -ERR syntax error
         client kill user nobody => -ERR No such user 'nobody'",
    );
    let closed = [Reply::Status("closed".into())];
    assert_eq!(rig.delivered(listener), closed);
    assert_eq!(rig.delivered(other), []);
}

#[test]
fn kill_spares_the_client_itself_unless_told_otherwise() {
    let mut rig = TestEngine::new();
    rig.check("client kill id 1 => :0");
    assert!(!rig.execute(0, "ping").close);
    assert!(rig.execute(0, "client kill id 1 skipme no").close);
}

#[test]
fn unblock_answers_as_asked() {
    let mut rig = TestEngine::new();
    let waiter = rig.connect();
    rig.run_as(waiter, "blpop l 0");
    rig.check(
        "client unblock 2 => :1
         client unblock 2 => :0
         client unblock 1 => :0
         client unblock x => -ERR value is not an integer or out of range
         client unblock 1 now => -ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
    );
    assert_eq!(rig.delivered(waiter), [Reply::NilArray]);
    rig.run_as(waiter, "blpop l 0");
    rig.check("client unblock 2 error => :1");
    assert!(
        matches!(&rig.delivered(waiter)[..], [Reply::Error(error)] if error.code() == "UNBLOCKED")
    );
}

#[test]
fn replies_can_be_turned_off() {
    let mut rig = TestEngine::new();
    let mut replies = |commands: &[&str]| -> Vec<Reply> {
        commands.iter().map(|command| rig.run(command)).collect()
    };
    let pong = || Reply::Status("PONG".into());
    assert_eq!(replies(&["client reply skip", "ping", "ping"]), [Reply::None, Reply::None, pong()]);
    assert_eq!(
        replies(&["client reply off", "ping", "client reply skip", "client reply on", "ping"]),
        [Reply::None, Reply::None, Reply::None, Reply::OK, pong()]
    );
}

#[test]
fn reply_off_silences_answers_but_no_messages() {
    let mut rig = TestEngine::new();
    assert_eq!(rig.run("client reply off"), Reply::None);
    assert_eq!(rig.run("ping"), Reply::None);
    let confirmed = |reply: Reply| matches!(reply, Reply::Several(messages) if messages.len() == 1);
    assert!(confirmed(rig.run("subscribe a")));
    assert!(confirmed(rig.run("unsubscribe a")));
    rig.run("client reply on");
    rig.run("client reply skip");
    assert!(confirmed(rig.run("subscribe a")), "a message is not skipped");
    assert!(confirmed(rig.run("unsubscribe a")));
    assert_ne!(rig.run("ping"), Reply::None, "the command after SKIP was skipped");
}
