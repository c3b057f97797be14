//! Clients that take their time, and more of them than there may be.

use std::time::{Duration, Instant};

use keyrack_web::ConnectionLimits;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::site::Site;

/// Long enough for a request on a busy machine, short enough to wait for.
const SHORT: Duration = Duration::from_millis(500);
/// Longer than any test waits.
const LONG: Duration = Duration::from_secs(600);

fn limits() -> ConnectionLimits {
    ConnectionLimits { connections: 100, head: LONG, body: LONG, idle: LONG }
}

async fn connect(site: &Site) -> TcpStream {
    TcpStream::connect(site.addr).await.expect("the server answers")
}

/// Sends something, and returns all that comes back until the server closes the connection.
async fn until_closed(stream: &mut TcpStream, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("text")
}

/// Sends a request and reads a response that has a length.
async fn exchange(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().expect("a number"));
            if body.len() >= length {
                return text;
            }
        }
        assert!(stream.read_buf(&mut bytes).await.expect("a response") > 0, "closed: {text}");
    }
}

#[tokio::test]
async fn a_head_that_is_not_sent_in_time_is_cut() {
    let site = Site::limited(ConnectionLimits { head: SHORT, ..limits() }).await;
    for start in ["", "GET / HTTP/1.1\r\nHost: localh"] {
        let began = Instant::now();
        assert_eq!(until_closed(&mut connect(&site).await, start).await, "");
        assert!(began.elapsed() >= SHORT, "{start:?} after {:?}", began.elapsed());
    }
    // The second on a connection too, though the time between two requests is longer.
    let mut stream = connect(&site).await;
    let live = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert!(exchange(&mut stream, live).await.starts_with("http/1.1 200"));
    assert_eq!(until_closed(&mut stream, "GET /livez HTTP/1.1\r\nHos").await, "");
}

#[tokio::test]
async fn a_body_that_is_not_sent_in_time_is_answered_and_cut() {
    let site = Site::limited(ConnectionLimits { body: SHORT, ..limits() }).await;
    let head =
        "POST /api/1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
    let answer = until_closed(&mut connect(&site).await, head).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("connection: close") && answer.contains("body_too_slow"), "{answer}");
}

#[tokio::test]
async fn a_connection_without_a_request_is_closed_after_a_while() {
    let site = Site::limited(ConnectionLimits { idle: SHORT, ..limits() }).await;
    let mut stream = connect(&site).await;
    let began = Instant::now();
    let live = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for _ in 0..3 {
        assert!(exchange(&mut stream, live).await.starts_with("http/1.1 200"));
    }
    assert_eq!(until_closed(&mut stream, "").await, "");
    assert!(began.elapsed() >= SHORT);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut() {
    let limits = ConnectionLimits { connections: 1, body: SHORT, ..limits() };
    let site = Site::limited(limits).await;
    let mut stream = connect(&site).await;
    // More than the buffers on the way hold, so that the server has to wait for the client.
    let request = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(200);
    stream.write_all(request.as_bytes()).await.expect("sent");
    let cut = async {
        while site.get("/api/1/queues").await.status != 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), cut).await.expect("room for another");
}

#[tokio::test]
async fn half_sent_requests_make_room_for_whole_ones() {
    let site = Site::limited(ConnectionLimits { connections: 8, ..limits() }).await;
    let mut held = Vec::new();
    for _ in 0..200 {
        let mut stream = connect(&site).await;
        stream.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n").await.expect("sent");
        held.push(stream);
    }
    for path in ["/livez", "/readyz", "/api/1/queues", "/"] {
        assert_eq!(site.get(path).await.status, 200, "{path}");
    }
    // The latest are still served, the first are gone.
    let last = held.last_mut().expect("some");
    assert!(until_closed(last, "Connection: close\r\n\r\n").await.starts_with("HTTP/1.1 200"));
    let mut rest = Vec::new();
    let _ = held[0].read_to_end(&mut rest).await;
    assert_eq!(rest, b"");
}

#[tokio::test]
async fn connections_at_work_are_not_closed_and_health_is_told_all_the_same() {
    let site = Site::limited(ConnectionLimits { connections: 4, ..limits() }).await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(site.stream("/api/1/jobs/events", &[]).await);
    }
    for path in ["/livez", "/readyz", "/ping"] {
        assert_eq!(site.get(path).await.status, 200, "{path}");
    }
    site.get("/api/1/queues").await.problem(503, "too_many_connections");
    streams.pop();
    while site.get("/api/1/queues").await.status != 200 {
        tokio::task::yield_now().await;
    }
    site.submit("mail", serde_json::json!({})).await;
    for stream in &mut streams {
        stream.next().await;
    }
}

#[tokio::test]
async fn a_refused_body_closes_the_connection_and_says_so() {
    let site = Site::limited(limits()).await;
    let head =
        "POST /api/1/queues/q/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n";
    let answer = until_closed(&mut connect(&site).await, head).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    // What is small is read, though nobody wants it, and the connection goes on.
    let mut stream = connect(&site).await;
    let unread = "GET /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}";
    for _ in 0..3 {
        let answer = exchange(&mut stream, unread).await;
        assert!(answer.starts_with("http/1.1 404") && !answer.contains("connection: close"));
    }
}

#[tokio::test]
async fn errors_of_the_framework_are_problems_too() {
    let site = Site::start().await;
    site.get("/bulk/x").await.problem(400, "bad_request");
    let body = format!("token={}", "x".repeat(2 << 20));
    site.send("POST", "/sign-in", &[], &body).await.problem(413, "body_too_large");
}
