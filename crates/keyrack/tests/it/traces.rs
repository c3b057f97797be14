//! Progress bars against the built program, as a client that knows only the published API: over HTTP and a WebSocket.
//!
//! `KEYRACK_BIN=target/release/keyrack cargo test -p keyrack-cli --test it traces` does the same with a release.

mod kills;

use std::{net::TcpStream, time::Duration};

use keyrack_testkit::{wait_for, wait_until};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tungstenite::{Message, WebSocket, stream::MaybeTlsStream};

use crate::program::{Run, Serve};

/// A running server and a user of it.
struct User {
    serve: Serve,
    token: String,
    dir: TempDir,
}

impl User {
    fn new() -> User {
        User::with("")
    }

    fn with(arguments: &str) -> User {
        let dir = TempDir::new().expect("a folder");
        let serve = Serve::start_with(dir.path(), arguments, &[]);
        let store = format!("redis://{}", serve.resp());
        let run = Run::line_in(dir.path(), &format!("token create alice --store {store}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        User { token: run.stdout.trim().to_owned(), serve, dir }
    }

    /// Ends the server as a crash would, and starts it again.
    fn crash(&mut self) {
        self.serve.process.kill();
        self.serve = Serve::start(self.dir.path());
    }

    /// Sends a request; returns status and body.
    fn send(&self, method: &str, path: &str, body: &Json) -> (u16, Json) {
        send(&self.serve, Some(&self.token), method, path, body)
    }

    #[track_caller]
    fn post(&self, path: &str, body: Json) -> Json {
        let (status, answer) = self.send("POST", &format!("/api/1/progress_bars/{path}"), &body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    fn items(&self, path: &str) -> Vec<Json> {
        let found = self.post(path, json!({"filters": {}, "limit": 100}));
        found["items"].as_array().expect("items").clone()
    }

    fn begin(&self, uid: &str, iterations: Option<u64>, now: f64) {
        let body = json!({"pbar_name": "test", "uid": uid, "step_name": "step1", "iterations": iterations, "now": now});
        self.post("traces/", body);
    }

    fn finish(&self, uid: &str, iterations: Option<u64>, now: f64) {
        let body = json!({
            "pbar_name": "test", "trace_uid": uid, "step_name": "step1", "iterations": iterations,
            "iteration": iterations, "done": true, "now": now,
        });
        self.post("traces/steps/", body);
    }

    /// Waits until so many traces are retained.
    fn retains(&self, n_traces: usize) {
        wait_until("the traces to be retained", || self.items("traces/search").len() == n_traces);
    }

    /// Runs through so many traces, each begun a while after the one before. Their times are past, so that nobody has to wait.
    fn runs_through(&self, n_traces: u32, apart: Duration, is_iterated: bool) {
        let began = now() - 60.0;
        for n in 0..n_traces {
            let (uid, at) = (format!("t{n}"), began + f64::from(n) * apart.as_secs_f64());
            let iterations = is_iterated.then_some(u64::from(n % 5) + 1);
            self.begin(&uid, iterations, at);
            self.finish(&uid, iterations, at + 0.01 * iterations.unwrap_or(1) as f64);
        }
    }

    /// Makes sure that the next trace is told how long it takes.
    #[track_caller]
    fn is_told_times(&self, by: &str) {
        let packet = self.watch("next").hear_of("step1");
        for time in ["overall_eta_seconds", "step_overall_eta_seconds"] {
            let seconds = packet["data"][time].as_f64().expect("a time");
            assert!(seconds > 0.0, "{by}: {packet}");
        }
    }

    /// A watcher of one of the user's traces.
    fn watch(&self, uid: &str) -> Watcher {
        watch(&self.serve, "alice", "test", uid)
    }
}

fn send(serve: &Serve, token: Option<&str>, method: &str, path: &str, body: &Json) -> (u16, Json) {
    let (head, body) = serve.send_as(token, method, path, &body.to_string());
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(&body).unwrap_or(Json::Null))
}

struct Watcher(WebSocket<MaybeTlsStream<TcpStream>>);

fn watch(serve: &Serve, sub: &str, bar: &str, uid: &str) -> Watcher {
    let address = format!("ws://{}/api/2/progress_bars/traces/", serve.http());
    let (mut socket, _) = tungstenite::connect(address).expect("a socket");
    let packet = json!({"sub": sub, "progress_bar_name": bar, "progress_bar_trace_uid": uid});
    socket.send(Message::text(packet.to_string())).expect("sent");
    let mut watcher = Watcher(socket);
    assert_eq!(watcher.hear(), json!({"success": true}));
    watcher
}

impl Watcher {
    fn hear(&mut self) -> Json {
        match self.0.read().expect("a packet") {
            Message::Text(text) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("no packet: {other:?}"),
        }
    }

    /// The next packet, which is not the last, and is about that step.
    #[track_caller]
    fn hear_of(&mut self, step: &str) -> Json {
        let packet = self.hear();
        assert_eq!(
            (&packet["type"], &packet["done"]),
            (&json!("update"), &json!(false)),
            "{packet}"
        );
        assert_eq!(packet["data"]["step_name"], step, "{packet}");
        packet
    }

    /// Hears everything up to the last packet.
    fn hear_the_end(&mut self) -> Json {
        loop {
            let packet = self.hear();
            if packet["done"] == true {
                return packet;
            }
        }
    }
}

/// The machine's time, as a client sends it.
fn now() -> f64 {
    jiff::Timestamp::now().as_millisecond() as f64 / 1000.0
}

#[test]
fn the_first_trace_of_an_unknown_bar_makes_it_and_another_shape_makes_a_version() {
    let user = User::new();
    user.begin("a", None, now());
    user.finish("a", None, now());
    user.retains(1);
    let bars = user.items("search");
    assert_eq!((bars.len(), &bars[0]["version"]), (1, &json!(0)));
    assert_eq!(user.items("steps/search").len(), 2);

    user.begin("a", Some(5), now());
    user.finish("a", Some(5), now());
    wait_until("a new version", || user.items("search")[0]["version"] == 1);
    user.retains(1);
    let steps = user.items("steps/search");
    assert!(
        steps.iter().any(|step| step["name"] == "step1" && step["iterated"] == true),
        "{steps:?}"
    );
}

#[test]
fn a_bar_without_steps_has_them_from_its_first_trace_after_its_default_step() {
    let user = User::new();
    let config = json!({"one_off_technique": "geometric_mean", "one_off_percentile": 50});
    user.post("", json!({"name": "test", "default_step_config": config}));
    user.begin("a", None, now());
    user.finish("a", None, now());
    user.retains(1);
    assert_eq!(user.items("search")[0]["version"], 1);
    let steps = user.items("steps/search");
    assert_eq!(steps.len(), 2);
    assert!(steps.iter().all(|step| step["one_off_technique"] == "geometric_mean"), "{steps:?}");
}

#[test]
fn traces_are_watched_from_before_or_after_their_start_of_known_and_unknown_bars() {
    for is_known in [false, true] {
        let user = User::new();
        if is_known {
            user.post("", json!({"name": "test"}));
            user.post("steps/?pbar_name=test&step_name=step1", json!({}));
        }
        let mut early = user.watch("a");
        early.hear_of(if is_known { "step1" } else { "preparing" });
        user.begin("a", None, now());
        early.hear_of("step1");
        let mut late = user.watch("a");
        late.hear_of("step1");
        user.finish("a", None, now());
        for watcher in [&mut early, &mut late] {
            assert_eq!(watcher.hear_the_end()["data"]["step_name"], "step1");
            assert!(
                matches!(watcher.0.read(), Ok(Message::Close(Some(frame))) if frame.code == 1000.into())
            );
        }
        user.retains(1);
        assert_eq!(user.watch("a").hear()["done"], true, "even after it was counted");
    }
}

#[test]
fn every_technique_tells_a_time() {
    const TRACES: u32 = 20;
    let user = User::new();
    let one_off = ["percentile", "harmonic_mean", "geometric_mean", "arithmetic_mean"];
    let iterated =
        ["best_fit.linear", "percentile", "harmonic_mean", "geometric_mean", "arithmetic_mean"];
    let combinations = one_off.iter().flat_map(|overall| {
        let steps = one_off.iter().map(|step| (false, *step));
        steps.chain(iterated.iter().map(|step| (true, *step))).map(move |step| (*overall, step))
    });
    for (overall, (is_iterated, technique)) in combinations {
        let bar = json!({
            "name": "test", "sampling_max_count": 10_000, "sampling_max_age_seconds": 100,
            // All are kept, in whatever order the workers come to them.
            "sampling_technique": "simple_random",
            "default_step_config": {"one_off_technique": overall},
        });
        user.post("", bar);
        let field = if is_iterated { "iterated_technique" } else { "one_off_technique" };
        user.post(
            "steps/?pbar_name=test&step_name=step1",
            json!({"iterated": is_iterated, field: technique}),
        );
        user.runs_through(TRACES, Duration::from_millis(20), is_iterated);
        user.retains(TRACES as usize);
        user.is_told_times(&format!("{overall} {technique}"));
        assert_eq!(user.send("DELETE", "/api/1/progress_bars/?name=test", &json!({})).0, 204);
    }
}

#[test]
fn a_hundred_traces_as_close_as_their_sampling_allows_tell_a_time() {
    // Workers come to traces in any order, and one that is late finds a later one in its place.
    const RETAINED_MIN: usize = 20;
    let user = User::new();
    let bar =
        json!({"name": "test", "sampling_max_count": 10_000, "sampling_max_age_seconds": 100});
    user.post("", bar);
    user.post("steps/?pbar_name=test&step_name=step1", json!({"iterated": true}));
    user.runs_through(100, Duration::from_millis(10), true);
    wait_until("the traces to be retained", || user.items("traces/search").len() >= RETAINED_MIN);
    user.is_told_times("the usual techniques");
}

#[test]
fn an_example_is_run_watched_and_its_number_is_there_when_it_is_done() {
    let user = User::new();
    let body = json!({"duration": 1, "stdev": 1});
    let (status, started) = send(&user.serve, None, "POST", "/api/1/examples/job", &body);
    assert_eq!(status, 200, "{started}");
    let text = |field: &str| started[field].as_str().expect("text").to_owned();
    let mut watcher = watch(&user.serve, &text("sub"), &text("pbar_name"), &text("uid"));
    assert_eq!(watcher.hear_the_end()["data"]["step_name"], "calculating");
    let path = format!("/api/1/examples/job?uid={}", text("uid"));
    let (_, result) = send(&user.serve, None, "GET", &path, &json!({}));
    assert_eq!(result["status"], "complete", "{result}");
    assert!((1..=999).contains(&result["data"]["number"].as_u64().expect("a number")), "{result}");
}

#[test]
fn jobs_of_others_stay_in_the_hot_queue() {
    let user = User::new();
    let mut redis = user.serve.redis();
    let foreign = r#"{"name": "runners.foreign", "kwargs":  {"n": 1}, "queued_at": 1.0}"#;
    redis::cmd("RPUSH").arg("jobs:hot").arg(foreign).exec(&mut redis).expect("pushed");
    user.begin("a", None, now());
    user.finish("a", None, now());
    user.retains(1);
    let left = wait_for("the job to be back in its queue", || {
        let left: Vec<String> =
            redis::cmd("LRANGE").arg("jobs:hot").arg(0).arg(-1).query(&mut redis).expect("a list");
        (!left.is_empty()).then_some(left)
    });
    assert_eq!(left, [foreign]);
}

#[test]
fn a_server_that_is_told_so_leaves_the_hot_queue_alone() {
    let user = User::with("--hot off");
    user.begin("a", None, now());
    user.finish("a", None, now());
    let mut redis = user.serve.redis();
    let waiting: u64 = redis::cmd("LLEN").arg("jobs:hot").query(&mut redis).expect("a length");
    assert_eq!(waiting, 1);
    let workers: u64 =
        redis::cmd("EXISTS").arg("jobs:hot:workers").query(&mut redis).expect("a number");
    assert_eq!(workers, 0);
}
