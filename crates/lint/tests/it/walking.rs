//! The walk: large keys, large databases, samples, one family, limits, pace, and keys that go away meanwhile.

use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::{AtomicU64, Ordering};

use keyrack_contract::registry;
use keyrack_lint::{Options, Progress, Rule, WalkRate, lint};
use keyrack_store::Store;
use keyrack_testkit::simulated_store;

use crate::rules::found;
use crate::worlds::{on_both_engines, on_embedded};

/// Fills keys by script, which is the quickest way on every engine.
async fn fill(store: &Store, script: &str, n: u32) {
    let mut cmd = redis::cmd("EVAL");
    cmd.arg(script).arg(0).arg(n);
    let _: redis::Value = cmd.query_async(&mut store.connection()).await.unwrap();
}

const SPURIOUS: &str = "for i = 1, ARGV[1] do redis.call('SET', 'spurious:' .. i, i) end";

#[tokio::test(flavor = "multi_thread")]
async fn collections_of_many_chunks_are_read_to_the_end() {
    on_both_engines(async |store| {
        let members = "for i = 1, ARGV[1] do
            redis.call('SADD', '1_liked_posts', i)
            redis.call('ZADD', 'recent_posts_for_category1', 1, i)
            redis.call('HSET', 'post_clg_pair', i, 1)
            redis.call('RPUSH', 'jobs:hot', '{\"name\":\"x\",\"kwargs\":{},\"queued_at\":1}')
        end
        redis.call('SADD', '1_liked_posts', 'bad')
        redis.call('ZADD', 'recent_posts_for_category1', 1, 'bad')
        redis.call('HSET', 'post_clg_pair', 'bad', 1)
        redis.call('RPUSH', 'jobs:hot', 'bad')";
        fill(store, members, 3_000).await;
        let found = found(store, &Options::default()).await;
        let keys: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
        assert_eq!(
            keys,
            [
                "KL09 1_liked_posts",
                "KL11 jobs",
                "KL09 post_clg_pair",
                "KL09 recent_posts_for_category1"
            ]
        );
        assert!(found.iter().all(|line| line.contains("\"bad\"") && !line.contains("more)")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_references_of_one_key_are_each_looked_up() {
    on_both_engines(async |store| {
        let queue = "for i = 1, ARGV[1] do redis.call('ZADD', 'bee:ss:queue:q', i, 'j' .. i) end";
        fill(store, queue, 3_000).await;
        let expected = "KL12 bee:ss:queue:q: member \"j1\" refers to bee:h:jobs:j1, which does not exist (and 2999 more)";
        assert_eq!(found(store, &Options::default()).await, [expected]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limit_lists_the_first_findings_and_counts_all() {
    on_both_engines(async |store| {
        let bad = "for i = 1, ARGV[1] do redis.call('SET', 'example:' .. i, 'bad', 'EX', 600) end";
        fill(store, bad, 2_000).await;
        let options = Options { findings_max: 2, ..Options::default() };
        let report = lint(store, registry(), &options, |_| {}).await.unwrap();
        let keys: Vec<&str> = report.findings.iter().map(|found| found.key.as_str()).collect();
        assert_eq!(keys, ["example:1", "example:10"]);
        assert_eq!(report.counts, [(Rule::BadValue, 2_000)].into());
        assert_eq!((report.keys, report.left_out(), report.unknown.keys), (2_000, 1_998, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sample_looks_into_the_same_few_keys_each_time_but_at_all_names() {
    on_both_engines(async |store| {
        fill(store, SPURIOUS, 10).await;
        let bad = "for i = 1, ARGV[1] do redis.call('SET', 'example:' .. i, 'bad', 'EX', 600) end";
        fill(store, bad, 2_000).await;
        let options = Options { sample: NonZeroU64::new(10).unwrap(), ..Options::default() };
        let first = lint(store, registry(), &options, |_| {}).await.unwrap();
        assert_eq!((first.counts[&Rule::NoFamily], first.unknown.keys), (1, 10));
        assert!((100..400).contains(&first.counts[&Rule::BadValue]), "{:?}", first.counts);
        assert_eq!(first.families["progress.example"].keys, 2_000);
        assert!(first.families["progress.example"].is_estimate());
        let second = lint(store, registry(), &options, |_| {}).await.unwrap();
        assert_eq!(first.findings, second.findings);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_family_alone_is_walked() {
    on_both_engines(async |store| {
        fill(store, SPURIOUS, 10).await;
        fill(store, "redis.call('SET', 'example:1', 'bad') redis.call('SADD', 'rjobs', 'bad')", 0)
            .await;
        let family = registry().get("progress.example");
        let options = Options { family, ..Options::default() };
        assert_eq!(
            found(store, &options).await,
            [
                "KL03 example:1: has no TTL; it must expire within 600 s",
                "KL08 example:1: value: expected integer from 1 to 10000, found \"bad\"",
            ]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_ends_at_the_number_of_keys() {
    on_embedded(async |store| {
        fill(store, SPURIOUS, 2_000).await;
        let (last, calls) = (AtomicU64::new(0), AtomicU64::new(0));
        let progress = |progress: Progress| {
            assert_eq!(progress.keys_total, 2_000);
            assert!(progress.keys > last.swap(progress.keys, Ordering::Relaxed));
            calls.fetch_add(1, Ordering::Relaxed);
        };
        lint(store, registry(), &Options::default(), progress).await.unwrap();
        assert_eq!(last.into_inner(), 2_000);
        assert!(calls.into_inner() > 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn walk_can_run_as_a_task_of_its_own() {
    let store = Store::open("embedded:memory").await.unwrap();
    fill(&store, SPURIOUS, 10).await;
    let walk = async move { lint(&store, registry(), &Options::default(), |_| {}).await };
    assert_eq!(tokio::spawn(walk).await.unwrap().unwrap().keys, 10);
}

#[tokio::test(start_paused = true)]
async fn pace_limits_keys_a_second() {
    let store = Store::open("embedded:memory").await.unwrap();
    fill(&store, SPURIOUS, 1_000).await;
    let pace = WalkRate { keys_per_second: NonZeroU32::new(100) };
    let started = tokio::time::Instant::now();
    lint(&store, registry(), &Options { pace, ..Options::default() }, |_| {}).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    assert!((9.0..=10.5).contains(&seconds), "{seconds} s");
}

#[tokio::test]
async fn keys_that_expire_during_the_walk_are_no_findings() {
    let (store, clock) = simulated_store(1_700_000_000_000, 1).await;
    let short = "for i = 1, ARGV[1] do redis.call('SET', 'spurious:' .. i, i, 'EX', 60) end";
    fill(&store, short, 5_000).await;
    // All of them expire after the first batch was looked at; what was asked for meanwhile is gone.
    let first = AtomicU64::new(0);
    let progress = |progress: Progress| {
        if first.swap(1, Ordering::Relaxed) == 0 {
            clock.advance_ms(61_000);
            assert!(progress.keys < 5_000);
        }
    };
    let report = lint(&store, registry(), &Options::default(), progress).await.unwrap();
    assert!(report.keys < 5_000, "{}", report.keys);
    let found = report.findings.first().expect("the keys of the first batch");
    assert_eq!((report.problems(), found.places), (1, report.keys));
}
