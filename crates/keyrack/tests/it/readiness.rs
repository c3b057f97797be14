//! Whether a server can be used, before and after its store is there.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::Command,
};

use keyrack_testkit::{Port, RedisServer, wait_until};
use tempfile::TempDir;

use crate::{
    program::{Run, Serve, keyrack},
    world::World,
};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// A server on a port that is known before it says so.
struct Early {
    serve: Serve,
    port: Port,
}

impl Early {
    fn spawn(dir: &Path, more: &str) -> Early {
        let port = Port::lease();
        let http = format!("--http 127.0.0.1:{}", port.number());
        Early { serve: Serve::spawn(dir, &format!("{http} {more}"), &[]), port }
    }

    /// The whole answer to a GET; `None` if nobody answers.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port.number())).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    #[track_caller]
    fn assert_answers(&self, path: &str, status: u16) -> String {
        let answer = self.get(path).expect("an answer");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        answer
    }
}

#[test]
fn serve_waits_for_a_store_that_is_down() {
    let (dir, mut server) = (folder(), RedisServer::start());
    server.stop();
    let early = Early::spawn(dir.path(), &format!("--store {}", server.url()));
    wait_until("serve to say that it waits", || {
        early.serve.words().contains("waiting for the store")
    });
    early.assert_answers("/livez", 200);
    let not_ready = early.assert_answers("/readyz", 503);
    assert!(not_ready.contains("waiting for the store: "), "{not_ready}");
    early.assert_answers("/api/1/queues", 503);
    server.restart();
    early.serve.wait_until_ready();
    early.assert_answers("/readyz", 200);
}

#[test]
fn work_waits_for_a_store_that_is_down() {
    let mut world = World::new();
    world.server.stop();
    let worker = world.work("", "echo 1");
    wait_until("the worker to say that it waits", || {
        worker.words().contains("waiting for the store")
    });
    world.server.restart();
    let jid = world.submit("1");
    wait_until("the job to run", || world.status(&jid) == "completed");
}

#[test]
fn no_wait_ends_with_6_if_the_store_is_down() {
    let (dir, mut server) = (folder(), RedisServer::start());
    let url = server.url();
    server.stop();
    let run =
        Run::line_in(dir.path(), &format!("serve --no-wait --store {url} --http 127.0.0.1:0"));
    assert_eq!(run.code, Some(6), "{run:?}");
    let run = Run::line_in(dir.path(), &format!("work emails --no-wait --store {url} -- true"));
    assert_eq!(run.code, Some(6), "{run:?}");
}

#[test]
fn a_signal_ends_a_server_that_waits_for_its_store() {
    let (dir, mut server) = (folder(), RedisServer::start());
    server.stop();
    let mut early = Early::spawn(dir.path(), &format!("--store {}", server.url()));
    wait_until("serve to say that it waits", || {
        early.serve.words().contains("waiting for the store")
    });
    early.serve.process.terminate();
    let code = early.serve.process.exit_status().and_then(|status| status.code());
    assert_eq!(code, Some(0), "{}", early.serve.words());
    assert!(early.serve.words().ends_with("SIGTERM: stopped\n"), "{}", early.serve.words());
}

/// Commands in a log, enough for a load of a second or more without optimisation.
const COMMANDS: usize = 400_000;

/// A data folder as a redis-server leaves it.
fn write_long_log(dir: &Path) {
    let log = dir.join("data/appendonlydir");
    fs::create_dir_all(&log).expect("a folder");
    let manifest = "file appendonly.aof.1.incr.aof seq 1 type i\n";
    fs::write(log.join("appendonly.aof.manifest"), manifest).expect("written");
    let mut text = String::from("*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n");
    for n in 0..COMMANDS {
        let key = format!("key{n:09}");
        text.push_str(&format!("*3\r\n$3\r\nSET\r\n$12\r\n{key}\r\n$12\r\n{key}\r\n"));
    }
    fs::write(log.join("appendonly.aof.1.incr.aof"), text).expect("written");
}

#[test]
fn livez_answers_and_readyz_says_how_far_it_is_while_a_log_loads() {
    let dir = folder();
    write_long_log(dir.path());
    let early = Early::spawn(dir.path(), "--data data");
    wait_until("readyz to say how far the load is", || {
        early.get("/readyz").is_some_and(|answer| {
            answer.starts_with("HTTP/1.1 503 ") && answer.contains("the log is loading: ")
        })
    });
    early.assert_answers("/livez", 200);
    early.serve.wait_until_ready();
    early.assert_answers("/readyz", 200);
    let words = early.serve.words();
    assert!(words.contains(&format!("replayed {},", "400,001 commands")), "{words}");
}

#[test]
fn readiness_is_red_while_the_store_takes_no_writes() {
    let (dir, server) = (folder(), RedisServer::start());
    let serve = Serve::start_with(dir.path(), &format!("--store {}", server.url()), &[]);
    assert!(serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));
    assert!(serve.get("/metrics").1.contains("keyrack_store_up 1\n"));
    let set = |memory: &str| {
        let mut cmd = redis::cmd("CONFIG");
        cmd.arg("SET").arg("maxmemory").arg(memory).exec(&mut server.connection()).expect("set");
    };
    set("1");
    wait_until("readiness to be red", || serve.get("/readyz").0.starts_with("HTTP/1.1 503 "));
    assert!(serve.get("/readyz").1.contains("memory is full"));
    let health = Run::line_in(dir.path(), &format!("health http://{}", serve.http()));
    assert_eq!(health.code, Some(1), "{health:?}");
    assert!(health.stderr.contains("memory is full"), "{health:?}");
    assert!(serve.get("/metrics").1.contains("keyrack_store_up 0\n"));
    set("0");
    wait_until("readiness to be green", || serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));
}

#[test]
fn readiness_is_red_while_a_script_blocks_the_store() {
    let (dir, server) = (folder(), RedisServer::start());
    let ask = |words: &[&str]| {
        let mut cmd = redis::cmd(words[0]);
        cmd.arg(&words[1..]).exec(&mut server.connection())
    };
    ask(&["CONFIG", "SET", "busy-reply-threshold", "200"]).expect("set");
    let serve = Serve::start_with(dir.path(), &format!("--store {}", server.url()), &[]);
    assert!(serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));
    let mut runner = server.connection();
    let script = std::thread::spawn(move || {
        redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut runner)
    });
    wait_until("readiness to be red", || serve.get("/readyz").0.starts_with("HTTP/1.1 503 "));
    assert!(serve.get("/livez").0.starts_with("HTTP/1.1 200 "));
    assert!(serve.get("/metrics").1.contains("keyrack_store_up 0\n"));
    wait_until("the script to be killed", || ask(&["SCRIPT", "KILL"]).is_ok());
    script.join().expect("no panic").expect_err("the script was killed");
    wait_until("readiness to be green", || serve.get("/readyz").0.starts_with("HTTP/1.1 200 "));
    assert!(serve.get("/metrics").1.contains("keyrack_store_up 1\n"));
}

#[test]
fn health_asks_the_server_of_its_settings() {
    let (dir, port) = (folder(), Port::lease());
    let health = || {
        let mut command = keyrack(dir.path());
        command.env("KEYRACK_HTTP", format!("0.0.0.0:{}", port.number())).arg("health");
        Run::of(command)
    };
    let nobody = health();
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.stderr.contains("is the server running?"), "{nobody:?}");
    let serve = Serve::start_with(dir.path(), &format!("--http 127.0.0.1:{}", port.number()), &[]);
    let ready = health();
    assert_eq!((ready.code, ready.stdout.as_str()), (Some(0), "ready\n"), "{ready:?}");
    drop(serve);
    let mut command = keyrack(dir.path());
    command.env("KEYRACK_HTTP", "127.0.0.1:0").arg("health");
    assert!(Run::of(command).stderr.contains("give the server's URL"));
}

#[test]
fn serve_and_work_log_in_again_with_the_password_that_the_file_has_then() {
    let world = World::new();
    let acl = |rules: &[&str]| {
        let mut cmd = redis::cmd("ACL");
        cmd.arg("SETUSER").arg("app").arg(rules);
        cmd.exec(&mut world.server.connection()).expect("rules");
    };
    let kill = || {
        let mut cmd = redis::cmd("CLIENT");
        cmd.arg("KILL").arg("USER").arg("app");
        cmd.exec(&mut world.server.connection()).expect("connections are ended");
    };
    acl(&["on", ">old", "~*", "&*", "+@all"]);
    fs::write(world.path("password"), "old\n").expect("written");
    let store = format!("--store redis://app@{} --password-file password", world.server.addr());
    let dir = world.path("");
    let serve = Serve::start_with(&dir, &store, &[]);
    let mut command = crate::program::keyrack(&dir);
    command.args(["work", "q", "--exec", "echo 1"]).args(store.split(' '));
    let log = world.path("worker.log");
    command.stderr(fs::File::create(&log).expect("a log"));
    let _worker = keyrack_testkit::Process::spawn("keyrack work", command);
    let is_ready = || serve.get("/readyz").0.starts_with("HTTP/1.1 200 ");
    let runs_jobs = || {
        let jid = world.submit("1");
        wait_until("a job to run", || world.status(&jid) == "completed");
    };
    runs_jobs();

    acl(&["off"]);
    kill();
    wait_until("readiness to be red", || !is_ready());
    let refused = serve.post("/api/1/queues/q/jobs", "{\"data\":[1]}");
    assert!(refused.0.starts_with("HTTP/1.1 503 "), "{refused:?}");
    assert!(refused.1.contains("store_denied"), "{refused:?}");
    acl(&["on"]);
    wait_until("readiness to be green", is_ready);
    runs_jobs();

    acl(&["resetpass", ">new"]);
    kill();
    wait_until("readiness to be red", || !is_ready());
    fs::write(world.path("password"), "new\n").expect("written");
    wait_until("readiness to be green", is_ready);
    runs_jobs();
}

#[test]
fn replicas_are_waited_for_when_a_job_is_submitted() {
    let (dir, primary) = (folder(), RedisServer::start());
    let submit = |more: &str| {
        let store = format!("--store {} --replicas-acknowledge {more}", primary.url());
        Run::line_in(dir.path(), &format!("jobs submit q 1 {store}"))
    };
    let alone = submit("1,within=10ms");
    assert_eq!(alone.code, Some(6), "{alone:?}");
    assert!(alone.stderr.contains("saved on the primary only: 0 of 1 replicas"), "{alone:?}");
    let replica = RedisServer::builder().replica_of(&primary).start();
    replica.wait_until_in_sync();
    let run = submit("1,within=10s");
    assert_eq!(run.code, Some(0), "{run:?}");
    let wrong = submit("one");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let embedded = Run::line_in(
        dir.path(),
        "jobs submit q 1 --store embedded:memory --replicas-acknowledge 1",
    );
    assert_eq!(embedded.code, Some(2), "{embedded:?}");
}

/// Limits the length of the files of a process, as a full disk would; `None` lifts the limit.
fn limit_files(process: u32, bytes: Option<u64>) {
    let soft = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--pid", &process.to_string(), &format!("--fsize={soft}:")]);
    assert!(prlimit.status().expect("prlimit runs").success());
}

#[test]
fn readyz_and_the_metric_are_red_while_the_embedded_store_cannot_write() {
    let dir = folder();
    // A file that gets too long is refused, and does not end the process.
    let serve = Serve::start_after(dir.path(), "trap '' XFSZ");
    let is_told = |status: &str, up: &str| {
        let (ready, _) = serve.get("/readyz");
        let (_, metrics) = serve.get("/metrics");
        ready.starts_with(&format!("HTTP/1.1 {status} "))
            && metrics.lines().any(|line| line == format!("keyrack_store_up {up}"))
    };
    wait_until("the server to be ready", || is_told("200", "1"));
    limit_files(serve.process.id(), Some(1));
    wait_until("the full disk to be noticed", || is_told("503", "0"));
    limit_files(serve.process.id(), None);
    wait_until("the server to be ready again", || is_told("200", "1"));
}
