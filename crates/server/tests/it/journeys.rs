//! Journeys over HTTP, and watched live.

use futures_util::{SinkExt as _, StreamExt as _};
use keyrack_identity::Role;
use keyrack_journeys::{Tickets, keys::JourneyUid};
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, protocol::CloseFrame},
};

use crate::site::{Answer, JOURNEY_SECRET, Site};

/// A server with a journey of a minute, and Alice on it.
struct Stage {
    site: Site,
    alice: String,
    uid: String,
    jwt: String,
    session: String,
}

impl Stage {
    async fn new() -> Stage {
        let site = Site::start().await;
        let admin = site.token_of("admin", Role::Admin).await;
        let alice = site.token_of("alice", Role::Viewer).await;
        let prompt = json!({"style": "numeric", "text": "how are you?", "min": 1, "max": 10});
        let new = json!({"prompt": prompt, "duration_seconds": 60});
        let created = site.post_as(&admin, "/api/1/journeys", new).await;
        assert_eq!(created.status, 201, "{created:?}");
        let uid = created.json()["uid"].as_str().expect("a uid").to_owned();
        let ticket =
            site.post_as(&alice, &format!("/api/1/journeys/{uid}/tickets"), json!({})).await;
        let jwt = ticket.json()["journey_jwt"].as_str().expect("a ticket").to_owned();
        let entry = json!({"journey_jwt": jwt});
        let started = site.post_as(&alice, &format!("/api/1/journeys/{uid}/sessions"), entry).await;
        assert_eq!(started.status, 201, "{started:?}");
        let session = started.json()["session_uid"].as_str().expect("a session").to_owned();
        Stage { site, alice, uid, jwt, session }
    }

    fn body(&self, time: f64, data: Json) -> Json {
        json!({
            "journey_uid": self.uid, "journey_jwt": self.jwt, "session_uid": self.session,
            "journey_time": time, "data": data,
        })
    }

    /// What Alice does.
    async fn does(&self, act: &str, time: f64, data: Json) -> Answer {
        let path = format!("/api/1/journeys/events/{act}");
        self.site.post_as(&self.alice, &path, self.body(time, data)).await
    }

    fn authorize(&self) -> Json {
        let (journey_uid, jwt) = (&self.uid, &self.jwt);
        let wish = json!({
            "journey_uid": journey_uid, "jwt": jwt, "bandwidth": 100, "lookback": 2, "lookahead": 2,
        });
        json!({"type": "authorize", "data": wish})
    }
}

/// A client as those that are published.
struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn connect(site: &Site) -> Client {
        let url = format!("ws://{}/api/2/journeys/live", site.addr);
        Client(connect_async(url).await.expect("a socket").0)
    }

    /// One whose clock shows that time.
    async fn synced(stage: &Stage, time: f64) -> Client {
        let mut client = Client::connect(&stage.site).await;
        client.say(stage.authorize()).await;
        client.hear("sync_request").await;
        let times = json!({"receive_timestamp": time, "transmit_timestamp": time});
        client.say(json!({"type": "sync_response", "data": times})).await;
        client.hear("auth_response").await;
        client
    }

    async fn say(&mut self, packet: Json) {
        self.0.send(Message::text(packet.to_string())).await.expect("sent");
    }

    /// The data of the next packet, which has to be of that type.
    async fn hear(&mut self, kind: &str) -> Json {
        let packet: Json = match self.0.next().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("no packet: {other:?}"),
        };
        assert_eq!(
            (&packet["type"], &packet["success"]),
            (&kind.into(), &(kind != "error").into())
        );
        assert!(packet["uid"].as_str().is_some_and(|uid| uid.starts_with("oseh_packet_")));
        packet["data"].clone()
    }

    async fn closed(mut self) -> u16 {
        match self.0.next().await {
            Some(Ok(Message::Close(Some(CloseFrame { code, .. })))) => code.into(),
            other => panic!("not closed: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_event_is_answered_as_published() {
    let stage = Stage::new().await;
    let joined = stage.does("join", 0.0, json!({})).await;
    assert_eq!(joined.status, 201, "{joined:?}");
    let answer = stage.does("respond_numeric_prompt", 1.5, json!({"rating": 7})).await;
    assert_eq!(answer.status, 201);
    let mut stored = answer.json();
    let uid = stored["uid"].take();
    assert!(uid.as_str().is_some_and(|uid| uid.starts_with("oseh_je_")), "{uid}");
    let expected = json!({
        "uid": null, "user_sub": "alice", "session_uid": stage.session,
        "type": "numeric_prompt_response", "journey_time": 1.5, "data": {"rating": 7},
    });
    assert_eq!(stored, expected);
    stage.does("like", 2.0, json!({})).await;
    let path = format!("/api/1/journeys/{}/stats?second=1", stage.uid);
    let stats = stage.site.send_as(&stage.alice, "GET", &path, json!({})).await.ok();
    assert_eq!(stats["totals"]["users"], 1);
    assert_eq!(stats["totals"]["numeric_active"], json!({"7": 1}));
    assert_eq!(stats["histogram"], json!([1, 1, 1]));
}

#[tokio::test]
async fn every_refusal_has_its_status_and_word() {
    let stage = Stage::new().await;
    stage.does("like", 0.0, json!({})).await.problem(409, "session_not_started");
    stage.does("join", -1.0, json!({})).await.problem(409, "impossible_journey_time");
    stage.does("join", 1.0, json!({})).await;
    stage.does("join", 1.0, json!({})).await.problem(409, "session_already_started");
    stage.does("like", 0.5, json!({})).await.problem(409, "session_has_later_event");
    stage.does("like", 1.0, json!({})).await;
    let twice = stage.does("like", 1.0, json!({})).await;
    twice.problem(409, "session_has_same_event_at_same_time");
    for act in ["respond_press_prompt/start", "respond_press_prompt/end"] {
        stage.does(act, 2.0, json!({})).await.problem(409, "impossible_event");
    }
    for act in ["respond_color_prompt", "respond_word_prompt"] {
        stage.does(act, 2.0, json!({"index": 0})).await.problem(409, "impossible_event");
        stage.does(act, 2.0, json!({"index": -1})).await.problem(422, "invalid");
    }
    let rating = json!({"rating": 11});
    let answer = stage.does("respond_numeric_prompt", 2.0, rating).await;
    answer.problem(409, "impossible_event_data");
    stage.does("leave", 3.0, json!({})).await;
    stage.does("like", 4.0, json!({})).await.problem(409, "session_already_ended");
}

#[tokio::test]
async fn nobody_gets_in_where_they_do_not_belong() {
    let stage = Stage::new().await;
    let (site, uid) = (&stage.site, &stage.uid);
    let eve = site.token("eve").await;
    let path = "/api/1/journeys/events/join";
    let body = stage.body(0.0, json!({}));
    site.post_as(&eve, path, body.clone()).await.problem(409, "session_not_found");
    site.post(path, body.clone()).await.problem(401, "not_set");
    let mut bad = body.clone();
    bad["journey_jwt"] = "x.y.z".into();
    site.post_as(&stage.alice, path, bad).await.problem(403, "invalid");
    let tickets = Tickets::new(JOURNEY_SECRET).expect("a secret");
    let nowhere = JourneyUid::new("nowhere").expect("a uid");
    let now = site.store.now_ms() as f64 / 1000.0;
    let mut elsewhere = body;
    elsewhere["journey_jwt"] = tickets.issue(&nowhere, now).into();
    site.post_as(&stage.alice, path, elsewhere.clone()).await.problem(403, "invalid");
    elsewhere["journey_uid"] = "nowhere".into();
    site.post_as(&stage.alice, path, elsewhere).await.problem(404, "not_found");
    // Only an admin makes and deletes journeys.
    let journey = format!("/api/1/journeys/{uid}");
    for token in [&eve, &stage.alice] {
        site.send_as(token, "DELETE", &journey, json!({})).await.problem(403, "forbidden");
        let new = json!({"prompt": {"style": "press", "text": ""}, "duration_seconds": 1});
        site.post_as(token, "/api/1/journeys", new).await.problem(403, "forbidden");
        assert_eq!(site.send_as(token, "GET", &journey, json!({})).await.ok()["uid"], **uid);
    }
    site.get(&journey).await.problem(401, "not_set");
    let admin = site.token_of("admin", Role::Admin).await;
    assert_eq!(site.send_as(&admin, "DELETE", &journey, json!({})).await.status, 204);
    site.send_as(&eve, "GET", &journey, json!({})).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_watcher_gets_events_with_their_data() {
    let stage = Stage::new().await;
    let mut client = Client::synced(&stage, 0.0).await;
    stage.does("join", 0.0, json!({})).await;
    let answer = stage.does("respond_numeric_prompt", 0.5, json!({"rating": 7})).await.json();
    let mut events = Vec::new();
    while events.len() < 2 {
        let batch = client.hear("event_batch").await;
        events.extend(batch["events"].as_array().expect("events").clone());
    }
    let expected = json!({
        "uid": answer["uid"], "user_sub": "alice", "session_uid": stage.session,
        "evtype": "numeric_prompt_response", "journey_time": 0.5, "data": {"rating": 7},
    });
    assert_eq!(events[1], expected);
    let latency = client.hear("latency_detection").await;
    let expected = latency["expected_receive_journey_time"].as_f64().expect("a time");
    assert!((2.0..10.0).contains(&expected), "{expected}");
    // Nothing more is to be said.
    client.say(json!({"type": "hello", "data": {}})).await;
    assert_eq!(client.closed().await, 1008);
}

#[tokio::test]
async fn a_watcher_whose_clock_is_nowhere_near_the_journey_is_refused() {
    let stage = Stage::new().await;
    for time in [-1e9, 1e9] {
        let mut client = Client::connect(&stage.site).await;
        client.say(stage.authorize()).await;
        client.hear("sync_request").await;
        let times = json!({"receive_timestamp": time, "transmit_timestamp": time});
        client.say(json!({"type": "sync_response", "data": times})).await;
        let told = client.hear("error").await;
        assert_eq!(told["code"], 422, "{told}");
        assert!(told["message"].as_str().is_some_and(|text| text.contains("from 0 to 60")));
        assert_eq!(client.closed().await, 1008);
        let path = format!("/api/1/journeys/{}/live?jwt={}", stage.uid, stage.jwt);
        let refused = stage.site.get(&format!("{path}&journey_time={time}")).await;
        refused.problem(422, "invalid");
        assert_eq!(refused.field().as_deref(), Some("journey_time"));
    }
}

#[tokio::test]
async fn a_watcher_who_is_not_admitted_is_told_why() {
    let stage = Stage::new().await;
    let tickets = Tickets::new(JOURNEY_SECRET).expect("a secret");
    let now = stage.site.store.now_ms() as f64 / 1000.0;
    let nowhere = tickets.issue(&JourneyUid::new("nowhere").expect("a uid"), now);
    let with = |changes: Json| {
        let mut packet = stage.authorize();
        for (name, value) in changes.as_object().expect("changes") {
            packet["data"][name] = value.clone();
        }
        packet
    };
    for (packet, code, kind) in [
        (json!({"type": "hello", "data": {}}), 422, "unprocessable_entity"),
        (json!([]), 422, "unprocessable_entity"),
        (with(json!({"bandwidth": 0})), 422, "unprocessable_entity"),
        (with(json!({"lookback": 11})), 422, "unprocessable_entity"),
        (with(json!({"jwt": "x.y.z"})), 403, "forbidden"),
        (with(json!({"jwt": nowhere})), 403, "forbidden"),
        (with(json!({"jwt": nowhere, "journey_uid": "nowhere"})), 404, "not_found"),
    ] {
        let mut client = Client::connect(&stage.site).await;
        client.say(packet.clone()).await;
        let told = client.hear("error").await;
        assert_eq!((&told["code"], &told["type"]), (&code.into(), &kind.into()), "{packet}");
        assert_eq!(client.closed().await, 1008);
    }
    let mut client = Client::connect(&stage.site).await;
    client.say(stage.authorize()).await;
    client.hear("sync_request").await;
    let times = json!({"receive_timestamp": 1, "transmit_timestamp": 0});
    client.say(json!({"type": "sync_response", "data": times})).await;
    assert_eq!(client.hear("error").await["code"], 422);
}

#[tokio::test]
async fn a_journey_that_is_over_is_watched_no_more() {
    let stage = Stage::new().await;
    let client = Client::synced(&stage, 73.0).await;
    assert_eq!(client.closed().await, 1000);
    let path = format!("/api/1/journeys/{}/live?jwt={}&journey_time=73", stage.uid, stage.jwt);
    let mut events = stage.site.stream(&path, &[]).await;
    assert_eq!(events.next().await.kind, "end");
    events.ends().await;
}

#[tokio::test]
async fn a_journey_is_watched_as_server_sent_events_too() {
    let stage = Stage::new().await;
    let path = format!("/api/1/journeys/{}/live", stage.uid);
    let query = format!("{path}?jwt={}&journey_time=0&bandwidth=10", stage.jwt);
    let mut events = stage.site.stream(&query, &[]).await;
    stage.does("join", 0.0, json!({})).await;
    let event = events.next().await;
    assert_eq!((&*event.kind, &event.data["events"][0]["evtype"]), ("event_batch", &"join".into()));
    let site = &stage.site;
    site.get(&format!("{path}?jwt=x&journey_time=0")).await.problem(403, "invalid");
    let wide = site.get(&format!("{query}&lookback=11")).await;
    wide.problem(422, "invalid");
    assert_eq!(wide.field().as_deref(), Some("lookback"));
}
