//! Watching traces, over WebSockets and as server-sent events.

mod access;
mod timeouts;

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use keyrack_identity::Role;
use keyrack_progress::{NewTrace, TraceFailure, Update};
use keyrack_web::{Access, Auth};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _, protocol::CloseFrame},
};

use crate::site::{Site, jwt};

const PATH: &str = "/api/2/progress_bars/traces/";
const EVENTS: &str = "/api/1/progress_bars/traces/events?sub=alice&pbar_name=import&uid=t";

/// A client as those that are published: connects, says what it wants, and listens.
struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn connect(site: &Site) -> Client {
        let (socket, _) =
            connect_async(format!("ws://{}{PATH}", site.addr)).await.expect("a socket");
        Client(socket)
    }

    /// A client that asks for the trace `t` of Alice's bar `import`.
    async fn watch(site: &Site) -> Client {
        let mut client = Client::connect(site).await;
        client.say(json!({"sub": "alice", "progress_bar_name": "import", "progress_bar_trace_uid": "t"})).await;
        client
    }

    async fn say(&mut self, packet: Json) {
        self.0.send(Message::text(packet.to_string())).await.expect("sent");
    }

    /// The next packet.
    async fn hear(&mut self) -> Json {
        match self.0.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("no packet: {other:?}"),
        }
    }

    async fn is_ready(&mut self) {
        assert_eq!(self.hear().await, json!({"success": true}));
    }

    /// Makes sure that the next thing is the end, and returns its code.
    async fn closed(mut self) -> u16 {
        match self.0.next().await {
            Some(Ok(Message::Close(Some(CloseFrame { code, .. })))) => code.into(),
            other => panic!("not closed: {other:?}"),
        }
    }
}

struct Stage {
    site: Site,
}

impl Stage {
    /// A server that knows Alice.
    async fn new() -> Stage {
        let site = Site::start().await;
        site.token("alice").await;
        Stage { site }
    }

    fn alice() -> keyrack_keys::UserSub {
        keyrack_keys::UserSub::new("alice").expect("a subject")
    }

    async fn begin(&self) {
        self.begin_with(None).await;
    }

    async fn begin_with(&self, reports_every: Option<u64>) {
        let progress = self.site.progress();
        let trace = NewTrace {
            pbar_name: "import".into(),
            uid: "t".into(),
            step_name: "load".into(),
            iterations: None,
            now: progress.now(),
            reports_every,
        };
        progress.create_trace(&Stage::alice(), &trace).await.expect("begun");
    }

    async fn update(&self, step: &str, done: bool) {
        let progress = self.site.progress();
        let update = Update {
            pbar_name: "import".into(),
            trace_uid: "t".into(),
            step_name: step.into(),
            iteration: None,
            iterations: None,
            done,
            now: progress.now(),
        };
        progress.update_trace(&Stage::alice(), &update).await.expect("updated");
    }
}

#[track_caller]
fn check(packet: &Json, step: &str, done: bool) {
    assert_eq!((&packet["type"], &packet["done"]), (&json!("update"), &json!(done)), "{packet}");
    assert_eq!(packet["data"]["step_name"], step, "{packet}");
    for field in [
        "overall_eta_seconds",
        "remaining_eta_seconds",
        "step_overall_eta_seconds",
        "step_remaining_eta_seconds",
    ] {
        assert!(packet["data"][field].is_number(), "{field}: {packet}");
    }
}

#[tokio::test]
async fn a_trace_that_begins_later_is_seen_from_before_its_start_to_its_end() {
    let stage = Stage::new().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "preparing", false);
    stage.begin().await;
    check(&client.hear().await, "load", false);
    stage.update("copy", false).await;
    check(&client.hear().await, "copy", false);
    stage.update("copy", true).await;
    check(&client.hear().await, "copy", true);
    assert_eq!(client.closed().await, 1000);
}

#[tokio::test]
async fn watchers_learn_that_a_run_failed() {
    let stage = Stage::new().await;
    stage.begin().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
    let progress = stage.site.progress();
    let failure = TraceFailure { at: progress.now(), exit_code: Some(3), signal: None };
    progress.fail_trace(&Stage::alice(), "import", "t", failure).await.expect("told");
    let told = client.hear().await;
    // For old clients it is not done, and the connection ends.
    check(&told, "load", false);
    let expected = json!({"state": "failed", "exit_code": 3, "reason": "failed with exit code 3"});
    assert_eq!(told["outcome"], expected, "{told}");
    assert_eq!(told["data"].get("estimate"), None);
    assert_eq!(client.closed().await, 1008);
    let mut late = Client::watch(&stage.site).await;
    late.is_ready().await;
    assert_eq!(late.hear().await["outcome"]["state"], "failed");
    let events = stage.site.get(EVENTS).await.body;
    assert!(
        events.contains("event: end") && events.contains("failed with exit code 3"),
        "{events}"
    );
}

#[tokio::test]
async fn watchers_learn_that_a_run_is_lost_though_nothing_is_said() {
    let stage = Stage::new().await;
    stage.begin_with(Some(1)).await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
    let told = client.hear().await;
    assert_eq!(told["outcome"]["state"], "lost", "{told}");
    assert_eq!(client.closed().await, 1008);
}

#[tokio::test]
async fn who_comes_during_or_after_a_trace_sees_it_too() {
    let stage = Stage::new().await;
    stage.begin().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
    stage.update("load", true).await;
    check(&client.hear().await, "load", true);
    stage.site.work().await;
    let mut late = Client::watch(&stage.site).await;
    late.is_ready().await;
    check(&late.hear().await, "load", true);
    assert_eq!(late.closed().await, 1000);
}

#[tokio::test]
async fn a_trace_that_is_created_again_is_watched_anew() {
    let stage = Stage::new().await;
    stage.begin().await;
    let mut first = Client::watch(&stage.site).await;
    first.is_ready().await;
    check(&first.hear().await, "load", false);
    stage.update("load", true).await;
    stage.begin().await;
    let mut second = Client::watch(&stage.site).await;
    second.is_ready().await;
    check(&second.hear().await, "load", false);
}

#[tokio::test]
async fn aliases_of_the_published_client_are_taken() {
    let stage = Stage::new().await;
    let mut client = Client::connect(&stage.site).await;
    client.say(json!({"sub": "alice", "pbar_name": "import", "uid": "t", "more": 1})).await;
    client.is_ready().await;
}

#[tokio::test]
async fn a_known_bar_tells_how_long_its_steps_take_and_how_sure_that_is() {
    let stage = Stage::new().await;
    let progress = stage.site.progress();
    let alice = Stage::alice();
    let settings = keyrack_progress::BarSettings {
        sampling_max_count: 10_000,
        sampling_max_age_seconds: Some(100),
        ..Default::default()
    };
    progress.create_bar(&alice, "import", settings, Default::default()).await.expect("a bar");
    progress
        .create_step(&alice, "import", "load", false, Default::default())
        .await
        .expect("a step");
    for n in 0..20 {
        let (uid, now) = (format!("past{n}"), progress.now() - 20.0 + f64::from(n));
        let trace = NewTrace {
            pbar_name: "import".into(),
            uid: uid.clone(),
            step_name: "load".into(),
            iterations: None,
            now,
            reports_every: None,
        };
        progress.create_trace(&alice, &trace).await.expect("begun");
        let update = Update {
            pbar_name: "import".into(),
            trace_uid: uid,
            step_name: "load".into(),
            iteration: None,
            iterations: None,
            done: true,
            now: now + 10.0,
        };
        progress.update_trace(&alice, &update).await.expect("done");
    }
    stage.site.work().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    let before = client.hear().await;
    check(&before, "load", false);
    let number = |packet: &Json, field: &str| packet["data"][field].as_f64().expect("a number");
    assert!((number(&before, "overall_eta_seconds") - 10.0).abs() < 0.01, "{before}");
    assert!((number(&before, "step_remaining_eta_seconds") - 10.0).abs() < 0.01, "{before}");
    stage.begin().await;
    let begun = client.hear().await;
    let remaining = number(&begun, "remaining_eta_seconds");
    assert!(remaining > 5.0 && remaining <= 10.0, "{begun}");
    let estimate = &begun["data"]["estimate"];
    let p = |field: &str| estimate[field].as_f64().unwrap_or_else(|| panic!("{begun}"));
    assert!(
        p("p10") <= p("p50") && p("p50") <= p("p90") && p("p50") > 5.0 && p("p50") < 15.0,
        "{begun}"
    );
    assert!((0.0..=1.0).contains(&p("sureness")), "{begun}");
}

#[tokio::test]
async fn whoever_asks_for_nothing_that_can_be_is_told_why_and_closed() {
    let stage = Stage::new().await;
    for (packet, category, kind) in [
        (json!({"sub": "alice"}), 400, "invalid_packet"),
        (json!(7), 400, "invalid_packet"),
        (json!({"sub": "alice", "pbar_name": "", "uid": "t"}), 400, "invalid_packet"),
        (json!({"sub": "alice", "pbar_name": "x".repeat(300), "uid": "t"}), 400, "invalid_packet"),
    ] {
        let mut client = Client::connect(&stage.site).await;
        client.say(packet).await;
        let told = client.hear().await;
        assert_eq!(
            (&told["success"], &told["error_category"]),
            (&json!(false), &json!(category)),
            "{told}"
        );
        assert_eq!(told["error_type"], kind);
        assert!(told["error_message"].is_string());
        assert_eq!(client.closed().await, 1008);
    }
    let mut client = Client::connect(&stage.site).await;
    client.0.send(Message::text("{")).await.expect("sent");
    assert_eq!(client.hear().await["error_type"], "invalid_packet");
    let plain = stage.site.get(PATH).await;
    plain.problem(426, "no_websocket");
}

#[tokio::test]
async fn a_bar_without_steps_is_to_be_tried_again() {
    let stage = Stage::new().await;
    let progress = stage.site.progress();
    progress
        .create_bar(&Stage::alice(), "import", Default::default(), Default::default())
        .await
        .expect("a bar");
    let client = Client::watch(&stage.site).await;
    assert_eq!(client.closed().await, 1013);
    stage.site.get(EVENTS).await.problem(503, "no_steps");
}

#[tokio::test]
async fn the_same_is_streamed_as_events_until_it_is_done() {
    let stage = Stage::new().await;
    stage.begin().await;
    let mut events = stage.site.stream(EVENTS, &[]).await;
    let first = events.next().await;
    assert_eq!(first.kind, "update");
    check(&first.data, "load", false);
    stage.update("load", true).await;
    let last = events.next().await;
    check(&last.data, "load", true);
    assert_ne!(first.id, last.id);
    events.ends().await;
    let mut late = stage.site.stream(EVENTS, &[]).await;
    check(&late.next().await.data, "load", true);
    late.ends().await;
    stage.site.get("/api/1/progress_bars/traces/events?sub=alice").await.problem(422, "invalid");
}

#[tokio::test]
async fn a_server_that_stops_says_so_to_those_who_watch() {
    let stage = Stage::new().await;
    stage.begin().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    client.hear().await;
    let (closed, ()) = tokio::join!(client.closed(), stage.site.stop());
    assert_eq!(closed, 1001);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_watch_one_trace_share_one_subscription_and_all_see_its_end() {
    let server = keyrack_testkit::RedisServer::start();
    let site = Site::on(&server.url(), Vec::new()).await;
    site.token("alice").await;
    let stage = Stage { site };
    stage.begin().await;
    let mut clients = Vec::new();
    for _ in 0..200 {
        let mut client = Client::watch(&stage.site).await;
        client.is_ready().await;
        clients.push(client);
    }
    let subscribed = || {
        let mut cmd = redis::cmd("PUBSUB");
        cmd.arg("CHANNELS").arg("ps:trace:*");
        let channels: Vec<String> = cmd.query(&mut server.connection()).expect("channels");
        channels
    };
    assert_eq!(subscribed(), ["ps:trace:alice:import:t"]);
    let mut cmd = redis::cmd("PUBSUB");
    cmd.arg("NUMSUB").arg("ps:trace:alice:import:t");
    let (_, count): (String, u64) = cmd.query(&mut server.connection()).expect("a count");
    assert_eq!(count, 1);
    stage.update("load", true).await;
    for mut client in clients {
        while client.hear().await["done"] != true {}
        assert_eq!(client.closed().await, 1000);
    }
    keyrack_testkit::wait_until("the room to close", || subscribed().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_during_an_outage_of_the_store_is_not_lost() {
    let server = keyrack_testkit::RedisServer::start();
    let proxy = keyrack_testkit::FaultProxy::start(server.addr()).await;
    let site = Site::on(&proxy.redis_url(), Vec::new()).await;
    site.token("alice").await;
    let stage = Stage { site };
    stage.begin().await;
    let mut client = Client::watch(&stage.site).await;
    client.is_ready().await;
    check(&client.hear().await, "load", false);
    proxy.black_hole(true);
    let store = keyrack_store::Store::open(&server.url()).await.expect("a way round");
    let progress = keyrack_progress::Progress::open(store, keyrack_jobs::hot::keys::hot());
    let update = Update {
        pbar_name: "import".into(),
        trace_uid: "t".into(),
        step_name: "load".into(),
        iteration: None,
        iterations: None,
        done: true,
        now: progress.now(),
    };
    progress.update_trace(&Stage::alice(), &update).await.expect("done");
    proxy.black_hole(false);
    proxy.cut();
    while client.hear().await["done"] != true {}
}
