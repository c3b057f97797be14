//! Arguments that are too long, too many, or out of every range.

use super::{MIB, Victim, assert_error};
use crate::wire::{Frame, Wire};

/// What an engine may use for itself while it turns something down.
const SMALL: u64 = 8 * MIB;

#[test]
fn lengths_that_are_only_announced_cost_nothing() {
    let mut victim = Victim::start();
    let growth = victim.growth(|victim| {
        for (announced, answer) in [
            ("*2\r\n$4\r\nECHO\r\n$1073741824\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
            (
                "*2\r\n$4\r\nECHO\r\n$99999999999999999999\r\n",
                "-ERR Protocol error: invalid bulk length\r\n",
            ),
            ("*2\r\n$4\r\nECHO\r\n$-1\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
            ("*2147483648\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
            // As long as allowed, but nothing follows.
            ("*2\r\n$4\r\nECHO\r\n$536870912\r\n", ""),
            ("*2147483647\r\n$4\r\nECHO\r\n", ""),
        ] {
            let mut attackers: Vec<_> = (0..20).map(|_| victim.connect_raw()).collect();
            for attacker in &mut attackers {
                attacker.send(announced);
                attacker.finish();
            }
            for attacker in &mut attackers {
                assert_eq!(attacker.read_all(), answer, "{announced:?}");
            }
        }
    });
    assert!(growth < SMALL, "{growth} bytes");
    victim.assert_sound();
}

#[test]
fn a_line_without_an_end_is_refused() {
    let mut victim = Victim::start();
    let growth = victim.growth(|victim| {
        for beginning in ["x", "*", "*1\r\n$"] {
            let mut attacker = victim.connect_raw();
            attacker.send(beginning);
            let chunk = vec![b'1'; MIB as usize];
            let refused = (0..600).any(|_| !attacker.send(&chunk));
            assert!(refused, "600 MiB after {beginning:?} were taken");
        }
    });
    assert!(growth < SMALL, "{growth} bytes");
    victim.assert_sound();
}

#[test]
fn two_million_arguments_are_a_command_like_any_other() {
    const N: usize = 2_000_000;
    let mut victim = Victim::start();
    let growth = victim.growth(|victim| {
        let mut client = victim.connect();
        let mut command = vec!["DEL"; N];
        command[1..].fill("none");
        assert_eq!(client.call(&command), Frame::Int(0));
    });
    // What was sent is 20 MB, and each argument has two places to be found by.
    assert!(growth < 200 * MIB, "{growth} bytes");
    victim.assert_sound();
}

#[test]
fn a_hundred_thousand_keys_at_once_are_set_read_and_watched() {
    const N: usize = 100_000;
    let mut victim = Victim::start();
    let names: Vec<String> = (0..N).map(|n| format!("key{n}")).collect();
    let keys: Vec<&str> = names.iter().map(String::as_str).collect();
    let with = |name: &'static str| [&[name][..], &keys].concat();
    let pairs: Vec<&str> = keys.iter().flat_map(|key| [*key, "v"]).collect();
    let client = &mut victim.honest;
    assert_eq!(client.call(&[&["MSET"][..], &pairs].concat()), Frame::Status("OK".into()));
    assert_eq!(client.call(&with("MGET")).items().len(), N);
    assert_eq!(client.call(&with("WATCH")), Frame::Status("OK".into()));
    // Watching them again changes nothing.
    assert_eq!(client.call(&with("WATCH")), Frame::Status("OK".into()));
    assert_eq!(client.call(&["SET", "key99999", "x"]), Frame::Status("OK".into()));
    assert_eq!(client.call(&["MULTI"]), Frame::Status("OK".into()));
    assert_eq!(client.call(&["EXEC"]), Frame::Nil("*"));
    assert_eq!(client.call(&with("DEL")), Frame::Int(N as i64));
    victim.assert_sound();
}

#[test]
fn a_transaction_of_a_hundred_thousand_commands_is_run() {
    const N: usize = 100_000;
    let mut victim = Victim::start();
    let mut client = victim.connect();
    assert_eq!(client.call(&["MULTI"]), Frame::Status("OK".into()));
    for _ in 0..N / 1000 {
        (0..1000).for_each(|_| client.send(&["INCR", "n"]));
        for _ in 0..1000 {
            assert_eq!(client.read().expect("an answer"), Frame::Status("QUEUED".into()));
        }
    }
    assert_eq!(victim.honest.call(&["GET", "n"]), Frame::Nil("$"));
    let answers = client.call(&["EXEC"]).items();
    assert_eq!((answers.len(), answers.last()), (N, Some(&Frame::Int(N as i64))));
    victim.assert_sound();
}

#[test]
fn patterns_made_to_take_for_ever_do_not() {
    let mut victim = Victim::start();
    let key = "a".repeat(1000);
    victim.honest.call(&["SET", &key, "v"]);
    for pattern in [
        "a*".repeat(500) + "b",
        "*a".repeat(500) + "b",
        "*".repeat(60_000) + "b",
        "[a-".repeat(500),
        "*[^a".repeat(500),
        "*\\".repeat(500),
    ] {
        let found = victim.honest.call(&["KEYS", &pattern]);
        assert_eq!(found, Frame::Array(Vec::new()), "{pattern:.20}");
        let found = victim.honest.call(&["SCAN", "0", "MATCH", &pattern, "COUNT", "100"]);
        assert!(!found.is_error(), "{pattern:.20}");
    }
    let mut subscriber = victim.connect();
    subscriber.call(&["PSUBSCRIBE", &("a*".repeat(500) + "b")]);
    assert_eq!(victim.honest.call(&["PUBLISH", &key, "x"]), Frame::Int(0));
    victim.assert_sound();
}

#[test]
fn numbers_at_every_edge_are_answered() {
    const EDGES: [&str; 9] = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "4294967296",
        "-2147483649",
        "99999999999999999999999",
    ];
    const FORMS: &str = "LRANGE l A B; LTRIM l2 A B; LINDEX l A; LSET l A x; LREM l A x; LPOP none A; \
        LPOS l a RANK A COUNT B; LPOS l a COUNT A MAXLEN B; GETRANGE s A B; ZRANGE z A B; ZRANGE z A B REV; \
        ZREVRANGE z A B WITHSCORES; ZRANGE z A B BYSCORE LIMIT A B; ZRANGEBYLEX z - + LIMIT A B; \
        ZREMRANGEBYRANK z2 A B; ZCOUNT z A B; ZRANDMEMBER z A WITHSCORES; SRANDMEMBER set A; SPOP set2 A; \
        HRANDFIELD h A WITHVALUES; ZPOPMIN z3 A; SCAN A COUNT B; HSCAN h A COUNT B; SINTERCARD A set LIMIT B; \
        ZUNIONSTORE d A z; ZINTERSTORE d 1 z WEIGHTS A; ZMPOP A z MIN COUNT B; EXPIRE e A; PEXPIREAT e A; SET e v EX A; \
        SETRANGE none A x; SETBIT none A 1; INCRBY n A; DECRBY n A; HINCRBY h n A; GETEX e PX A; BLPOP none A; \
        SELECT A; EVAL x A; OBJECT FREQ A; CLIENT KILL ID A; CONFIG SET timeout A; WAIT A B; LMPOP A l LEFT COUNT B";
    let mut victim = Victim::start();
    let client = &mut victim.honest;
    fill(client);
    for form in FORMS.split("; ") {
        for a in EDGES {
            for b in EDGES {
                // Waiting for ever is what a client may ask for.
                if form.starts_with("BLPOP") && (a == "0" || a == "4294967296" || a.len() > 10) {
                    continue;
                }
                let words: Vec<&str> = form
                    .split(' ')
                    .map(|word| match word {
                        "A" => a,
                        "B" => b,
                        word => word,
                    })
                    .collect();
                let answer = client.call(&words);
                assert!(!answer.to_string().contains("no answer"), "{words:?}: {answer}");
            }
        }
        fill(client);
    }
    victim.assert_sound();
}

/// A few values of each type.
fn fill(client: &mut Wire) {
    client.call(&["SELECT", "0"]);
    client.call(&["CONFIG", "SET", "timeout", "0"]);
    for key in ["l", "l2"] {
        client.call(&["RPUSH", key, "a", "b", "c"]);
    }
    for key in ["z", "z2", "z3"] {
        client.call(&["ZADD", key, "1", "a", "2", "b", "3", "c"]);
    }
    for key in ["set", "set2"] {
        client.call(&["SADD", key, "a", "1"]);
    }
    client.call(&["MSET", "s", "hello", "n", "1", "e", "v"]);
    client.call(&["HSET", "h", "f", "v", "n", "1"]);
}

#[test]
fn more_random_items_than_memory_holds_are_refused() {
    let mut victim = Victim::start();
    fill(&mut victim.honest);
    let growth = victim.growth(|victim| {
        for command in
            ["SRANDMEMBER set -4000000000", "HRANDFIELD h -4000000000", "ZRANDMEMBER z -4000000000"]
        {
            let words: Vec<&str> = command.split(' ').collect();
            assert_error(&victim.honest.call(&words), "ERR value is out of range");
        }
    });
    assert!(growth < SMALL, "{growth} bytes");
}
