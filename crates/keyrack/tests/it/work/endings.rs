//! How a worker ends when it cannot work.

use tempfile::TempDir;

use crate::{
    program::{Run, Serve},
    world::World,
};

#[test]
fn unknown_program_is_told_before_any_job_is_taken() {
    let world = World::new();
    let jid = world.submit("1");
    let mut command = world.keyrack("work q");
    command.args(["--", "no-such-program"]);
    let run = Run::of(command);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(run.failure().0, "error: there is no program \"no-such-program\"");
    assert_eq!(world.status(&jid), "queued");
}

#[test]
fn command_has_to_be_given_once() {
    assert_eq!(Run::line("work q").code, Some(2));
    assert_eq!(Run::line("work q --exec true -- true").code, Some(2));
}

#[test]
fn paused_queue_is_not_drained_for_ever() {
    let world = World::new();
    world.submit("1");
    assert_eq!(world.run("jobs pause q").code, Some(0));
    let run = world.run("work q --drain --exec true");
    assert_eq!(run.code, Some(4), "{run:?}");
    let (error, hint) = run.failure();
    assert!(error.contains("the queue \"q\" is paused"), "{error}");
    assert_eq!(hint, Some("hint: let them with: keyrack jobs resume \"q\""));
}

#[test]
fn folder_of_a_running_server_is_refused_with_the_way_to_reach_it() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let resp = format!("redis://{}", serve.resp());
    // The file says where the server is reached.
    let file = format!("resp = '{}'", serve.resp());
    std::fs::write(dir.path().join("keyrack.toml"), file).expect("written");
    for line in ["work q --exec true", "jobs stats", "jobs submit q 1"] {
        let run = Run::line_in(dir.path(), line);
        assert_eq!(run.code, Some(4), "{run:?}");
        let way = format!("--store {resp},");
        assert!(run.failure().1.is_some_and(|hint| hint.contains(&way)), "{run:?}");
    }
    let run = Run::line_in(dir.path(), &format!("jobs submit q 1 --store {resp}"));
    assert_eq!(run.code, Some(0), "{run:?}");
    let run = Run::line_in(dir.path(), &format!("work q --drain --exec true --store {resp}"));
    assert!(run.stderr.ends_with("stopped: 1 completed\n"), "{run:?}");
}
