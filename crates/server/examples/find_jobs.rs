//! Fills a store with jobs and measures how long the dashboard's search takes, over HTTP to a server that runs already.
//!
//!     find_jobs STORE_URL HTTP_ADDRESS JOBS ROUNDS
//!
//! Prints a line for each kind of search: its name, milliseconds at the median, at 95 % and at most, and the share of answers
//! that were right. A search counts from before the connection until the whole page is read.

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};

use keyrack_jobs::bee::{
    End, Failure, Hive, Outcome, Submission,
    keys::{Jid, QueueName, Tag, WorkerId},
};
use keyrack_store::Store;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

type Trouble = Box<dyn Error + Send + Sync>;

/// With a million jobs, each queue has more than a hundred thousand that wait.
const QUEUES: usize = 8;
/// Of a hundred jobs so many are completed, then so many failed, then so many delayed; the others wait.
const COMPLETED: usize = 8;
const FAILED: usize = 4;
const DELAYED: usize = 2;
/// How many jobs one call submits or settles.
const CHUNK: usize = 1_000;
/// Jobs with one tag.
const BATCH: usize = 1_000;
/// How deep text is looked for.
const NEWEST: usize = 100_000;
/// Longer than the measurement, and a day is what people keep.
const KEPT_MS: u64 = 86_400_000;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is what it is run for")]
async fn main() -> Result<(), Trouble> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, address, jobs, rounds] = &arguments[..] else {
        return Err("usage: find_jobs STORE_URL HTTP_ADDRESS JOBS ROUNDS".into());
    };
    let hive = Hive::open(Store::open(url).await?).await?;
    let per_queue = jobs.parse::<usize>()? / QUEUES;
    let mut waiting = Vec::new();
    for queue in 0..QUEUES {
        waiting.push(fill(&hive, queue, per_queue).await?);
    }
    let searches = Searches { address, per_queue, waiting };
    for kind in Kind::ALL {
        // What was just written is still being put away.
        searches.once(kind, 0).await?;
        let mut times = Vec::new();
        let mut right = 0;
        let rounds: usize = rounds.parse()?;
        for round in 0..rounds {
            let (took, is_right) = searches.once(kind, round).await?;
            times.push(took);
            right += usize::from(is_right);
        }
        times.sort_unstable();
        let ms =
            |part: f64| times[(part * (times.len() - 1) as f64) as usize].as_secs_f64() * 1000.0;
        let share = right as f64 / rounds as f64;
        println!("{} {:.2} {:.2} {:.2} {share:.3}", kind.name(), ms(0.5), ms(0.95), ms(1.0));
    }
    Ok(())
}

fn queue_name(queue: usize) -> String {
    format!("queue-{queue}")
}

/// Submits the jobs of a queue and lets some of them end. Returns those that wait, the oldest first.
async fn fill(hive: &Hive, queue: usize, jobs: usize) -> Result<Vec<Jid>, Trouble> {
    let name = QueueName::new(queue_name(queue))?;
    let part = |percent: usize| jobs * percent / 100;
    let ended = part(COMPLETED + FAILED);
    submit(hive, &name, 0..ended, 0.0).await?;
    end(hive, &name, part(COMPLETED)).await?;
    let delayed = ended..ended + part(DELAYED);
    let rest = delayed.end..jobs;
    submit(hive, &name, delayed, 3_600_000.0).await?;
    submit(hive, &name, rest, 0.0).await
}

async fn submit(
    hive: &Hive,
    queue: &QueueName,
    numbers: std::ops::Range<usize>,
    delay_ms: f64,
) -> Result<Vec<Jid>, Trouble> {
    let numbers: Vec<usize> = numbers.collect();
    let mut ids = Vec::with_capacity(numbers.len());
    for chunk in numbers.chunks(CHUNK) {
        let jobs = chunk.iter().map(|n| job(queue, *n, delay_ms)).collect::<Result<_, _>>()?;
        for answer in hive.submit_many(jobs).await? {
            ids.push(answer?);
        }
    }
    Ok(ids)
}

/// A job of a usual size.
fn job(queue: &QueueName, n: usize, delay_ms: f64) -> Result<Submission, Trouble> {
    let data = json!({
        "to": format!("user{n}@example.com"),
        "subject": "Your weekly report is ready",
        "template": "weekly/report",
        "parameters": {"week": n % 52, "items": n % 17, "mark": mark(queue.as_str(), n)},
    });
    let job = Submission::to(queue.clone()).arg(data).delay_ms(delay_ms).ttl_ms(KEPT_MS);
    Ok(job.tag(Tag::new("everyone")?).tag(Tag::new(format!("{queue}-{}", n / BATCH))?))
}

/// A text that only this job has.
fn mark(queue: &str, n: usize) -> String {
    format!("[{queue}:{n}]")
}

/// Lets the jobs of a queue end: the first so many are completed, the others fail.
async fn end(hive: &Hive, queue: &QueueName, completed: usize) -> Result<(), Trouble> {
    let worker = WorkerId::new(format!("bench:1:hive:{queue}:w"))?;
    let lock = Duration::from_secs(60);
    let mut claimed = hive.claim(queue, &worker, CHUNK / 10, lock).await?;
    let mut settled = 0;
    while !claimed.jobs.is_empty() {
        let outcomes = claimed.jobs.iter().enumerate().map(|(i, job)| {
            let end = if settled + i < completed {
                End::Completed { result: "\"sent\"".into(), ttl_ms: Some(KEPT_MS) }
            } else {
                End::Failed(Failure::fatal("SMTP 550: no such mailbox"))
            };
            Outcome::of(job, end)
        });
        let outcomes: Vec<Outcome> = outcomes.collect();
        settled += outcomes.len();
        claimed = hive.settle(queue, &worker, &outcomes, CHUNK / 10, lock).await?.claimed;
    }
    Ok(())
}

/// What is searched by.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Id,
    Queue,
    SmallTag,
    LargeTag,
    Status,
    QueueAndStatus,
    Text,
    TextThatIsNowhere,
    TextInAllQueues,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Id,
        Kind::Queue,
        Kind::SmallTag,
        Kind::LargeTag,
        Kind::Status,
        Kind::QueueAndStatus,
        Kind::Text,
        Kind::TextThatIsNowhere,
        Kind::TextInAllQueues,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::Id => "id",
            Kind::Queue => "queue",
            Kind::SmallTag => "small-tag",
            Kind::LargeTag => "large-tag",
            Kind::Status => "status",
            Kind::QueueAndStatus => "queue-and-status",
            Kind::Text => "text",
            Kind::TextThatIsNowhere => "text-nowhere",
            Kind::TextInAllQueues => "text-in-all-queues",
        }
    }
}

/// What can be asked for.
struct Searches<'a> {
    address: &'a str,
    per_queue: usize,
    /// The jobs of each queue that wait, the oldest first.
    waiting: Vec<Vec<Jid>>,
}

impl Searches<'_> {
    /// How long a search takes, and whether its answer is right.
    async fn once(&self, kind: Kind, round: usize) -> Result<(Duration, bool), Trouble> {
        let queue = round % QUEUES;
        let waiting = &self.waiting[queue];
        // Rounds are spread over all that is looked at, in no order that anything could get used to.
        let at = waiting.len() - 1 - round * 7_919 % waiting.len().min(NEWEST);
        let (jid, name) = (&waiting[at], queue_name(queue));
        let status = ["failed", "delayed", "ended", "queued"][round % 4];
        let tag = format!("{name}-{}", round % self.per_queue.div_ceil(BATCH));
        // Those that wait came last.
        let number = self.per_queue - waiting.len() + at;
        let row = format!("/jobs/{jid}\"");
        let nothing = "HTTP/1.1 200".to_owned();
        let (query, expected) = match kind {
            Kind::Id => (format!("text={jid}"), format!("location: /jobs/{jid}")),
            Kind::Queue => (format!("queue={name}"), format!(">{name}</a>")),
            Kind::SmallTag => (format!("tag={tag}"), format!("everyone, {tag}</td>")),
            Kind::LargeTag => ("tag=everyone".to_owned(), "everyone, ".to_owned()),
            Kind::Status => (format!("place={status}"), "data-row".to_owned()),
            Kind::QueueAndStatus => {
                (format!("queue={name}&place={status}"), format!(">{name}</a>"))
            }
            Kind::Text => (format!("queue={name}&place=queued&text=%5B{name}:{number}%5D"), row),
            Kind::TextThatIsNowhere => {
                (format!("queue={name}&place=queued&text=nobody{round}"), nothing)
            }
            Kind::TextInAllQueues => (format!("text=nobody{round}"), nothing),
        };
        let started = Instant::now();
        let answer = self.get(&format!("/find?{query}")).await?;
        Ok((started.elapsed(), answer.contains(&expected)))
    }

    async fn get(&self, path: &str) -> Result<String, Trouble> {
        let mut stream = TcpStream::connect(self.address).await?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
