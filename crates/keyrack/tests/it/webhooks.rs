//! Webhooks of a whole server, which may die.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
};

use keyrack_testkit::wait_until;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::program::{Run, Serve};

/// A server that takes everything, and remembers it.
struct Receiver {
    addr: SocketAddr,
    bodies: Arc<Mutex<Vec<Json>>>,
}

impl Receiver {
    fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let bodies: Arc<Mutex<Vec<Json>>> = Arc::default();
        let taken = bodies.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).expect("a line");
                    let line = line.trim().to_ascii_lowercase();
                    if let Some(text) = line.strip_prefix("content-length:") {
                        length = text.trim().parse().expect("a length");
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).expect("a body");
                taken.lock().expect("a lock").push(serde_json::from_slice(&body).expect("JSON"));
                let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
                stream.get_mut().write_all(answer).expect("answered");
            }
        });
        Receiver { addr, bodies }
    }

    fn kinds(&self) -> Vec<String> {
        let bodies = self.bodies.lock().expect("a lock");
        bodies.iter().map(|body| body["kind"].as_str().expect("a kind").to_owned()).collect()
    }
}

const ALLOWED: &str = "--webhooks-allow-private 127.0.0.1";

fn submit(serve: &Serve) -> String {
    let (head, body) = serve.post("/api/1/queues/emails/jobs", r#"{"data": ["alice"]}"#);
    assert!(head.contains(" 201 "), "{head}\n{body}");
    let body: Json = serde_json::from_str(&body).expect("JSON");
    body["jid"].as_str().expect("an id").to_owned()
}

fn cancel(serve: &Serve, jid: &str) {
    let (head, body) = serve.send_as(None, "DELETE", &format!("/api/1/jobs/{jid}"), "");
    assert!(head.contains(" 200 ") || head.contains(" 204 "), "{head}\n{body}");
}

#[test]
fn end_of_a_job_is_told_even_if_the_server_is_killed_right_after_it() {
    let (dir, receiver) = (TempDir::new().expect("a folder"), Receiver::start());
    let mut serve = Serve::start_with(dir.path(), ALLOWED, &[]);
    let draft = json!({"url": format!("http://{}/", receiver.addr), "events": ["job.canceled"]});
    let (head, body) = serve.post("/api/1/webhooks", &draft.to_string());
    assert!(head.contains(" 201 "), "{head}\n{body}");
    let created: Json = serde_json::from_str(&body).expect("JSON");
    let jids = [submit(&serve), submit(&serve)];
    cancel(&serve, &jids[0]);
    wait_until("the event to come", || receiver.kinds() == ["job.canceled"]);
    cancel(&serve, &jids[1]);
    serve.process.kill();
    drop(serve);

    let serve = Serve::start_with(dir.path(), ALLOWED, &[]);
    wait_until("the other event to come", || receiver.kinds().len() >= 2);
    let told: Vec<Json> = receiver.bodies.lock().expect("a lock").clone();
    for jid in &jids {
        assert!(told.iter().any(|event| event["data"]["jid"] == **jid), "{told:?}");
    }
    let hook = created["id"].as_str().expect("an id");
    let store = format!("--store redis://{}", serve.resp());
    let run = Run::line_in(dir.path(), &format!("webhooks test {hook} {store}"));
    assert_eq!(run.code, Some(0), "{run:?}");
    wait_until("the test event to come", || receiver.kinds().contains(&"test".to_owned()));
}

#[test]
fn private_address_is_refused_unless_the_server_allows_it() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let draft = json!({"url": "http://127.0.0.1:1/", "events": ["job.failed"]});
    let (head, body) = serve.post("/api/1/webhooks", &draft.to_string());
    assert!(head.contains(" 422 ") && body.contains("\"field\":\"url\""), "{head}\n{body}");
    let store = format!("--store redis://{}", serve.resp());
    let line = format!("webhooks create http://[::1]:1/ --event job.failed {store}");
    let run = Run::line_in(dir.path(), &line);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("url: the address ::1 is private"), "{run:?}");
}
