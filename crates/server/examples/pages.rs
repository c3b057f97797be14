//! Fills a store with many queues, jobs and causes of failure, and measures how long each page of the dashboard takes, over
//! HTTP to a server that runs already.
//!
//!     pages STORE_URL HTTP_ADDRESS QUEUES JOBS GROUPS ROUNDS
//!
//! Prints a line for each page: its path, milliseconds at the median, at 95 % and at most, and the kilobytes of an answer,
//! compressed if the server compresses. A page counts from before the connection until it is read whole.

use std::{
    env,
    error::Error,
    time::{Duration, Instant},
};

use keyrack_jobs::bee::{
    End, Failure, Hive, Outcome, Submission,
    keys::{QueueName, WorkerId},
};
use keyrack_store::Store;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

type Trouble = Box<dyn Error + Send + Sync>;

/// How many jobs one call submits or settles.
const CHUNK: usize = 1_000;
/// Causes of failure in one queue.
const GROUPS_PER_QUEUE: usize = 20;
/// Failed jobs of one cause.
const JOBS_PER_GROUP: usize = 3;
const LOCK: Duration = Duration::from_secs(60);

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the result is what it is run for")]
async fn main() -> Result<(), Trouble> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [url, address, numbers @ ..] = &arguments[..] else { return Err(USAGE.into()) };
    let numbers: Vec<usize> = numbers.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
    let [queues, jobs, groups, rounds] = numbers[..] else { return Err(USAGE.into()) };
    let hive = Hive::open(Store::open(url).await?).await?;
    let job = fill(&hive, queues, jobs).await?;
    for at in 0..groups.div_ceil(GROUPS_PER_QUEUE) {
        fail(&hive, &queue_name(at)?).await?;
    }
    for path in paths(queues, &job) {
        // What was just written is still being put away, and what is shared by viewers is read.
        get(address, &path).await?;
        let (mut times, mut bytes) = (Vec::new(), 0);
        for _ in 0..rounds {
            let began = Instant::now();
            bytes = get(address, &path).await?;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        let ms = |part: f64| times[(part * (times.len() - 1) as f64) as usize];
        let kb = bytes as f64 / 1000.0;
        println!("{path} {:.2} {:.2} {:.2} {kb:.1}", ms(0.5), ms(0.95), ms(1.0));
    }
    Ok(())
}

const USAGE: &str = "usage: pages STORE_URL HTTP_ADDRESS QUEUES JOBS GROUPS ROUNDS";

fn queue_name(at: usize) -> Result<QueueName, Trouble> {
    Ok(QueueName::new(format!("queue-{at:05}"))?)
}

/// Submits the jobs, in turns to each queue. Returns the id of one.
async fn fill(hive: &Hive, queues: usize, jobs: usize) -> Result<String, Trouble> {
    let mut jid = String::new();
    for begin in (0..jobs).step_by(CHUNK) {
        let submission = |n: usize| -> Result<Submission, Trouble> {
            let data = json!({"to": format!("user{n}@example.com"), "template": "weekly/report"});
            Ok(Submission::to(queue_name(n % queues)?).arg(data))
        };
        let submissions = (begin..jobs.min(begin + CHUNK)).map(submission);
        for answer in hive.submit_many(submissions.collect::<Result<_, _>>()?).await? {
            jid = answer?.to_string();
        }
    }
    Ok(jid)
}

/// Lets jobs of a queue fail for many causes.
async fn fail(hive: &Hive, queue: &QueueName) -> Result<(), Trouble> {
    let worker = WorkerId::new(format!("bench:1:hive:{queue}:w"))?;
    let wanted = GROUPS_PER_QUEUE * JOBS_PER_GROUP;
    let claimed = hive.claim(queue, &worker, wanted, LOCK).await?.jobs;
    if claimed.len() < wanted {
        return Err(format!("{queue} has {} jobs; {wanted} are to fail", claimed.len()).into());
    }
    let outcomes = claimed.iter().enumerate().map(|(at, job)| {
        Outcome::of(job, End::Failed(Failure::fatal(reason(at % GROUPS_PER_QUEUE))))
    });
    hive.settle(queue, &worker, &outcomes.collect::<Vec<_>>(), 0, LOCK).await?;
    hive.leave(queue, &worker).await?;
    Ok(())
}

/// A message that has no number in it: numbers do not tell causes apart.
fn reason(cause: usize) -> String {
    let what = ["payment", "address", "invoice", "mailbox", "picture"][cause % 5];
    let why = ["is refused", "is not there", "is too large", "took too long"][cause / 5];
    format!("ServiceError: the {what} {why}")
}

fn paths(queues: usize, job: &str) -> Vec<String> {
    let last = queues / 50;
    let mut paths: Vec<String> = [
        "/",
        "/jobs",
        "/jobs?sort=-queued",
        "/jobs?state=failed",
        "/jobs?name=99",
        "/queues/queue-00000",
        "/queues/queue-00000/history",
        "/errors",
        "/errors?text=mailbox",
        "/errors?queue=queue-00000",
        "/find?queue=queue-00001",
        "/find?place=failed",
        "/recurring",
        "/progress",
        "/calculations",
        "/entitlements",
        "/files",
        "/journeys",
        "/recommender",
        "/updates",
        "/keys",
        "/audit",
        "/metrics",
    ]
    .map(String::from)
    .into();
    paths.insert(2, format!("/jobs?page={last}"));
    paths.push(format!("/jobs/{job}"));
    paths
}

/// Asks for a page as a browser does, and returns how many bytes its body has.
async fn get(address: &str, path: &str) -> Result<usize, Trouble> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        let head = String::from_utf8_lossy(&answer[..answer.len().min(200)]).into_owned();
        return Err(format!("{path}: {head}").into());
    }
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no head")?;
    Ok(answer.len() - head - 4)
}
