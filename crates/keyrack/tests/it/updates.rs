//! `keyrack updates`, and announcing over HTTP.

use std::{fs, path::PathBuf, process::Command};

use keyrack_testkit::{Process, wait_until};
use tempfile::TempDir;

use crate::{
    program::{Run, Serve, keyrack},
    world::World,
};

/// A follower, whose command adds a line to a file.
struct Follower {
    process: Process,
    log: PathBuf,
    lines: PathBuf,
}

impl Follower {
    fn start(world: &World, name: &str, options: &str, exec: &str) -> Follower {
        let (log, lines) = (world.path(&format!("{name}.log")), world.path(name));
        let mut command = world.keyrack(&format!("updates follow backend {options}"));
        command.args(["--exec", exec]).env("LINES_FILE", &lines);
        command.stderr(fs::File::create(&log).expect("a log"));
        let process = Process::spawn("keyrack updates follow", command);
        let follower = Follower { process, log, lines };
        wait_until("the follower to follow", || follower.words().contains("following"));
        follower
    }

    fn words(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }

    fn count(&self) -> usize {
        fs::read_to_string(&self.lines).unwrap_or_default().lines().count()
    }
}

const APPEND: &str = "echo $KEYRACK_REPO >> $LINES_FILE";

#[test]
fn a_command_is_run_for_each_update() {
    let world = World::new();
    let mut follower = Follower::start(&world, "f", "", APPEND);
    for n in 1..=3 {
        let run = world.run("updates announce backend");
        assert_eq!((run.code, &*run.stderr), (Some(0), "announced; 1 follower heard it\n"));
        wait_until("the command to be run", || follower.words().matches("updated").count() == n);
    }
    world.run("updates announce jobs");
    assert!(follower.process.terminate().success());
    assert_eq!(fs::read_to_string(&follower.lines).expect("lines"), "backend\n".repeat(3));
}

#[test]
fn updates_that_come_while_the_command_runs_are_one_more() {
    let world = World::new();
    let (begun, go_on) = (world.path("begun"), world.path("go-on"));
    let exec = format!(
        "{APPEND}; touch {}; while [ ! -e {} ]; do sleep 0.01; done",
        begun.display(),
        go_on.display()
    );
    let mut follower = Follower::start(&world, "f", "", &exec);
    world.run("updates announce backend");
    wait_until("the command to begin", || begun.exists());
    for _ in 0..3 {
        world.run("updates announce backend");
    }
    fs::write(&go_on, "").expect("a file");
    wait_until("the second run", || follower.words().matches("updated").count() == 2);
    assert!(follower.process.terminate().success());
    assert_eq!(follower.count(), 2);
}

#[test]
fn a_fleet_updates_one_at_a_time_and_each_of_it() {
    let world = World::new();
    let busy = world.path("busy");
    // A folder can be made by one only.
    let exec = format!("mkdir {0} && {APPEND} && rmdir {0}", busy.display());
    let mut fleet: Vec<Follower> = ["a", "b", "c"]
        .into_iter()
        .map(|name| Follower::start(&world, name, "--one-at-a-time", &exec))
        .collect();
    world.run("updates announce backend");
    for follower in &mut fleet {
        wait_until("every host to update", || follower.words().contains("updated"));
        assert!(!follower.words().contains("failed"), "{}", follower.words());
        assert!(follower.process.terminate().success());
        assert_eq!(follower.count(), 1);
    }
}

#[test]
fn once_ends_with_the_command() {
    let world = World::new();
    let run = |exec: &str| {
        let mut command = world.keyrack("updates follow backend --at-start --once");
        command.args(["--exec", exec]);
        Run::of(command)
    };
    assert_eq!(run("exit 0").code, Some(0));
    let failed = run("exit 7");
    assert_eq!(failed.code, Some(1));
    assert!(failed.stderr.contains("the command failed: exit status: 7"), "{failed:?}");
}

#[test]
fn updates_are_announced_over_http_with_the_secret() {
    let dir = TempDir::new().expect("a folder");
    let secret = "the secret of the build server";
    let repos = "--deploy-repos backend,websocket,frontend-web,jobs";
    let serve = Serve::start_with(dir.path(), repos, &[("KEYRACK_DEPLOY_SECRET", secret)]);
    let mut redis = serve.redis();
    let mut heard = redis.as_pubsub();
    heard.subscribe("updates:frontend-web").expect("subscribed");
    let post = |secret: &str| {
        let url = format!("http://{}/api/1/continuous_deployment/update", serve.http());
        let mut curl = Command::new("curl");
        curl.args([
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "-d",
            r#"{"repo": "frontend-web"}"#,
        ]);
        curl.args(["-H", &format!("Authorization: bearer {secret}"), &url]);
        Run::of(curl).stdout
    };
    assert_eq!(post("a wrong secret of somebody"), "403");
    assert_eq!(post(secret), "202");
    assert_eq!(heard.get_message().expect("a message").get_payload_bytes(), b"1");
    drop(heard);
    assert!(!serve.words().contains(secret));
    drop(serve);
    let mut unnamed = keyrack(dir.path());
    unnamed.arg("serve").env("KEYRACK_DEPLOY_SECRET", secret);
    let unnamed = Run::of(unnamed);
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
    assert!(unnamed.failure().0.contains("\"deploy-repos\" is not set"), "{unnamed:?}");
    let mut short = keyrack(dir.path());
    short.arg("serve").env("KEYRACK_DEPLOY_SECRET", "short");
    let short = Run::of(short);
    assert_eq!(short.code, Some(2), "{short:?}");
    assert!(
        short.failure().0.contains("the secret has 5 characters; give at least 16"),
        "{short:?}"
    );
}
