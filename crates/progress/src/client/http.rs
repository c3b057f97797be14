//! Reports to a server, by its documented API.

use std::{sync::mpsc, thread, time::Duration};

use reqwest::{
    Client, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use serde::{Deserialize, Serialize};
use tokio::{
    runtime::{Builder, Handle},
    sync::{oneshot, watch},
};

use super::{run_report::Message, sink::Unsent};
use crate::{
    estimate::{FinishedStep, Model, PastRun},
    trace::FailedTrace,
};

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum HttpClientError {
    /// The address is none.
    #[error("\"{server}\" is no address of a server; use one such as http://127.0.0.1:7700")]
    Address {
        /// What was given.
        server: String,
    },
    /// The token cannot stand in a header.
    #[error("the token has characters that no token has")]
    Token,
    /// The system gave no thread or connection.
    #[error("could not start to report")]
    System(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A server.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    traces: Url,
    steps: Url,
    failures: Url,
    past_steps: Url,
}

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// Of an answer's words no more than this is told.
const WORDS_BYTES_MAX: usize = 300;

impl Http {
    pub(super) fn new(server: &str, token: &str) -> Result<Http, HttpClientError> {
        let address = || HttpClientError::Address { server: server.to_owned() };
        // On its own first: what follows would make a host of the path.
        let base = Url::parse(server).map_err(|_| address())?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(address());
        }
        let base = format!("{}/api/1/progress_bars/", base.as_str().trim_end_matches('/'));
        let base = Url::parse(&base).map_err(|_| address())?;
        let token = HeaderValue::from_str(&format!("bearer {token}"));
        let mut token = token.map_err(|_| HttpClientError::Token)?;
        token.set_sensitive(true);
        let json = HeaderValue::from_static("application/json");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token), (CONTENT_TYPE, json)]);
        // Without this, rustls would not know which of its cryptographic back-ends to use; a second call changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT_PATIENCE)
            // A token is for the server it was given to.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| HttpClientError::System(error.into()))?;
        let join = |path| base.join(path).map_err(|_| address());
        Ok(Http {
            client,
            traces: join("traces/")?,
            steps: join("traces/steps/")?,
            failures: join("traces/failures/")?,
            past_steps: join("traces/steps/search")?,
        })
    }

    /// What the last runs of a bar say about the next, as many of them as one page of steps has.
    pub(super) async fn model(&self, bar: &str) -> Result<Model, String> {
        let search = serde_json::json!({
            "filters": { "progress_bar_name": { "operator": "eq", "value": bar } },
            "sort": [{ "key": "started_at", "dir": "desc" }],
            "limit": PAST_STEPS_MAX,
        });
        let answer = self.client.post(self.past_steps.clone()).body(search.to_string()).send();
        let answer = answer.await.map_err(|error| error.to_string())?;
        let (status, body) = (answer.status(), answer.bytes().await);
        let body = body.map_err(|error| error.to_string())?;
        if !status.is_success() {
            return Err(status.to_string());
        }
        let page: PastSteps = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        Ok(page.model())
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), Unsent> {
        match message {
            Message::Create(new) => self.post(&self.traces, new).await,
            Message::Update(update) => self.post(&self.steps, update).await,
        }
    }

    pub(super) async fn give_up(&self, bar: &str, uid: &str, now: f64) -> Result<(), Unsent> {
        let (pbar_name, trace_uid) = (bar.to_owned(), uid.to_owned());
        let failed = FailedTrace { pbar_name, trace_uid, exit_code: None, signal: None, now };
        self.post(&self.failures, &failed).await
    }

    async fn post(&self, url: &Url, body: &impl Serialize) -> Result<(), Unsent> {
        let body = serde_json::to_vec(body);
        let body = body.map_err(|error| Unsent::ForGood(error.to_string()))?;
        let answer = self.client.post(url.clone()).body(body).send().await;
        let answer = answer.map_err(|error| Unsent::ForNow(error.to_string()))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let words = answer.text().await.unwrap_or_default();
        let words = &words[..words.floor_char_boundary(WORDS_BYTES_MAX)];
        let reason = format!("{status}: {words}");
        let is_gone = status == StatusCode::NOT_FOUND && words.contains("trace_not_found");
        Err(match is_passing(status) {
            true => Unsent::ForNow(reason),
            false if is_gone => Unsent::Gone(reason),
            false => Unsent::ForGood(reason),
        })
    }
}

/// Steps of past runs that are asked for: the most that a page has.
const PAST_STEPS_MAX: u64 = 100;

/// Steps of past runs, the last first.
#[derive(Debug, Deserialize)]
struct PastSteps {
    items: Vec<PastStep>,
}

#[derive(Debug, Deserialize)]
struct PastStep {
    progress_bar_step_name: String,
    progress_bar_step_position: u64,
    progress_bar_trace_uid: String,
    iterations: Option<u64>,
    started_at: f64,
    duration: f64,
}

impl PastSteps {
    fn model(mut self) -> Model {
        self.items.sort_by(|a, b| {
            let trace = a.progress_bar_trace_uid.cmp(&b.progress_bar_trace_uid);
            trace.then(a.progress_bar_step_position.cmp(&b.progress_bar_step_position))
        });
        let traces =
            self.items.chunk_by(|a, b| a.progress_bar_trace_uid == b.progress_bar_trace_uid);
        // A page may begin in the middle of a run.
        let mut whole: Vec<&[PastStep]> =
            traces.filter(|steps| steps[0].progress_bar_step_position == 1).collect();
        whole.sort_by(|a, b| a[0].started_at.total_cmp(&b[0].started_at));
        let past: Vec<PastRun> = whole
            .into_iter()
            .map(|steps| PastRun { steps: steps.iter().map(PastStep::finished).collect() })
            .collect();
        Model::learn(&past)
    }
}

impl PastStep {
    fn finished(&self) -> FinishedStep {
        FinishedStep {
            name: self.progress_bar_step_name.clone(),
            iterations: self.iterations,
            seconds: self.duration,
            // The API does not tell it.
            pace: Vec::new(),
        }
    }
}

fn is_passing(status: StatusCode) -> bool {
    let passing = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || passing.contains(&status)
}

/// The thread that reports. Dropping it waits a little for what is not yet sent.
#[derive(Debug)]
pub(super) struct Thread {
    tasks: Handle,
    stop: Option<oneshot::Sender<()>>,
    /// Comes when the thread is through.
    over: std::sync::Mutex<mpsc::Receiver<()>>,
}

/// How long a program that ends waits for its last reports.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

impl Thread {
    pub(super) fn start(mut open: watch::Receiver<usize>) -> Result<Thread, HttpClientError> {
        let system = |error: std::io::Error| HttpClientError::System(error.into());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
        let tasks = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let (tell, over) = mpsc::channel();
        let work = move || {
            runtime.block_on(async {
                let _ = stopped.await;
                let all = open.wait_for(|open| *open == 0);
                let _ = tokio::time::timeout(LAST_PATIENCE, all).await;
            });
            let _ = tell.send(());
        };
        thread::Builder::new().name("keyrack-reports".into()).spawn(work).map_err(system)?;
        Ok(Thread { tasks, stop: Some(stop), over: std::sync::Mutex::new(over) })
    }

    pub(super) fn tasks(&self) -> Handle {
        self.tasks.clone()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Ok(over) = self.over.get_mut() {
            let _ = over.recv_timeout(LAST_PATIENCE);
        }
    }
}
