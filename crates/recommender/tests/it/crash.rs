//! A load that is cut off anywhere, and repeated, ends where an undisturbed one does.
//!
//! On disk it is cut off after each write that the log can end with, on a server wherever the program waits for an answer.

use std::{
    fs,
    future::{Future, poll_fn},
    ops::ControlFlow,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use keyrack_engine::SimulatedHost;
use keyrack_recommender::{Error, Memory, Progress, Table};
use keyrack_store::{Options, Store};
use keyrack_testkit::{RedisServer, on_every_store_at, simulated_store};

use crate::world::{DAY_MS, NOON, app, dump, ms, recommender, sync};

/// Loads that are cut off on each night of two.
const CUTS: u64 = 50;

/// An app of several nights; enough rows for several pages of each table.
fn night(number: u64) -> Memory {
    let mut app = app();
    for challenge in 10..40 {
        let (id, category) = (challenge.to_string(), (challenge % 5).to_string());
        let public = if challenge % 7 == 0 { "0" } else { "1" };
        app.push(Table::Challenges, &[&id, &category, public, "60", "2024-01-05 00:00:00"]);
    }
    for member in 0..300 {
        app.push(
            Table::Members,
            &[&(10 + member % 30).to_string(), &(20 + member % 50).to_string()],
        );
    }
    for post in 0..2500 + 700 * number {
        let written = format!("2024-01-{:02} 00:00:00", 6 + (post / 500).min(6 + number));
        let text = if post % 11 == 0 { "I have a break today." } else { "Ran" };
        let ids = [1000 + post, 20 + post % 50, 10 + post % 30].map(|id| id.to_string());
        app.push(Table::Posts, &[&ids[0], &ids[1], &ids[2], &written, text]);
    }
    for reaction in 0..2600 + 900 * number {
        let ids = [100 + reaction, 1000 + (reaction * 7) % 2500, 20 + reaction % 23]
            .map(|id| id.to_string());
        let cancelled = if reaction % 10 == 9 { "1" } else { "0" };
        app.push(Table::Reactions, &[&ids[0], &ids[1], &ids[2], cancelled]);
    }
    for follower in 20..40 {
        app.push(
            Table::Tracking,
            &[&follower.to_string(), &(10 + (follower + number) % 30).to_string(), "0"],
        );
    }
    app
}

/// What the store holds after each night that nothing disturbs.
async fn undisturbed() -> Vec<Vec<String>> {
    let (store, clock) = simulated_store(ms(NOON), 1).await;
    let mut expected = Vec::new();
    for number in 0..2 {
        sync(&store, &mut night(number)).await;
        expected.push(dump(&store).await);
        clock.advance_ms(DAY_MS);
    }
    expected
}

#[tokio::test]
async fn a_load_whose_log_ends_anywhere_is_made_good_by_the_next() {
    let mut dice = Random::from_environment();
    let expected = undisturbed().await;
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    let (store, clock) = open(&whole, ms(NOON)).await;
    let mut lengths = vec![0];
    for number in 0..2 {
        sync(&store, &mut night(number)).await;
        lengths.push(fs::metadata(log_of(&whole)).expect("a log").len());
        clock.advance_ms(DAY_MS);
    }
    close(&store).await;
    let log = fs::read(log_of(&whole)).expect("a log");
    for cut in 0..2 * CUTS {
        let number = cut % 2;
        let (from, to) = (lengths[number as usize], lengths[number as usize + 1]);
        let end = from + 1 + dice.below(to - from);
        let torn = folder.path().join(format!("torn{cut}"));
        copy(&whole, &torn);
        fs::write(log_of(&torn), &log[..end as usize]).expect("a torn log");
        let (store, _clock) = open(&torn, ms(NOON) + number * DAY_MS).await;
        sync(&store, &mut night(number)).await;
        assert_same(
            &dump(&store).await,
            &expected[number as usize],
            &format!("log of {end} bytes"),
        );
        close(&store).await;
        fs::remove_dir_all(&torn).expect("removed");
    }
}

#[tokio::test]
async fn a_load_that_is_killed_while_it_waits_for_a_server_is_made_good_by_the_next() {
    let mut dice = Random::from_environment();
    let expected = undisturbed().await;
    let server = RedisServer::start();
    let mut polls = [0, 0];
    let mut killed = 0;
    for round in 0..=CUTS {
        let (store, clock) = on_server(&server, ms(NOON)).await;
        redis::cmd("FLUSHALL").exec_async(&mut store.connection()).await.expect("emptied");
        for number in 0..2 {
            let (is_first, n) = (round == 0, number as usize);
            // The first round tells how often a load has to wait.
            let after = if is_first { u64::MAX } else { 1 + dice.below(polls[n]) };
            let mut app = night(number);
            let service = recommender(&store);
            let mut watch = |_: Progress| ControlFlow::Continue(());
            let (ended, waited) = cut_off(after, service.sync(&mut app, &mut watch)).await;
            if is_first {
                polls[n] = waited;
            }
            killed += u64::from(ended.is_none());
            sync(&store, &mut night(number)).await;
            assert_same(&dump(&store).await, &expected[n], &format!("killed at poll {after}"));
            clock.advance_ms(DAY_MS);
        }
    }
    // How often a load waits differs from run to run, so some of them get through.
    assert!(killed > CUTS, "only {killed} of {} loads were killed", 2 * CUTS);
}

#[tokio::test]
async fn a_load_cut_off_at_each_write_is_made_good_on_every_store() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut fatal = 1;
        loop {
            let mut count = 0;
            let mut watch = |_: Progress| {
                count += 1;
                if count == fatal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match recommender(&store).rebuild(&mut app(), &mut watch).await {
                Err(Error::Stopped) => {}
                Ok(_) => break,
                Err(error) => panic!("{error:?}"),
            }
            sync(&store, &mut app()).await;
            assert_eq!(dump(&store).await, crate::world::LOADED, "write {fatal}");
            fatal += 1;
        }
        assert!(fatal > 10, "{fatal}");
    })
    .await;
}

/// Drops a future after so many polls, as when a program is killed that waits; says how many there were.
async fn cut_off<T>(polls: u64, future: impl Future<Output = T>) -> (Option<T>, u64) {
    let mut future = pin!(future);
    let mut polled = 0;
    let ended = poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(None);
        }
        polled += 1;
        future.as_mut().poll(context).map(Some)
    });
    (ended.await, polled)
}

#[track_caller]
fn assert_same(is: &[String], expected: &[String], context: &str) {
    let wrong = is.iter().zip(expected).find(|(is, wanted)| is != wanted);
    assert_eq!(wrong, None, "{context}");
    assert_eq!(is.len(), expected.len(), "{context}");
}

async fn on_server(server: &RedisServer, now_ms: u64) -> (Store, SimulatedHost) {
    let clock = SimulatedHost::new(now_ms, 0);
    let options = Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
    let url = server.url().parse().expect("a good URL");
    (Store::open_with(url, options).await.expect("a store"), clock)
}

async fn open(folder: &Path, now_ms: u64) -> (Store, SimulatedHost) {
    let clock = SimulatedHost::new(now_ms, 0);
    let options = Options { clock: Some(Arc::new(clock.clone())), ..Options::default() };
    let url = format!("embedded:{}", folder.display()).parse().expect("a good URL");
    (Store::open_with(url, options).await.expect("a store"), clock)
}

async fn close(store: &Store) {
    let engine = store.engine().expect("an embedded store").clone();
    let closed = tokio::task::spawn_blocking(move || engine.close()).await;
    closed.expect("no panic").expect("closed");
}

/// The part of the log that grows.
fn log_of(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder.join("appendonlydir")).expect("a log").flatten();
    let mut logs =
        files.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(".incr.aof"));
    let log = logs.next().expect("a log that grows");
    assert_eq!(logs.next(), None, "the log was not rewritten meanwhile");
    log
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.join("appendonlydir")).expect("a folder");
    for file in fs::read_dir(from.join("appendonlydir")).expect("a log").flatten() {
        fs::copy(file.path(), to.join("appendonlydir").join(file.file_name())).expect("a copy");
    }
}

/// Random numbers from a seed.
struct Random(u64);

impl Random {
    /// From `SEED`; the test runner shows it with a failure.
    #[expect(clippy::print_stdout, reason = "the test runner shows it with a failure")]
    fn from_environment() -> Random {
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        println!("repeat with SEED={seed}");
        Random(seed)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}
