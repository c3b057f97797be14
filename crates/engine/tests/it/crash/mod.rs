//! The engine through crashes: `kill -9` in the middle of everything, and what is there afterwards.

mod load;
mod rivals;

use std::{
    path::Path,
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

pub(crate) use self::load::is_rewriting;
use self::{
    load::{Client, Kept, PIPELINES},
    rivals::{RIVALS, Rivals},
};
use crate::{
    keyspace::{self, Keyspace, assert_same},
    random::Random,
    say,
    server::{Server, redis_on_copy},
    wire::Wire,
};

/// Crashes in one run.
const CYCLES: usize = 50;
/// Answers that clients get at most before a crash; one of these.
const ANSWERS: [usize; 4] = [1, 50, 500, 2000];
/// How many of the folders left behind are given to redis-server.
const LOADED_BY_REDIS: usize = 5;

/// Answers that clients may get after a rewrite has been seen to run; it does not take long.
const ANSWERS_IN_REWRITE_MAX: usize = 30;

#[test]
fn no_acknowledged_write_is_lost_and_no_unit_torn_by_fifty_crashes() {
    let mut random = Random::from_environment();
    let dir = tempfile::tempdir().expect("a temporary folder");
    fill(dir.path());
    let mut clients: Vec<Client> = (0..PIPELINES.len()).map(Client::new).collect();
    let (mut n_answers, mut n_rewrites) = (0, 0);
    for cycle in 0..CYCLES {
        let mut server = Server::start(dir.path(), "always");
        rewrite_often(&mut server.connect());
        let answers_max = random.pick(&ANSWERS);
        let (answers, in_rewrite) = (1 + random.below(answers_max), random.once_in(2));
        run_until_crash(&mut clients, &mut server, |acknowledged, wire| {
            await_answers(acknowledged, answers);
            n_answers += answers;
            if in_rewrite && await_rewrite(acknowledged, wire) {
                await_answers(acknowledged, random.below(ANSWERS_IN_REWRITE_MAX));
                n_rewrites += 1;
            }
        });
        if random.once_in(3) {
            Server::start_and_kill(dir.path());
        }
        let found = recovered(dir.path());
        for client in &mut clients {
            let Kept { n_lost, .. } = client.settle(&found);
            assert_eq!(n_lost, 0, "acknowledged writes were lost in cycle {cycle}");
        }
        if cycle % (CYCLES / LOADED_BY_REDIS) == 0 {
            let redis = redis_on_copy(dir.path());
            let loaded = keyspace::read(&mut Wire::connect(redis.addr()));
            assert_same(("the engine", &found), ("redis", &loaded));
        }
    }
    say(&format!("{CYCLES} crashes after {n_answers} answers, {n_rewrites} in or after a rewrite"));
    assert!(n_rewrites > 0, "no crash fell into a rewrite");
}

/// Gives a rewrite something to do, so that there is time to crash in it.
fn fill(dir: &Path) {
    const SCRIPT: &str = "for key = 1, 20 do for field = 1, 1000 do \
        redis.call('HSET', 'ballast' .. key, field, string.rep('x', 100)) end end";
    let mut server = Server::start(dir, "always");
    assert!(!server.connect().call(&["EVAL", SCRIPT, "0"]).is_error());
    assert!(server.stop().success());
}

/// Asks for a rewrite and waits until it runs; false if it was over too soon to be seen.
fn await_rewrite(acknowledged: &Receiver<()>, wire: &mut Wire) -> bool {
    // Refused when one has begun by itself, which is just as well.
    wire.call(&["BGREWRITEAOF"]);
    for _ in 0..1000 {
        if is_rewriting(wire) {
            return true;
        }
        await_answers(acknowledged, 1);
    }
    false
}

/// Crashes among clients that write the same.
const RIVAL_CYCLES: usize = 10;

#[test]
fn what_another_client_wrote_is_safe_before_anybody_is_told_of_it() {
    let mut random = Random::from_environment();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let rivals = Rivals::default();
    for _ in 0..RIVAL_CYCLES {
        let mut server = Server::start(dir.path(), "always");
        // Somebody else's writes, so that a sync is always under way.
        let mut clients = vec![Client::new(0)];
        let answers = 20 + random.below(100);
        thread::scope(|scope| {
            for _ in 0..RIVALS {
                let wire = server.connect();
                scope.spawn(|| rivals.add(wire));
            }
            run_until_crash(&mut clients, &mut server, |acknowledged, _| {
                await_answers(acknowledged, answers);
            });
        });
        assert_eq!(rivals.n_missing(&recovered(dir.path())), 0, "promised members are gone");
    }
}

/// Crashes with `everysec`.
const EVERYSEC_CYCLES: usize = 5;
/// What may be lost then: a second's worth, and answers that a busy machine was late to deliver.
const LOSS_MAX: Duration = Duration::from_millis(1000 + 500);

#[test]
fn everysec_loses_at_most_a_second_of_acknowledged_writes() {
    let mut random = Random::from_environment();
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut clients: Vec<Client> = (0..PIPELINES.len()).map(Client::new).collect();
    let mut worst = (Duration::ZERO, 0);
    for _ in 0..EVERYSEC_CYCLES {
        let mut server = Server::start(dir.path(), "everysec");
        rewrite_often(&mut server.connect());
        // Long enough for syncs to begin and end, and to crash before and in them.
        let time = Duration::from_millis(200 + random.below(1300) as u64);
        run_until_crash(&mut clients, &mut server, |acknowledged, _| {
            let started_at = Instant::now();
            while started_at.elapsed() < time {
                await_answers(acknowledged, 1);
            }
        });
        let found = recovered(dir.path());
        for client in &mut clients {
            let kept = client.settle(&found);
            worst = worst.max((kept.lost, kept.n_lost));
        }
    }
    let (lost, n_lost) = worst;
    say(&format!("everysec lost at most {lost:?}, {n_lost} acknowledged writes of a client"));
    assert!(lost <= LOSS_MAX, "{lost:?} of acknowledged writes were lost");
}

/// Lets all clients write until `until` returns, then kills the server.
fn run_until_crash(
    clients: &mut [Client],
    server: &mut Server,
    until: impl FnOnce(&Receiver<()>, &mut Wire),
) {
    let (sender, acknowledged) = mpsc::channel();
    thread::scope(|scope| {
        for client in clients {
            let (wire, sender) = (server.connect(), sender.clone());
            scope.spawn(move || client.write(wire, &sender));
        }
        until(&acknowledged, &mut server.connect());
        server.kill();
    });
}

fn await_answers(acknowledged: &Receiver<()>, n: usize) {
    for _ in 0..n {
        acknowledged.recv().expect("clients write until the crash");
    }
}

/// Makes the log so short before it is rewritten that many crashes fall into a rewrite.
fn rewrite_often(wire: &mut Wire) {
    for (name, value) in
        [("auto-aof-rewrite-min-size", "32kb"), ("auto-aof-rewrite-percentage", "20")]
    {
        assert!(!wire.call(&["CONFIG", "SET", name, value]).is_error());
    }
}

/// What a start on the folder finds.
fn recovered(dir: &Path) -> Keyspace {
    let mut server = Server::start(dir, "always");
    let found = keyspace::read(&mut server.connect());
    assert!(server.stop().success());
    found
}
