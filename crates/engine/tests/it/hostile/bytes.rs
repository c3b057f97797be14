//! Bytes that are no commands, and commands of which a part is missing.

use keyrack_testkit::wait_until;

use super::Victim;
use crate::{random::Random, wire::Frame};

#[test]
fn garbage_on_a_hundred_connections_disturbs_nobody() {
    let mut random = Random::from_environment();
    let mut victim = Victim::start();
    for round in 0..5 {
        let mut attackers: Vec<_> = (0..100).map(|_| victim.connect_raw()).collect();
        for attacker in &mut attackers {
            // The engine may have heard enough before the end.
            attacker.send(garbage(&mut random));
            attacker.finish();
        }
        assert_eq!(victim.honest.call(&["INCR", "n"]), Frame::Int(round + 1));
        for attacker in &mut attackers {
            attacker.read_all();
        }
        wait_until("all of them to be gone", || victim.info("connected_clients") == 1);
    }
    victim.assert_sound();
}

/// Random bytes, or pieces of the protocol in random order.
fn garbage(random: &mut Random) -> Vec<u8> {
    const PIECES: [&str; 16] = [
        "*",
        "$",
        "\r\n",
        "\n",
        "-1",
        "0",
        "1",
        "3",
        "65536",
        "99999999999",
        "GET",
        "\"",
        "'",
        " ",
        "\\x",
        "\0",
    ];
    let pieces = random.once_in(2);
    let mut bytes = Vec::new();
    for _ in 0..random.below(5000) {
        match pieces {
            true => bytes.extend_from_slice(random.pick(&PIECES).as_bytes()),
            false => bytes.push(random.below(256) as u8),
        }
    }
    bytes
}

/// Commands in both forms, each with its answer.
const PIPELINE: [(&str, &str); 6] = [
    ("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\na\r\nbc\r\n", "+OK\r\n"),
    ("GET k\r\n", "$5\r\na\r\nbc\r\n"),
    ("*2\r\n$6\r\nSTRLEN\r\n$1\r\nk\r\n", ":5\r\n"),
    ("ECHO \"q \\x41\"\r\n", "$3\r\nq A\r\n"),
    ("*1\r\n$4\r\nPING\r\n", "+PONG\r\n"),
    ("NOSUCH\r\n", "-ERR unknown command 'NOSUCH', with args beginning with: \r\n"),
];

#[test]
fn a_pipeline_cut_at_any_byte_is_answered_up_to_there() {
    let mut victim = Victim::start();
    let whole: String = PIPELINE.iter().map(|(command, _)| *command).collect();
    let answers: String = PIPELINE.iter().map(|(_, answer)| *answer).collect();
    for cut in 0..=whole.len() {
        let mut left_alone = victim.connect_raw();
        left_alone.send(&whole[..cut]);
        left_alone.finish();
        assert_eq!(left_alone.read_all(), answers_to(cut), "cut at byte {cut}");

        let mut continued = victim.connect_raw();
        continued.send(&whole[..cut]);
        continued.send(&whole[cut..]);
        continued.finish();
        assert_eq!(continued.read_all(), answers, "in pieces at byte {cut}");
    }
    victim.assert_sound();
}

/// The answers to the commands that end within the first `len` bytes of the pipeline.
fn answers_to(len: usize) -> String {
    let mut end = 0;
    let is_whole = |(command, _): &&(&str, &str)| {
        end += command.len();
        end <= len
    };
    PIPELINE.iter().take_while(is_whole).map(|(_, answer)| *answer).collect()
}

#[test]
fn a_half_closed_connection_still_gets_its_answers() {
    const N: usize = 10_000;
    let mut victim = Victim::start();
    let mut client = victim.connect_raw();
    assert!(client.send("INCR n\r\n".repeat(N)));
    client.finish();
    let answers: String = (1..=N).map(|n| format!(":{n}\r\n")).collect();
    assert!(client.read_all() == answers, "not all answers came");
    wait_until("it to be forgotten", || victim.info("connected_clients") == 1);
}

#[test]
fn a_half_closed_connection_that_waits_takes_nothing() {
    let mut victim = Victim::start();
    let mut client = victim.connect_raw();
    client.send("BLPOP list 0\r\n");
    wait_until("it to wait", || victim.info("blocked_clients") == 1);
    client.finish();
    wait_until("it to be forgotten", || victim.info("blocked_clients") == 0);
    assert_eq!(client.read_all(), "");
    victim.honest.call(&["RPUSH", "list", "kept"]);
    assert_eq!(victim.honest.call(&["LLEN", "list"]), Frame::Int(1));
}
