//! Claims about one throw-away server.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::panic;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use keyrack_testkit::{Process, RedisServer, wait_until};
use redis::{Connection, cmd};

fn set(connection: &mut Connection, key: &str, value: &str) {
    cmd("SET").arg(key).arg(value).exec(connection).unwrap();
}

fn get(connection: &mut Connection, key: &str) -> Option<String> {
    cmd("GET").arg(key).query(connection).unwrap()
}

#[test]
fn dropped_server_leaves_neither_process_nor_folder() {
    let server = RedisServer::start();
    let (addr, folder) = (server.addr(), server.dir().to_owned());
    assert!(TcpStream::connect(addr).is_ok());
    drop(server);
    assert!(TcpStream::connect(addr).is_err());
    assert!(!folder.exists());
}

#[test]
fn panicking_test_leaves_no_server() {
    let mut addr = None;
    let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        let server = RedisServer::start();
        addr = Some(server.addr());
        panic!("the test fails");
    }));
    assert!(caught.is_err());
    assert!(TcpStream::connect(addr.unwrap()).is_err());
}

#[test]
fn killed_test_process_leaves_no_server() {
    // A killed process cannot remove its folder, so it gets one that the test removes.
    let folder = tempfile::tempdir().unwrap();
    let mut command = Process::command(env!("CARGO_BIN_EXE_scratch-redis"));
    command.env("TMPDIR", folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = Process::spawn("scratch-redis", command);
    let mut line = String::new();
    BufReader::new(holder.child().stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server_id = line.trim().rsplit_once(' ').unwrap().1;
    let server = Path::new("/proc").join(server_id);
    assert!(server.exists(), "{line}");

    holder.kill();
    wait_until("the orphaned server to be killed", || {
        // A zombie that nobody has collected is dead enough.
        !fs::read_to_string(server.join("status")).is_ok_and(|status| !status.contains("State:\tZ"))
    });
}

#[test]
fn many_servers_start_at_once() {
    let start = || std::thread::spawn(RedisServer::start);
    let threads: Vec<_> = (0..8).map(|_| start()).collect();
    let servers: Vec<RedisServer> = threads.into_iter().map(|it| it.join().unwrap()).collect();
    for (index, server) in servers.iter().enumerate() {
        set(&mut server.connection(), "index", &index.to_string());
    }
    for (index, server) in servers.iter().enumerate() {
        assert_eq!(get(&mut server.connection(), "index"), Some(index.to_string()));
    }
}

#[test]
fn restart_keeps_port_and_append_only_data() {
    let mut server = RedisServer::builder().append_only().start();
    let port = server.port();
    set(&mut server.connection(), "key", "value");
    server.kill();
    assert!(!server.is_running());
    server.restart();
    assert_eq!(server.port(), port);
    assert_eq!(get(&mut server.connection(), "key").as_deref(), Some("value"));
}

#[test]
fn restart_of_a_plain_server_forgets() {
    let mut server = RedisServer::start();
    set(&mut server.connection(), "key", "value");
    server.restart();
    assert_eq!(get(&mut server.connection(), "key"), None);
}

#[test]
fn stopped_server_ends_in_good_order() {
    let mut server = RedisServer::start();
    server.stop();
    assert!(!server.is_running());
    assert!(server.log().contains("Redis is now ready to exit"), "{}", server.log());
}

#[test]
fn paused_server_answers_only_after_resume() {
    let mut server = RedisServer::start();
    let mut connection = server.connection();
    connection.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    server.pause();
    assert!(cmd("PING").exec(&mut connection).unwrap_err().is_timeout());
    server.resume();
    assert_eq!(get(&mut server.connection(), "key"), None);
}

#[test]
fn password_is_asked_for_and_part_of_the_url() {
    let server = RedisServer::builder().password("secret").start();
    assert_eq!(get(&mut server.connection(), "key"), None);
    let stranger = redis::Client::open(format!("redis://{}", server.addr())).unwrap();
    let refused = stranger.get_connection().and_then(|mut it| cmd("PING").exec(&mut it));
    assert_eq!(refused.unwrap_err().code(), Some("NOAUTH"));
}

#[test]
fn unix_socket_reaches_the_same_data() {
    let server = RedisServer::builder().unix_socket().password("secret").start();
    set(&mut server.connection(), "key", "value");
    let client = redis::Client::open(server.unix_url()).unwrap();
    assert_eq!(get(&mut client.get_connection().unwrap(), "key").as_deref(), Some("value"));
}

#[test]
fn renamed_command_is_unknown() {
    let server = RedisServer::builder().rename_command("EVALSHA", "").start();
    let error = cmd("EVALSHA").arg("0").arg(0).exec(&mut server.connection()).unwrap_err();
    assert!(error.to_string().contains("unknown command"), "{error}");
}

#[test]
fn replica_follows_and_refuses_writes() {
    let master = RedisServer::builder().password("secret").start();
    let replica = RedisServer::builder().replica_of(&master).start();
    replica.wait_until_in_sync();
    set(&mut master.connection(), "key", "value");
    let mut connection = replica.connection();
    wait_until("the write to reach the replica", || get(&mut connection, "key").is_some());
    let refused = cmd("SET").arg("key").arg("other").exec(&mut connection).unwrap_err();
    assert_eq!(refused.code(), Some("READONLY"));
}

#[test]
#[should_panic(expected = "Bad directive")]
fn server_that_does_not_come_up_shows_its_log() {
    RedisServer::builder().config("no-such-setting", "1").start();
}
