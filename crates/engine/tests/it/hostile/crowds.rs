//! Very many connections, at once and one after another.

use std::net::TcpStream;

use keyrack_testkit::wait_until;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Raw, Victim};
use crate::wire::Frame;

/// Clients that connect and say nothing.
const CROWD: usize = 10_000;
/// Files that the test has open besides.
const OTHER_FILES: usize = 100;
/// The memory of an idle connection, its session and its task included.
const BYTES_PER_CONNECTION: u64 = 8 * 1024;

/// As many connections as the system lets this process have, up to [`CROWD`].
fn crowd() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("up to the maximum");
    let allowed = maximum.map_or(CROWD, |maximum| maximum as usize);
    let crowd = CROWD.min(allowed.saturating_sub(OTHER_FILES));
    if crowd < CROWD {
        crate::say(&format!("this system allows {crowd} connections, not {CROWD}"));
    }
    crowd
}

#[test]
fn ten_thousand_idle_connections_cost_little_and_disturb_nobody() {
    let crowd = crowd();
    let mut victim = Victim::start();
    let before = victim.memory();
    let address = victim.server.address();
    let idle: Vec<TcpStream> =
        (0..crowd).map(|_| TcpStream::connect(address).expect("the engine accepts")).collect();
    wait_until("all of them to be in", || victim.info("connected_clients") == crowd as u64 + 1);
    let each = victim.memory().saturating_sub(before) / crowd as u64;
    crate::say(&format!("{crowd} idle connections take {each} bytes each"));
    assert!(each < BYTES_PER_CONNECTION, "{each} bytes for each connection");

    let mut worker = victim.connect();
    for n in 1..=1000 {
        assert_eq!(worker.call(&["INCR", "n"]), Frame::Int(n));
    }
    // The others are still there.
    let mut one = Raw(idle[crowd / 2].try_clone().expect("a socket"));
    assert!(one.send("GET n\r\nQUIT\r\n"));
    assert_eq!(one.read_all(), "$4\r\n1000\r\n+OK\r\n");

    drop((one, idle));
    wait_until("all of them to be gone", || victim.info("connected_clients") == 2);
    victim.assert_sound();
}

#[test]
fn clients_that_come_and_go_leave_nothing_behind() {
    let mut victim = Victim::start();
    victim.honest.call(&["RPUSH", "list", "kept"]);
    let rush = |victim: &mut Victim| {
        for beginning in [
            "SUBSCRIBE a b c\r\nPSUBSCRIBE *\r\n",
            "BLPOP none 0\r\n",
            "MULTI\r\nSET k v\r\nLPOP list\r\n",
            "WATCH a b c\r\n",
            "MONITOR\r\n",
            "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\nhalf",
            "HELLO 3\r\n",
            "",
        ] {
            for _ in 0..100 {
                victim.connect_raw().send(beginning);
            }
        }
        wait_until("all of them to be gone", || victim.info("connected_clients") == 1);
    };
    rush(&mut victim);
    let before = victim.info("used_memory");
    (0..3).for_each(|_| rush(&mut victim));
    let after = victim.info("used_memory");
    assert!(after < before + 64 * 1024, "{before} bytes became {after}");
    assert_eq!(victim.honest.call(&["PUBSUB", "NUMPAT"]), Frame::Int(0));
    assert_eq!(victim.honest.call(&["GET", "k"]), Frame::Nil("$"));
    assert_eq!(victim.honest.call(&["LLEN", "list"]), Frame::Int(1));
}
