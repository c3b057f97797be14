//! `kill -9` of the program while traces are reported to it, at any step of a trace and of what follows from its end.
//!
//! `KEYRACK_SEED=n` repeats the numbers of steps after which it is killed.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use keyrack_testkit::wait_until;
use serde_json::{Value as Json, json};

use super::{User, now};

const KILLS: u64 = 25;
/// The most steps that are acknowledged before the next kill. A trace has four.
const STEPS_MAX: u64 = 14;
/// The documented set of the traces that were counted.
const COUNTED: &str = "tcount:alice:test:0";

#[test]
fn no_completed_trace_goes_uncounted_however_often_the_program_is_killed() {
    let mut seed = std::env::var("KEYRACK_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let first_seed: u64 = seed;
    let mut user = User::new();
    let mut ended = Vec::new();
    for round in 0..KILLS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (tell, told) = channel();
        let reporter = Reporter { server: user.serve.http(), token: user.token.clone(), tell };
        let reporting = thread::spawn(move || reporter.report(round));
        let steps = 1 + (seed >> 33) % STEPS_MAX;
        ended.extend(acknowledged(&told, steps));
        user.crash();
        reporting.join().expect("no panic");
        ended.extend(told.try_iter().flatten());
    }
    assert!(ended.len() as u64 > KILLS, "only {} traces ended", ended.len());

    let mut redis = user.serve.redis();
    let what = format!("all traces to be counted, KEYRACK_SEED={first_seed}");
    // What a killed worker had taken is given to the next a quarter of a minute later.
    wait_until(&what, || {
        let scores: Vec<Option<f64>> =
            redis::cmd("ZMSCORE").arg(COUNTED).arg(&ended).query(&mut redis).expect("scores");
        scores.iter().all(Option::is_some)
    });
    // Of some ends nobody was told, and they count all the same.
    wait_until(&what, || completed(&mut redis).iter().all(|uid| is_counted(&mut redis, uid)));
    let queued: usize = redis::cmd("LLEN").arg("jobs:hot").query(&mut redis).expect("a length");
    assert_eq!(queued, 0);
}

/// The traces whose end was acknowledged within the next steps.
fn acknowledged(told: &Receiver<Option<String>>, steps: u64) -> Vec<String> {
    (0..steps).filter_map(|_| told.recv().expect("a server that lives")).collect()
}

/// The traces in the store that are completed.
fn completed(redis: &mut redis::Connection) -> Vec<String> {
    let keys: Vec<String> =
        redis::cmd("KEYS").arg("trace:alice:test:*").query(redis).expect("keys");
    let uids = keys.iter().filter_map(|key| key.strip_prefix("trace:alice:test:"));
    let uids = uids.filter(|uid| !uid.contains(':')).map(str::to_owned).collect::<Vec<_>>();
    let is_done = |uid: &String| {
        let key = format!("trace:alice:test:{uid}");
        let done: Option<String> =
            redis::cmd("HGET").arg(key).arg("done").query(redis).expect("a field");
        done.as_deref() == Some("1")
    };
    uids.into_iter().filter(is_done).collect()
}

fn is_counted(redis: &mut redis::Connection, uid: &str) -> bool {
    let score: Option<f64> =
        redis::cmd("ZSCORE").arg(COUNTED).arg(uid).query(redis).expect("a score");
    score.is_some()
}

/// A client that runs through one trace after another until the server is gone.
struct Reporter {
    server: SocketAddr,
    token: String,
    /// Hears of every step that was acknowledged; of the last of a trace with its uid.
    tell: Sender<Option<String>>,
}

impl Reporter {
    fn report(&self, round: u64) {
        for n in 0.. {
            if self.run_through(&format!("r{round}-{n}")).is_err() {
                return;
            }
        }
    }

    fn run_through(&self, uid: &str) -> io::Result<()> {
        let begin = json!({"pbar_name": "test", "uid": uid, "step_name": "open", "now": now()});
        self.post("traces/", &begin, None)?;
        for (name, done) in [("read", false), ("close", false), ("close", true)] {
            let step = json!({"pbar_name": "test", "trace_uid": uid, "step_name": name, "done": done, "now": now()});
            self.post("traces/steps/", &step, done.then(|| uid.to_owned()))?;
        }
        Ok(())
    }

    /// Sends a step, and tells of it when it was acknowledged.
    fn post(&self, path: &str, body: &Json, ended: Option<String>) -> io::Result<()> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(self.server)?;
        write!(
            stream,
            "POST /api/1/progress_bars/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
        self.tell.send(ended).expect("the test listens");
        Ok(())
    }
}
