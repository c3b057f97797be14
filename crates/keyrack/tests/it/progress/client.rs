//! Programs that report to a server, and what the server hears.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Write as _},
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    thread,
};

use keyrack_progress::client::Client;
use keyrack_testkit::{wait_for, wait_until};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::program::{Run, Serve};

/// What was asked of a server: path, token, body.
type Asked = (String, String, Json);

/// A server that notes what it is asked, and answers with these codes; then always with the last.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    fn start(codes: &[u16]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (notes, mut codes) = (Arc::clone(&asked), VecDeque::from(codes.to_vec()));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let asked = read(&mut stream);
                let code = if codes.len() > 1 { codes.pop_front() } else { codes.front().copied() };
                let answer = format!(
                    "HTTP/1.1 {} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                    code.expect("an answer")
                );
                // Noted before it is answered, so that whoever got an answer finds it.
                notes.lock().expect("the notes").push(asked);
                let _ = stream.get_mut().write_all(answer.as_bytes());
            }
        });
        Server { address, asked }
    }

    fn client(&self) -> Client {
        Client::http(&format!("http://{}", self.address), "ep_ut_secret").expect("a client")
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("the notes").clone()
    }
}

fn read(stream: &mut impl BufRead) -> Asked {
    let mut lines = stream.by_ref().lines().map(|line| line.expect("a line"));
    let first = lines.next().expect("a request");
    let (mut token, mut length) = (String::new(), 0);
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").expect("a header");
        match name.to_ascii_lowercase().as_str() {
            "authorization" => token = value.to_owned(),
            "content-length" => length = value.parse().expect("a length"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    let path = first.split(' ').nth(1).expect("a path").to_owned();
    (path, token, serde_json::from_slice(&body).expect("JSON"))
}

#[test]
fn wrapped_items_are_reported_by_the_documented_api() {
    let server = Server::start(&[204]);
    let client = server.client();
    assert_eq!(client.wrap("import", "copy", ["a", "b"]).collect::<Vec<_>>(), ["a", "b"]);
    // The last client waits until everything is sent.
    drop(client);
    let asked = server.asked();
    let (path, token, first) = &asked[0];
    assert_eq!(
        (path.as_str(), token.as_str()),
        ("/api/1/progress_bars/traces/", "bearer ep_ut_secret")
    );
    assert_eq!((&first["pbar_name"], &first["step_name"]), (&json!("import"), &json!("copy")));
    assert_eq!(first["iterations"], 2);
    let (path, _, last) = asked.last().expect("the end");
    assert_eq!(path, "/api/1/progress_bars/traces/steps/");
    assert_eq!((&last["done"], &last["iteration"]), (&json!(true), &json!(2)));
    assert_eq!(last["trace_uid"], first["uid"]);
}

#[test]
fn run_that_is_given_up_is_reported_as_failed() {
    let server = Server::start(&[204]);
    let client = server.client();
    let mut items = client.wrap("import", "copy", 0..10);
    items.next();
    wait_until("the run to begin", || !server.asked().is_empty());
    drop(items);
    drop(client);
    let asked = server.asked();
    let (path, _, last) = asked.last().expect("the end");
    assert_eq!(path, "/api/1/progress_bars/traces/failures/");
    assert_eq!(last["trace_uid"], asked[0].2["uid"]);
    assert_eq!(asked[0].2["reports_every"], 5);
}

#[test]
fn million_iterations_are_told_a_few_times() {
    let server = Server::start(&[204]);
    let client = server.client();
    assert_eq!(client.wrap("import", "copy", 0..1_000_000).count(), 1_000_000);
    drop(client);
    let told = server.asked();
    assert!(told.len() < 100, "{} messages", told.len());
    assert_eq!(told.last().expect("the end").2["iteration"], 1_000_000);
}

#[test]
fn message_that_failed_for_now_is_sent_again() {
    let server = Server::start(&[503, 429, 204]);
    let run = server.client().start("import", "copy", None);
    run.finish();
    wait_until("the end to be told", || {
        server.asked().last().is_some_and(|(_, _, body)| body["done"] == true)
    });
    let bodies: Vec<Json> = server.asked().into_iter().map(|(_, _, body)| body).collect();
    assert_eq!(bodies.len(), 4, "{bodies:?}");
    assert!(bodies[..3].iter().all(|body| *body == bodies[0]), "{bodies:?}");
}

#[test]
fn refusal_ends_the_reports_and_not_the_work() {
    let server = Server::start(&[403]);
    let client = server.client();
    assert_eq!(client.wrap("import", "copy", 0..10).count(), 10);
    drop(client);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn server_that_is_not_there_does_not_disturb_the_work() {
    let nobody =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let client = Client::http(&format!("http://{nobody}"), "x").expect("a client");
    assert_eq!(client.wrap("import", "copy", 0..1_000).count(), 1_000);
}

#[test]
fn address_or_token_that_can_be_none_is_refused() {
    for server in ["", "127.0.0.1:7700", "redis://127.0.0.1:6379", "http://"] {
        let error = Client::http(server, "x").expect_err("no address").to_string();
        assert!(error.starts_with(&format!("\"{server}\" is no address")), "{error}");
    }
    let error = Client::http("http://127.0.0.1:7700", "a\nb").expect_err("no token").to_string();
    assert_eq!(error, "the token has characters that no token has");
}

#[test]
fn reports_to_a_real_server_are_learned_from() {
    let dir = TempDir::new().expect("a folder");
    let serve = Serve::start(dir.path());
    let store = format!("--store redis://{}", serve.resp());
    let run = |line: &str| {
        let run = Run::line_in(dir.path(), &format!("{line} {store}"));
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    };
    let token = run("token create ada --quiet");
    let client = Client::http(&format!("http://{}", serve.http()), token.trim()).expect("a client");
    assert_eq!(client.wrap("import", "copy", 0..50).count(), 50);
    let several = client.start("nightly", "load", None);
    several.step("rows", Some(3));
    several.tick(3);
    several.finish();
    drop(client);
    // The server counts completed runs by itself.
    wait_until("both bars to begin", || {
        let listed: Json =
            serde_json::from_str(&run("progress list --user ada --json")).expect("JSON");
        listed
            .as_array()
            .is_some_and(|bars| bars.iter().filter(|bar| bar["runs"] == 1).count() == 2)
    });
    let stats: Json =
        serde_json::from_str(&run("progress stats import --user ada --json")).expect("JSON");
    assert_eq!(stats["runs"][0]["steps"][0]["iterations"], 50);
    // What the server has learned, it tells the next run.
    let client = Client::http(&format!("http://{}", serve.http()), token.trim()).expect("a client");
    let mut next = client.wrap("import", "copy", 0..50);
    next.next();
    let estimate = wait_for("an estimate", || next.estimate());
    assert!(estimate.p10 <= estimate.p90, "{estimate:?}");
    assert_eq!(next.count(), 49);
}
