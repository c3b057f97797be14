//! `/metrics` of a store with thousands of queues; `cargo xtask bench pages` has ten thousand.

use futures_util::{StreamExt as _, stream};
use keyrack_jobs::bee::{Submission, keys::QueueName};
use keyrack_testkit::wait_until_async;
use keyrack_web::MetricsQueues;

use crate::site::Site;

const N_QUEUES: usize = 3_000;
/// Jobs of the busiest queue, the last one by name.
const N_BUSY: usize = 5;
const OWN: usize = 200;

const BYTES_MAX: usize = 5_000_000;

fn queue(n: usize) -> QueueName {
    let name = if n.is_multiple_of(100) { format!("vip/{n:05}") } else { format!("queue-{n:05}") };
    QueueName::new(name).expect("a name")
}

/// The value of a sample, if it was scraped.
fn sample(metrics: &str, name: &str) -> Option<u64> {
    metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// The sum of a metric over its series whose labels end like this.
fn sum(metrics: &str, name: &str, labels_end: &str) -> u64 {
    let values = metrics.lines().filter_map(|line| {
        let (labels, value) = line.strip_prefix(name)?.strip_prefix('{')?.split_once("} ")?;
        labels.ends_with(labels_end).then(|| value.parse::<u64>().expect("a number"))
    });
    values.sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_queues_are_measured_in_few_bytes() {
    let site = Site::measuring(MetricsQueues { max: OWN, prefixes: vec!["vip/".into()] }).await;
    let last = N_QUEUES - 1;
    let queues = (0..N_QUEUES).chain(std::iter::repeat_n(last, N_BUSY - 1));
    let submissions = stream::iter(queues).map(|n| site.hive.submit(Submission::to(queue(n))));
    let n_submitted = submissions
        .buffer_unordered(16)
        .fold(0, async |n, submitted| submitted.map(|_| n + 1).expect("submitted"))
        .await;

    // All are counted before any survey.
    let body = scrape(&site).await;
    assert_eq!(sample(&body, "keyrack_jobs_queues"), Some(N_QUEUES as u64));
    wait_until_async("all queues to be summed", async || {
        scrape(&site).await.contains("keyrack_jobs_others_age_seconds")
    })
    .await;

    let body = scrape(&site).await;
    assert!(body.len() < BYTES_MAX, "{} bytes", body.len());
    assert_eq!(sample(&body, "keyrack_jobs_queues_left_out"), Some((N_QUEUES - OWN) as u64));
    for (name, end) in
        [("keyrack_jobs_held", "place=\"queued\""), ("keyrack_jobs_submitted_total", "")]
    {
        assert_eq!(sum(&body, name, end), n_submitted, "{name}");
    }
    let shown = |name: &QueueName| body.contains(&format!("queue=\"{name}\",place=\"queued\""));
    assert!((0..N_QUEUES).step_by(100).all(|n| shown(&queue(n))), "all that begin with the prefix");
    assert!(shown(&queue(last)), "the busiest");
    assert!(!shown(&queue(last - 1)), "one of many alike, the last by name");
}

async fn scrape(site: &Site) -> String {
    let answer = site.get("/metrics").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}
