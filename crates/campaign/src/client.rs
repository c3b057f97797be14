//! Clients: they submit jobs until told to stop, and repeat each under its id until it is acknowledged.

use std::{net::SocketAddr, ops::ControlFlow, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;
use keyrack_jobs::{
    Error,
    bee::{
        Hive, Submission,
        keys::{Jid, QueueName},
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    journal::{Acknowledged, Journal},
    time::monotonic_ms,
};

/// Clients that call the library; one more speaks HTTP.
const LIBRARY_CLIENTS: u64 = 4;
/// Between two jobs of a client.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 20..=60;
/// Before a job is submitted again that was not acknowledged.
const RETRY_PAUSE: Duration = Duration::from_millis(20);
/// A call that takes longer is an error: the store's own timeouts are 5 and 10 s, and a moving slot is waited for 10 s.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Clients at work.
#[derive(Debug)]
pub(crate) struct Clients {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

/// Where clients submit to, and where they write down what was acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) hive: Hive,
    pub(crate) http: SocketAddr,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) journal: Arc<Journal>,
}

impl Clients {
    /// Starts all clients. `name` is part of the ids of their jobs, which no earlier job may have.
    pub(crate) fn start(target: &Target, name: &str, random: &mut Rng) -> Clients {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for n in 0..=LIBRARY_CLIENTS {
            let client = Client {
                target: target.clone(),
                way: if n < LIBRARY_CLIENTS { Way::Library } else { Way::Http },
                name: format!("{name}-{n}"),
                random: random.fork(),
                stopped: stopped.clone(),
            };
            tasks.spawn(client.run());
        }
        Clients { stop, tasks }
    }

    /// Stops all clients. A job that is not acknowledged yet is given up.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("a client does not panic");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Way {
    Library,
    Http,
}

struct Client {
    target: Target,
    way: Way,
    name: String,
    random: Rng,
    stopped: watch::Receiver<bool>,
}

/// A job before it is submitted.
#[derive(Debug, Clone)]
struct Draft {
    queue: QueueName,
    jid: Jid,
    work_ms: u64,
    delay_ms: u64,
    after: Option<Jid>,
}

impl Client {
    async fn run(mut self) {
        let mut last: Option<Jid> = None;
        for n in 0_u64.. {
            let draft = self.draft(n, last.as_ref());
            let not_before_ms = monotonic_ms() + draft.delay_ms;
            if self.submit(&draft).await.is_break() {
                return;
            }
            self.target.journal.acknowledge(draft.jid.as_str(), Acknowledged { not_before_ms });
            last = Some(draft.jid);
            let pause = Duration::from_millis(self.random.u64(PAUSE_MS));
            if self.stops_within(pause).await {
                return;
            }
        }
    }

    /// Most jobs are quick. Some take seconds, some are delayed, some wait for another one.
    fn draft(&mut self, n: u64, last: Option<&Jid>) -> Draft {
        let random = &mut self.random;
        let queue = random.choice(&self.target.queues).expect("there are queues").clone();
        let jid = Jid::derived(&queue, &format!("{}-{n}", self.name));
        let mut draft = Draft {
            jid,
            work_ms: random.u64(0..10),
            delay_ms: 0,
            after: None,
            queue: queue.clone(),
        };
        match random.u8(0..20) {
            0 => draft.work_ms = random.u64(500..3000),
            1 | 2 => draft.delay_ms = random.u64(100..2000),
            3 => draft.after = last.filter(|last| last.group() == queue.group()).cloned(),
            _ => {}
        }
        draft
    }

    /// Submits until the job is acknowledged, or the client is told to stop.
    async fn submit(&mut self, draft: &Draft) -> ControlFlow<()> {
        loop {
            let call = async {
                match self.way {
                    Way::Library => submit_to(&self.target.hive, draft).await,
                    Way::Http => post(self.target.http, draft).await,
                }
            };
            match timeout(CALL_TIMEOUT, call).await {
                Ok(Ok(Answer::Acknowledged)) => return ControlFlow::Continue(()),
                Ok(Ok(Answer::NotNow)) => {}
                Ok(Err(error)) => self.target.journal.error(format!("{:?}: {error:#}", self.way)),
                Err(_) => {
                    let seconds = CALL_TIMEOUT.as_secs();
                    let text = format!("{:?}: no answer within {seconds} s", self.way);
                    self.target.journal.error(text);
                }
            }
            if self.stops_within(RETRY_PAUSE).await {
                return ControlFlow::Break(());
            }
        }
    }

    async fn stops_within(&mut self, pause: Duration) -> bool {
        tokio::select! {
            _ = self.stopped.wait_for(|stopped| *stopped) => true,
            () = sleep(pause) => false,
        }
    }
}

enum Answer {
    Acknowledged,
    /// It may be there or not, and should be submitted again.
    NotNow,
}

async fn submit_to(hive: &Hive, draft: &Draft) -> Result<Answer> {
    let mut job = Submission::to(draft.queue.clone())
        .id(draft.jid.clone())
        .arg(draft.work_ms)
        .delay_ms(draft.delay_ms as f64);
    if let Some(after) = &draft.after {
        job = job.after(after.clone());
    }
    match hive.submit(job).await {
        // An earlier attempt has stored it, and now it is acknowledged.
        Ok(_) | Err(Error::Exists { .. }) => Ok(Answer::Acknowledged),
        Err(error) if error.is_transient() => Ok(Answer::NotNow),
        Err(error) => Err(error.into()),
    }
}

async fn post(http: SocketAddr, draft: &Draft) -> Result<Answer> {
    let dependencies: Vec<&str> = draft.after.iter().map(Jid::as_str).collect();
    let body = json!({
        "jid": draft.jid.as_str(),
        "data": [draft.work_ms],
        "delay": draft.delay_ms,
        "dependencies": dependencies,
    });
    let (body, queue) = (body.to_string(), draft.queue.as_str().replace('/', "%2F"));
    let request = format!(
        "POST /api/1/queues/{queue}/jobs HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // A server that is down, or goes down before it has answered, is a fault and no error.
    let Ok(answer) = exchange(http, &request).await else { return Ok(Answer::NotNow) };
    let Some(status) = answer.split(' ').nth(1) else { return Ok(Answer::NotNow) };
    match status.parse().with_context(|| format!("not HTTP: \"{answer}\""))? {
        200 | 201 => Ok(Answer::Acknowledged),
        409 if answer.contains("job_exists") => Ok(Answer::Acknowledged),
        503 => Ok(Answer::NotNow),
        _ => bail!("{}", answer.rsplit("\r\n").next().unwrap_or_default()),
    }
}

async fn exchange(http: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(http).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
