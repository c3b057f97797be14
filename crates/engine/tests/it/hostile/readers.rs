//! Clients that ask for more than they read.

use keyrack_testkit::wait_until;

use super::{MIB, Raw, Victim};
use crate::wire::{Frame, Wire};

/// What sockets and the allocator may hold on to.
const SMALL: u64 = 24 * MIB;

/// Stores a value of a megabyte.
fn store_large(victim: &mut Victim) {
    let value = "x".repeat(MIB as usize);
    assert_eq!(victim.honest.call(&["SET", "large", &value]), Frame::Status("OK".into()));
}

#[test]
fn a_client_that_does_not_read_gets_no_more_than_it_takes() {
    const N: usize = 10_000;
    let mut victim = Victim::start();
    store_large(&mut victim);
    let mut stuck: Vec<Raw> = Vec::new();
    let growth = victim.growth(|victim| {
        for _ in 0..4 {
            let mut raw = victim.connect_raw();
            assert!(raw.send("GET large\r\n".repeat(N)));
            stuck.push(raw);
        }
        wait_until("the first answers", || victim.info("total_net_output_bytes") > 4 * MIB);
        // In the time these take, all of the large answers could have been made.
        for _ in 0..5000 {
            assert_eq!(victim.honest.call(&["PING"]), Frame::Status("PONG".into()));
        }
    });
    assert!(growth < SMALL, "{growth} bytes");
    let output = victim.info("total_net_output_bytes");
    assert!(output < 100 * MIB, "{output} bytes were made for clients that do not read");
    drop(stuck);
    wait_until("them to be forgotten", || victim.info("connected_clients") == 1);
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    const N: usize = 100;
    let mut victim = Victim::start();
    store_large(&mut victim);
    let mut late = victim.connect();
    (0..N).for_each(|_| late.send(&["GET", "large"]));
    wait_until("the first answers", || victim.info("total_net_output_bytes") > MIB);
    for _ in 0..N {
        assert_eq!(late.read().expect("an answer").bytes().len() as u64, MIB);
    }
    assert_eq!(late.call(&["PING"]), Frame::Status("PONG".into()));
}

/// A message of a tenth of a megabyte.
fn message() -> String {
    "x".repeat(MIB as usize / 10)
}

#[test]
fn a_slow_subscriber_is_cut_off_and_the_others_miss_nothing() {
    let mut victim = Victim::start();
    victim.set("client-output-buffer-limit", "pubsub 1mb 0 0");
    let (mut slow, mut fast) = (victim.connect(), victim.connect());
    slow.call(&["SUBSCRIBE", "news"]);
    fast.call(&["SUBSCRIBE", "news"]);
    let message = message();
    let growth = victim.growth(|victim| {
        // Sockets take some megabytes before anything piles up.
        wait_until("the slow one to be cut off", || {
            let receivers = victim.honest.call(&["PUBLISH", "news", &message]);
            let news = fast.read().expect("a message").items();
            assert_eq!(news[2].bytes(), message.as_bytes());
            receivers == Frame::Int(1)
        });
    });
    assert!(growth < SMALL, "{growth} bytes");
    let mut rest = 0;
    while slow.read().is_ok() {
        rest += 1;
    }
    assert!(rest > 0, "what was sent before can be read");
    assert_eq!(victim.info("connected_clients"), 2);
}

#[test]
fn a_slow_monitor_is_cut_off() {
    let mut victim = Victim::start();
    victim.set("client-output-buffer-limit", "pubsub 1mb 0 0");
    let mut slow = victim.connect();
    assert_eq!(slow.call(&["MONITOR"]), Frame::Status("OK".into()));
    let message = message();
    let growth = victim.growth(|victim| {
        wait_until("the monitor to be cut off", || {
            victim.honest.call(&["ECHO", &message]);
            victim.info("connected_clients") == 1
        });
    });
    assert!(growth < SMALL, "{growth} bytes");
    victim.assert_sound();
}

#[test]
fn a_blocked_client_that_goes_on_sending_is_cut_off() {
    let mut victim = Victim::start();
    victim.set("client-query-buffer-limit", "1mb");
    let growth = victim.growth(|victim| {
        let mut flood = victim.connect_raw();
        flood.send("BLPOP none 0\r\n");
        let chunk = "SET k v\r\n".repeat(10_000);
        assert!((0..10_000).any(|_| !flood.send(&chunk)), "all of it was taken");
    });
    assert!(growth < SMALL, "{growth} bytes");
    assert_eq!(victim.honest.call(&["GET", "k"]), Frame::Nil("$"));
    wait_until("it to be forgotten", || victim.info("connected_clients") == 1);
}

#[test]
fn a_flood_of_subscriptions_is_served_and_forgotten() {
    const N: usize = 100_000;
    let mut victim = Victim::start();
    let names: Vec<String> = (0..N).map(|n| format!("channel{n}")).collect();
    let with = |name: &'static str| {
        let mut command = vec![name];
        command.extend(names.iter().map(String::as_str));
        command
    };
    let mut flood = victim.connect();
    for (subscribe, unsubscribe) in [("SUBSCRIBE", "UNSUBSCRIBE"), ("PSUBSCRIBE", "PUNSUBSCRIBE")] {
        assert_eq!(last_count(&mut flood, &with(subscribe), N), N as i64);
        assert_eq!(victim.honest.call(&["PUBLISH", "channel7", "x"]), Frame::Int(1));
        assert_eq!(
            flood.read().expect("a message").items().last().map(Frame::bytes),
            Some(&b"x"[..])
        );
        assert_eq!(last_count(&mut flood, &with(unsubscribe), N), 0);
    }
    last_count(&mut flood, &with("SUBSCRIBE"), N);
    drop(flood);
    wait_until("all of them to be forgotten", || {
        victim.honest.call(&["PUBSUB", "CHANNELS"]) == Frame::Array(Vec::new())
    });
    victim.assert_sound();
}

/// Sends a command that is answered `n` times, and returns the number of subscriptions in the last answer.
fn last_count(client: &mut Wire, command: &[&str], n: usize) -> i64 {
    client.send(command);
    let mut count = -1;
    for _ in 0..n {
        if let Some(Frame::Int(n)) = client.read().expect("an answer").items().pop() {
            count = n;
        }
    }
    count
}
