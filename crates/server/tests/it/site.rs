//! A server of one's own, and a client that is no more than HTTP needs.

use std::{collections::HashMap, net::SocketAddr, sync::Arc};

use keyrack_files::Buckets;
use keyrack_identity::{Identity, JwtSettings, KeySource, NewToken, Role, TokenScope, dev_token};
use keyrack_jobs::{
    bee::{Hive, keys::Jid},
    hot,
    recurring::Definition,
};
use keyrack_journeys::Tickets;
use keyrack_keys::UserSub;
use keyrack_progress::Progress;
use keyrack_server::Server;
use keyrack_services::{Billing, Deploys, Options, Quotas, Services};
use keyrack_store::Store;
use keyrack_testkit::Exchange;
use keyrack_updates::{Secret, keys::Repo};
use keyrack_web::{Access, ConnectionLimits, MetricsQueues};
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

use crate::recommendations::recommendations;

/// What those know who may announce updates, and issue tickets for journeys.
pub(crate) const DEPLOY_SECRET: &str = "the secret of the build server";
pub(crate) const JOURNEY_SECRET: &str = "the secret of journeys";

/// A running server.
pub(crate) struct Site {
    pub(crate) addr: SocketAddr,
    pub(crate) hive: Hive,
    pub(crate) store: Store,
    pub(crate) identity: Identity,
    /// Where the server's files are.
    pub(crate) files: TempDir,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Site {
    /// A server for a store in memory.
    pub(crate) async fn start() -> Site {
        Site::on("embedded:memory", Vec::new()).await
    }

    pub(crate) async fn on(url: &str, definitions: Vec<Definition>) -> Site {
        let store = Store::open(url).await.expect("a store");
        Site::on_store(store, definitions).await
    }

    pub(crate) async fn on_store(store: Store, definitions: Vec<Definition>) -> Site {
        Site::selling(store, definitions, None).await
    }

    /// A server that knows what users have paid for.
    pub(crate) async fn selling(
        store: Store,
        definitions: Vec<Definition>,
        billing: Option<Billing>,
    ) -> Site {
        Site::guarded(store, definitions, billing, Access::default()).await
    }

    /// A server in memory that lets in whom `access` says.
    pub(crate) async fn letting_in(access: Access) -> Site {
        let store = Store::open("embedded:memory").await.expect("a store");
        Site::guarded(store, Vec::new(), None, access).await
    }

    pub(crate) async fn guarded(
        store: Store,
        definitions: Vec<Definition>,
        billing: Option<Billing>,
        access: Access,
    ) -> Site {
        let (limits, quotas) = (ConnectionLimits::default(), Quotas::default());
        Site::built(store, definitions, billing, access, limits, quotas).await
    }

    /// A server in memory whose metrics tell these queues apart.
    pub(crate) async fn measuring(metrics_queues: MetricsQueues) -> Site {
        let store = Store::open("embedded:memory").await.expect("a store");
        let services = Arc::new(Services::new(store.clone(), Options::default()));
        let server = Server { metrics_queues, ..Server::new(services) };
        let identity = Identity::with_jwt(store.clone(), sign_in()).expect("good settings");
        let hive = Hive::open(store.clone()).await.expect("a hive");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(server.run(listener, async {
            let _ = stopped.await;
        }));
        let files = TempDir::new().expect("a folder");
        Site { addr, hive, store, identity, files, stop: Some(stop), served }
    }

    /// A server in memory with other limits on connections.
    pub(crate) async fn limited(limits: ConnectionLimits) -> Site {
        let store = Store::open("embedded:memory").await.expect("a store");
        Site::built(store, Vec::new(), None, Access::default(), limits, Quotas::default()).await
    }

    /// A server in memory with other quotas for each user.
    pub(crate) async fn rationed(quotas: Quotas) -> Site {
        let store = Store::open("embedded:memory").await.expect("a store");
        let limits = ConnectionLimits::default();
        Site::built(store, Vec::new(), None, Access::default(), limits, quotas).await
    }

    async fn built(
        store: Store,
        definitions: Vec<Definition>,
        billing: Option<Billing>,
        access: Access,
        limits: ConnectionLimits,
        quotas: Quotas,
    ) -> Site {
        let identity = Identity::with_jwt(store.clone(), sign_in()).expect("good settings");
        let hive = Hive::open(store.clone()).await.expect("a hive");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let repos = ["backend", "jobs"].map(|name| Repo::new(name).expect("a name")).into();
        let secret = Secret::new(DEPLOY_SECRET).expect("a secret");
        let files = TempDir::new().expect("a folder");
        let options = Options {
            identity: Some(identity.clone()),
            recurring: definitions,
            quotas,
            tickets: Some(Tickets::new(JOURNEY_SECRET).expect("a secret")),
            deploys: Some(Deploys { secret, repos }),
            billing,
            buckets: Some(Buckets::folder(files.path())),
            recommendations: Some(recommendations(&store)),
            webhooks: keyrack_services::Options::default().webhooks,
        };
        let services = Arc::new(Services::new(store.clone(), options));
        let server = Server { access, limits, ..Server::new(services) };
        let served = tokio::spawn(server.run(listener, async {
            let _ = stopped.await;
        }));
        Site { addr, hive, store, identity, files, stop: Some(stop), served }
    }

    /// Tells the server to stop and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        (&mut self.served).await.expect("no panic").expect("served");
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: Json) -> Answer {
        self.send("POST", path, &[], &body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Json) -> Answer {
        self.send("PUT", path, &[], &body.to_string()).await
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = self.open(method, path, headers, body).await;
        let mut response = Vec::new();
        // A server that refuses a large body closes the connection while we still send it.
        let _ = stream.read_to_end(&mut response).await;
        let answer = Answer::parse(&String::from_utf8(response).expect("text"));
        let content_type = answer.header("content-type");
        let (status, body) = (answer.status, answer.body.as_str());
        Exchange { method, path, status, content_type, body }.conforms();
        answer
    }

    /// Sends a request as it is written.
    pub(crate) async fn raw(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.addr).await.expect("the server answers");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).await.expect("text");
        let answer = Answer::parse(&response);
        let mut words = request.split(' ');
        if let (Some(method), Some(path)) = (words.next(), words.next()) {
            let (content_type, body) = (answer.header("content-type"), answer.body.as_str());
            Exchange { method, path, status: answer.status, content_type, body }.conforms();
        }
        answer
    }

    /// Sends a request and leaves the answer to come.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        let mut stream = TcpStream::connect(self.addr).await.expect("the server answers");
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.addr);
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).await.expect("sent");
        let _ = stream.write_all(body.as_bytes()).await;
        stream
    }

    /// Opens a stream of events and reads its head.
    pub(crate) async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let stream = self.open("GET", path, headers, "").await;
        let mut events = Events { lines: BufReader::new(stream) };
        let status = events.line().await;
        assert_eq!(status, "HTTP/1.1 200 OK");
        let mut is_stream = false;
        loop {
            match events.line().await.to_ascii_lowercase().as_str() {
                "" => break,
                "content-type: text/event-stream" => is_stream = true,
                _ => {}
            }
        }
        assert!(is_stream);
        events
    }

    /// A user token of somebody, with which everything of their own can be changed.
    pub(crate) async fn token(&self, sub: &str) -> String {
        self.token_of(sub, Role::Operator).await
    }

    /// A user token of somebody with a role.
    pub(crate) async fn token_of(&self, sub: &str, role: Role) -> String {
        let sub = UserSub::new(sub).expect("a subject");
        let new =
            NewToken { name: "test".into(), role, reach: TokenScope::Server, expires_at: None };
        self.identity.create_token("test", &sub, new).await.expect("a token").secret
    }

    /// The progress bars behind the server.
    pub(crate) fn progress(&self) -> Progress {
        Progress::open(self.store.clone(), hot::keys::hot())
    }

    /// Runs all jobs of the hot queue that are about progress bars, as a worker would.
    pub(crate) async fn work(&self) {
        let progress = self.progress();
        let list = self.store.place(&hot::keys::hot()).into_owned();
        loop {
            let mut cmd = redis::cmd("LPOP");
            cmd.arg(&list);
            let entry: Option<Vec<u8>> =
                cmd.query_async(&mut self.store.connection()).await.expect("the queue");
            let Some(entry) = entry else { return };
            let entry = hot::Entry::decode(&entry).expect("a job");
            progress.handle(&entry.name, &entry.kwargs).await.expect("handled");
        }
    }

    /// Sends a request with somebody's token.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Json,
    ) -> Answer {
        let value = format!("bearer {token}");
        self.send(method, path, &[("Authorization", &value)], &body.to_string()).await
    }

    /// Posts with somebody's token.
    pub(crate) async fn post_as(&self, token: &str, path: &str, body: Json) -> Answer {
        self.send_as(token, "POST", path, body).await
    }

    /// Submits a job and returns its id.
    pub(crate) async fn submit(&self, queue: &str, job: Json) -> Jid {
        let answer = self.post(&format!("/api/1/queues/{queue}/jobs"), job).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        Jid::new(answer.json()["jid"].as_str().expect("an id")).expect("an id")
    }

    /// Claims up to so many jobs of a queue under a name.
    pub(crate) async fn claim(&self, queue: &str, worker: &str, max: usize) -> Vec<Json> {
        let body = serde_json::json!({"worker": worker, "max": max});
        let answer = self.post(&format!("/api/1/queues/{queue}/claim"), body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["jobs"].as_array().expect("a list").clone()
    }
}

/// How users of these tests sign in.
pub(crate) fn sign_in() -> JwtSettings {
    JwtSettings {
        issuer: "https://id.example.com".into(),
        client_id: "keyrack".into(),
        keys: KeySource::DevSecret("a secret that is long enough for this".into()),
    }
}

/// A signed token of somebody, which is good for longer than the test.
pub(crate) fn jwt(sub: &str) -> String {
    dev_token(&sign_in(), &UserSub::new(sub).expect("a subject"), 9e10).expect("signed")
}

impl Answer {
    fn parse(response: &str) -> Answer {
        let (head, body) =
            response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{response:?}"));
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a header");
            (name.to_ascii_lowercase(), value.to_owned())
        };
        Answer {
            status: status.parse().expect("a number"),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body, after making sure of the status.
    #[track_caller]
    pub(crate) fn ok(&self) -> Json {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// Makes sure that this is a problem of that status and type, and returns its detail.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, kind: &str) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        assert_eq!((&body["type"], &body["status"]), (&kind.into(), &status.into()), "{self:?}");
        assert_eq!(body["message"], body["markdown"], "{self:?}");
        assert!(body["title"].is_string(), "{self:?}");
        body["message"].as_str().expect("a message").to_owned()
    }

    /// The field that a problem names.
    pub(crate) fn field(&self) -> Option<String> {
        self.json()["field"].as_str().map(Into::into)
    }
}

/// A stream of server-sent events.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Json,
}

impl Events {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).await.expect("a line");
        assert!(read > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The next line that is a comment.
    pub(crate) async fn comment(&mut self) {
        while !self.line().await.starts_with(':') {}
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Event {
        let (mut id, mut kind, mut data) = (String::new(), String::new(), None);
        loop {
            // Chunk sizes and comments are passed over.
            let line = self.line().await;
            match line.split_once(": ") {
                Some(("id", text)) => id = text.to_owned(),
                Some(("event", text)) => kind = text.to_owned(),
                Some(("data", text)) => data = Some(serde_json::from_str(text).expect("JSON")),
                _ => {}
            }
            if let (true, Some(data)) = (line.is_empty(), data.take_if(|_| line.is_empty())) {
                return Event { id, kind, data };
            }
        }
    }

    /// The data of the next event as text, all lines of it.
    pub(crate) async fn next_text(&mut self) -> String {
        let mut data = String::new();
        loop {
            let line = self.line().await;
            if let Some(text) = line.strip_prefix("data:") {
                data.push_str(text.strip_prefix(' ').unwrap_or(text));
                data.push('\n');
            } else if line.is_empty() && !data.is_empty() {
                return data;
            }
        }
    }

    /// Whether the server has ended the stream in good order.
    pub(crate) async fn ends(mut self) {
        let mut rest = Vec::new();
        self.lines.read_to_end(&mut rest).await.expect("a whole stream");
    }
}
