//! Every way a command can end, on real servers: the exit code, and one clear line.

use std::process::Stdio;

use keyrack_testkit::{OLD_VERSION, Port, RedisServer, old_server};
use tempfile::TempDir;

use crate::program::{Run, Serve, keyrack};

/// Runs `store stats` on a store and expects it to end like this.
#[track_caller]
fn check(url: &str, code: i32, words: &[&str]) {
    let run = Run::line(&format!("store stats --store {url}"));
    assert_eq!((run.code, run.stdout.as_str()), (Some(code), ""), "{run:?}");
    let (error, _) = run.failure();
    for word in words {
        assert!(error.contains(word), "\"{word}\" is not in {error}");
    }
}

#[test]
fn good_store_ends_with_0() {
    let server = RedisServer::start();
    let run = Run::line(&format!("store stats --store {}", server.url()));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("runs      Redis 7."), "{run:?}");
}

#[test]
fn bad_url_ends_with_2() {
    check("http://h", 2, &["unknown scheme \"http\"", "redis://"]);
    check("redis+cluster://", 2, &["no host"]);
}

#[test]
fn unreachable_server_ends_with_6() {
    let port = Port::lease();
    check(&format!("redis://127.0.0.1:{}", port.number()), 6, &["cannot reach", "refused"]);
}

#[test]
fn wrong_password_ends_with_5() {
    let server = RedisServer::builder().password("right").start();
    let url = format!("redis://:wrong@{}", server.addr());
    check(&url, 5, &["refused the user or the password", ":***@"]);
    check(&format!("redis://{}", server.addr()), 5, &["refused the user or the password"]);
}

#[test]
fn wrong_database_number_ends_with_3() {
    let server = RedisServer::start();
    check(&format!("{}/99", server.url()), 3, &["no database 99"]);
}

#[test]
fn server_that_is_too_old_ends_with_1() {
    check(&format!("redis://{}", old_server()), 1, &[OLD_VERSION, "needs Redis 6.2"]);
}

#[test]
fn replica_ends_with_1_and_names_its_primary() {
    let primary = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&primary).start();
    check(&replica.url(), 1, &["is read-only", &primary.port().to_string()]);
}

#[test]
fn folder_in_use_ends_with_4_and_names_folder_and_process() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    for line in ["serve", "store stats"] {
        let run = Run::line_in(dir.path(), line);
        assert_eq!(run.code, Some(4), "{run:?}");
        let (error, hint) = run.failure();
        assert!(error.contains("\"./keyrack-data\""), "{error}");
        assert!(error.contains(&format!("pid {}", serve.process.id())), "{error}");
        assert!(hint.is_some_and(|hint| hint.contains("--store redis://")), "{run:?}");
    }
}

#[test]
fn looking_into_a_folder_that_is_not_there_ends_with_3_and_makes_none() {
    let dir = TempDir::new().expect("a folder");
    let jobs = ["jobs submit q 1", "jobs stats", "work q --exec true", "recurring list"];
    for line in ["store stats", "store check", "keys lint", "keys infer"].into_iter().chain(jobs) {
        let run = Run::line_in(dir.path(), &format!("{line} --data nothing"));
        assert_eq!(run.code, Some(3), "{run:?}");
        assert_eq!(run.failure().0, "error: data folder \"./nothing\" does not exist");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("the folder").count(), 0);
}

#[test]
fn server_without_rights_for_the_user_ends_with_5() {
    let server = RedisServer::builder().config("user", "reader on nopass ~* +ping +info").start();
    let mut admin = server.connection();
    redis::cmd("ACL").arg("LIST").exec(&mut admin).expect("the default user may do everything");
    let url = format!("redis://reader:any@{}", server.addr());
    assert_eq!(Run::line(&format!("store stats --store {url}")).code, Some(0));
    redis::cmd("ACL")
        .arg(&["SETUSER", "reader", "-info"])
        .exec(&mut admin)
        .expect("rights are taken away");
    let run = Run::line(&format!("store stats --store {url}"));
    assert_eq!(run.code, Some(5), "{run:?}");
}

#[test]
fn closed_pipe_is_not_an_error() {
    let dir = TempDir::new().expect("a folder");
    let mut command = keyrack(dir.path());
    command.args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Closing our end before the program has written anything to it.
    drop(child.stdout.take());
    let run = Run::from(child.wait_with_output().expect("it ends"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
}
