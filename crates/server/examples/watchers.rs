//! Many watchers of one journey: a server, its clients over real WebSockets, and events at a steady rate.
//!
//!     watchers STORE_URL WATCHERS EVENTS_PER_SECOND SECONDS
//!
//! Prints one line: how many events came, how many were to, and how late they were, in milliseconds, at the median, at 99 % and at most.
//! An event counts from the moment it is about to be stored until a client has read it.

use std::{
    collections::HashMap,
    env,
    error::Error,
    sync::{Arc, RwLock},
    time::Duration,
};

use futures_util::{SinkExt as _, StreamExt as _};
use keyrack_journeys::{Journeys, NewEvent, Prompt, Tickets, UserAction, keys::JourneyUid};
use keyrack_keys::UserSub;
use keyrack_server::Server;
use keyrack_services::{Options, Services};
use keyrack_store::Store;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

type Failure = Box<dyn Error + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
/// When each event was sent, by its time on the journey, which no two share.
type Sent = Arc<RwLock<HashMap<u64, Instant>>>;

/// A packet, as far as it matters here. A thousand clients in one process must not be what takes the time.
#[derive(Deserialize)]
struct Packet {
    data: Batch,
}

#[derive(Deserialize)]
struct Batch {
    #[serde(default)]
    events: Vec<Seen>,
}

#[derive(Deserialize)]
struct Seen {
    journey_time: f64,
}

const SECRET: &str = "the secret of a benchmark";
/// How many people act in turn, so that nobody acts out of order.
const TRAVELLERS: usize = 50;
/// How long the last events may take.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is what it is run for")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, watchers, rate, seconds] = &arguments[..] else {
        return Err("usage: watchers STORE_URL WATCHERS EVENTS_PER_SECOND SECONDS".into());
    };
    let (watchers, rate, seconds): (usize, u32, u32) =
        (watchers.parse()?, rate.parse()?, seconds.parse()?);

    let store = Store::open(url).await?;
    let journeys = Journeys::new(store.clone());
    let prompt = Prompt::Press { text: "watch".into() };
    let journey = journeys.create(prompt, f64::from(seconds) + 60.0).await?;
    let uid = JourneyUid::new(journey.uid)?;
    let tickets = Tickets::new(SECRET)?;
    let jwt = tickets.issue(&uid, journeys.now());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("ws://{}/api/2/journeys/live", listener.local_addr()?);
    let options = Options { tickets: Some(tickets), ..Options::default() };
    let server = Server::new(Arc::new(Services::new(store, options)));
    tokio::spawn(server.run(listener, std::future::pending()));

    let (sent, mut readers) = (Sent::default(), Vec::new());
    let began = Instant::now();
    for _ in 0..watchers {
        let socket = connect(&address, &uid, &jwt, began).await?;
        let n_events = (rate * seconds) as usize;
        readers.push(tokio::spawn(read(socket, sent.clone(), n_events)));
    }
    let n_sent = act(&journeys, &uid, rate, seconds, began, &sent).await?;

    let mut late = Vec::new();
    for reader in readers {
        late.extend(reader.await?);
    }
    late.sort_unstable();
    let at = |part: f64| {
        late.get((part * (late.len() - 1) as f64) as usize).copied().unwrap_or_default()
    };
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{} {} {:.1} {:.1} {:.1}",
        late.len(),
        n_sent * watchers,
        ms(at(0.5)),
        ms(at(0.99)),
        ms(at(1.0))
    );
    Ok(())
}

/// A watcher whose clock shows the time since `began`.
async fn connect(
    address: &str,
    uid: &JourneyUid,
    jwt: &str,
    began: Instant,
) -> Result<Socket, Failure> {
    let (mut socket, _) = connect_async(address).await?;
    let wish = json!({
        "journey_uid": uid.as_str(), "jwt": jwt, "bandwidth": 5000, "lookback": 10, "lookahead": 10,
    });
    socket.send(Message::text(json!({"type": "authorize", "data": wish}).to_string())).await?;
    socket.next().await.ok_or("no question")??;
    let now = began.elapsed().as_secs_f64();
    let times = json!({"receive_timestamp": now, "transmit_timestamp": now});
    socket.send(Message::text(json!({"type": "sync_response", "data": times}).to_string())).await?;
    socket.next().await.ok_or("not admitted")??;
    Ok(socket)
}

/// A time in whole microseconds: its last bits may change on the way through JSON.
fn key(journey_time: f64) -> u64 {
    (journey_time * 1e6).round() as u64
}

/// Reads until all events have come, or none has for a while. Returns how late each was.
async fn read(mut socket: Socket, sent: Sent, n_events: usize) -> Vec<Duration> {
    let mut late = Vec::with_capacity(n_events);
    while late.len() < n_events {
        let Ok(Some(Ok(Message::Text(text)))) =
            tokio::time::timeout(PATIENCE, next_batch(&mut socket)).await
        else {
            break;
        };
        let came = Instant::now();
        let Ok(Packet { data }) = serde_json::from_str(&text) else { break };
        let sent = sent.read().expect("not poisoned");
        let known = data.events.iter().filter_map(|event| sent.get(&key(event.journey_time)));
        late.extend(known.map(|sent| came - *sent));
    }
    late
}

/// The next packet that is not only about the clock.
async fn next_batch(
    socket: &mut Socket,
) -> Option<Result<Message, tokio_tungstenite::tungstenite::Error>> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) if text.contains("\"latency_detection\"") => {}
            other => return other,
        }
    }
}

/// Lets people like the journey at a steady rate. Returns how many events there were.
async fn act(
    journeys: &Journeys,
    uid: &JourneyUid,
    rate: u32,
    seconds: u32,
    began: Instant,
    sent: &Sent,
) -> Result<usize, Failure> {
    let mut travellers = Vec::new();
    for n in 0..TRAVELLERS {
        let user = UserSub::new(format!("user{n}"))?;
        let session = journeys.start_session(uid, &user).await?;
        let act = UserAction::Join;
        journeys
            .event(NewEvent {
                journey: uid,
                session: &session,
                user: &user,
                act,
                journey_time: 0.0,
            })
            .await?;
        travellers.push((user, session));
    }
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let n_events = (rate * seconds) as usize;
    for n in 0..n_events {
        ticks.tick().await;
        let (user, session) = &travellers[n % TRAVELLERS];
        let now = Instant::now();
        let journey_time = (now - began).as_secs_f64();
        sent.write().expect("not poisoned").insert(key(journey_time), now);
        let act = UserAction::Like;
        journeys.event(NewEvent { journey: uid, session, user, act, journey_time }).await?;
    }
    Ok(n_events)
}
