//! Many watchers of one trace, over real WebSockets to a server that runs already.
//!
//!     trace_watchers HTTP_ADDRESS TOKEN SUB WATCHERS UPDATES PER_SECOND SERVER_PID
//!
//! Prints one line: how many watchers saw the end, how many updates they saw, how late these were in milliseconds at the median, at 99 %
//! and at most, and how many kilobytes of memory the server took for each watcher. An update counts from before it is sent to the
//! server until a client has read it.

use std::{
    collections::HashMap,
    env,
    error::Error,
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::{SinkExt as _, StreamExt as _, stream};
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

type Failure = Box<dyn Error + Send + Sync>;
type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;
/// When each step was sent. Every update is a step of its own, so that a packet tells which it is about.
type Sent = Arc<Mutex<HashMap<String, Instant>>>;

const BAR: &str = "bench";
const TRACE: &str = "watched";
/// How many connect at once; more would only wait for each other.
const CONNECTING: usize = 50;
/// How long the last updates may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is what it is run for")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [address, token, sub, watchers, updates, rate, pid] = &arguments[..] else {
        return Err(
            "usage: trace_watchers ADDRESS TOKEN SUB WATCHERS UPDATES PER_SECOND PID".into()
        );
    };
    let (watchers, updates, rate): (usize, u32, u32) =
        (watchers.parse()?, updates.parse()?, rate.parse()?);
    let server = Server { address: address.clone(), token: token.clone() };
    server.begin().await?;

    let before = resident_kb(pid)?;
    let packet = json!({"sub": sub, "progress_bar_name": BAR, "progress_bar_trace_uid": TRACE});
    let sockets = stream::iter(0..watchers).map(|_| connect(address, packet.to_string()));
    let sockets: Vec<Result<Socket, Failure>> =
        sockets.buffer_unordered(CONNECTING).collect().await;
    let per_watcher = resident_kb(pid)?.saturating_sub(before) as f64 / watchers as f64;

    let sent = Sent::default();
    let mut readers = Vec::new();
    for socket in sockets {
        readers.push(tokio::spawn(read(socket?, sent.clone())));
    }
    let mut ticks = interval(Duration::from_secs(1) / rate);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for n in 0..updates {
        ticks.tick().await;
        server.update(&format!("step{n}"), false, &sent).await?;
    }
    ticks.tick().await;
    server.update(&format!("step{}", updates - 1), true, &sent).await?;

    let (mut ended, mut late) = (0, Vec::new());
    for reader in readers {
        let Ok(seen) = timeout(PATIENCE, reader).await else { continue };
        let (saw_end, times) = seen?;
        ended += usize::from(saw_end);
        late.extend(times);
    }
    late.sort_unstable();
    let at = |part: f64| late.get((part * late.len().saturating_sub(1) as f64) as usize).copied();
    let ms = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64() * 1000.0;
    let (p50, p99, max) = (ms(at(0.5)), ms(at(0.99)), ms(at(1.0)));
    println!("{ended} {} {p50:.1} {p99:.1} {max:.1} {per_watcher:.1}", late.len());
    Ok(())
}

/// What a process has in memory.
fn resident_kb(pid: &str) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line.ok_or("no VmRSS")?.trim().trim_end_matches(" kB").parse()?)
}

/// Connects and waits until the watch stands.
async fn connect(address: &str, packet: String) -> Result<Socket, Failure> {
    let (mut socket, _) =
        connect_async(format!("ws://{address}/api/2/progress_bars/traces/")).await?;
    socket.send(Message::text(packet)).await?;
    let answer = hear(&mut socket).await?.ok_or("closed at once")?;
    if answer["success"] != true {
        return Err(format!("refused: {answer}").into());
    }
    Ok(socket)
}

async fn hear(socket: &mut Socket) -> Result<Option<Json>, Failure> {
    while let Some(message) = socket.next().await {
        match message? {
            Message::Text(text) => return Ok(Some(serde_json::from_str(&text)?)),
            Message::Close(_) => return Ok(None),
            _ => {}
        }
    }
    Ok(None)
}

/// Reads to the end. Returns whether it was one, and how late each update was.
async fn read(mut socket: Socket, sent: Sent) -> (bool, Vec<Duration>) {
    let mut late = Vec::new();
    let mut last = String::new();
    while let Ok(Some(packet)) = hear(&mut socket).await {
        let now = Instant::now();
        let is_end = packet["done"] == true;
        let step = if is_end { "end" } else { packet["data"]["step_name"].as_str().unwrap_or("") };
        // Who comes while a step is under way hears of it, but that is no update.
        if step != last
            && let Some(at) = sent.lock().unwrap_or_else(|broken| broken.into_inner()).get(step)
        {
            late.push(now - *at);
            step.clone_into(&mut last);
        }
        if is_end {
            return (true, late);
        }
    }
    (false, late)
}

struct Server {
    address: String,
    token: String,
}

impl Server {
    async fn begin(&self) -> Result<(), Failure> {
        let body = json!({"pbar_name": BAR, "uid": TRACE, "step_name": "begin", "now": 0});
        self.post("/api/1/progress_bars/traces/", &body).await
    }

    async fn update(&self, step: &str, done: bool, sent: &Sent) -> Result<(), Failure> {
        let name = if done { "end" } else { step };
        sent.lock()
            .unwrap_or_else(|broken| broken.into_inner())
            .insert(name.to_owned(), Instant::now());
        let body = json!({"pbar_name": BAR, "trace_uid": TRACE, "step_name": step, "done": done, "now": 0});
        self.post("/api/1/progress_bars/traces/steps/", &body).await
    }

    async fn post(&self, path: &str, body: &Json) -> Result<(), Failure> {
        let mut stream = TcpStream::connect(&self.address).await?;
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: bearer {}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        if !answer.starts_with("HTTP/1.1 204") {
            return Err(answer.into());
        }
        Ok(())
    }
}
