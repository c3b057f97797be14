use std::collections::HashSet;

use keyrack_testkit::on_every_store;

use super::{search::LOOKED_AT_MAX, *};
use crate::bee::{
    Bulk, BulkDone, End, Failure, Submission,
    keys::{Tag, Tenant},
    test_support::{queue, simulated_hive},
};

/// The first arguments of all jobs that meet a filter, page by page.
async fn walk(hive: &Hive, filter: &Filter, max: usize) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = hive.list(&queue(), filter, cursor.as_deref(), max).await.expect("a page");
        assert!(page.jobs.len() <= max);
        found.extend(page.jobs.iter().map(|job| job.args()[0].as_str().expect("text").to_owned()));
        match page.next {
            Some(next) => cursor = Some(next),
            None => return found,
        }
    }
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("job {n:03}")).collect()
}

async fn fail_all(hive: &Hive) {
    let worker = hive.worker();
    for job in hive.take(&worker, 1000).await {
        hive.end(&worker, &job, End::Failed(Failure::fatal("no"))).await;
    }
}

#[tokio::test]
async fn jobs_of_one_millisecond_are_on_one_page_each() {
    let (hive, _clock) = simulated_hive().await;
    let all = names(0..97);
    for name in &all {
        hive.put(name).await;
    }
    for max in [1, 7, 20, 21, 500] {
        let found: Vec<String> = walk(&hive, &Filter::at(JobState::Queued), max).await;
        assert_eq!(found.len(), all.len(), "pages of {max}");
        assert_eq!(found.into_iter().collect::<HashSet<_>>(), all.iter().cloned().collect());
    }
}

#[tokio::test]
async fn places_are_listed_in_their_order() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        for (n, name) in names(0..30).iter().enumerate() {
            // The delays keep the order, whatever the clock does.
            let job = Submission::to(queue()).arg(name).delay_ms(1_000_000.0 + 1000.0 * n as f64);
            hive.submit(job).await.expect("submitted");
        }
        assert_eq!(walk(&hive, &Filter::at(JobState::Delayed), 7).await, names(0..30));
        for place in [
            JobState::Queued,
            JobState::Waiting,
            JobState::Parked,
            JobState::Running,
            JobState::Ended,
        ] {
            assert_eq!(walk(&hive, &Filter::at(place), 7).await, [""; 0], "{place}");
        }
        let first = hive.put("first").await;
        let second = hive.submit(Submission::to(queue()).arg("second").after(first)).await;
        second.expect("submitted");
        assert_eq!(walk(&hive, &Filter::at(JobState::Waiting), 1).await, ["second"]);
        assert_eq!(walk(&hive, &Filter::at(JobState::Queued), 1).await, ["first"]);
        let worker = hive.worker();
        hive.take(&worker, 1).await;
        assert_eq!(walk(&hive, &Filter::at(JobState::Running), 1).await, ["first"]);
    })
    .await;
}

#[tokio::test]
async fn failed_jobs_come_newest_first() {
    let (hive, clock) = simulated_hive().await;
    for name in names(0..25) {
        hive.put(&name).await;
        fail_all(&hive).await;
        clock.advance_ms(1);
    }
    let newest_first: Vec<String> = names(0..25).into_iter().rev().collect();
    for max in [1, 4, 25, 26] {
        assert_eq!(walk(&hive, &Filter::at(JobState::Failed), max).await, newest_first);
        assert_eq!(walk(&hive, &Filter::at(JobState::Ended), max).await, newest_first);
    }
}

#[tokio::test]
async fn jobs_that_go_between_two_pages_hide_no_others() {
    let (hive, clock) = simulated_hive().await;
    let mut jids = Vec::new();
    for name in names(0..20) {
        jids.push(hive.put(&name).await);
        clock.advance_ms(1);
    }
    let filter = Filter::at(JobState::Queued);
    let page = hive.list(&queue(), &filter, None, 10).await.expect("a page");
    // All of the first page, the one it ended with among them, and one that comes next.
    for jid in &jids[..11] {
        hive.cancel(jid).await.expect("canceled");
    }
    hive.put("job 020").await;
    let rest = hive.list(&queue(), &filter, page.next.as_deref(), 20).await.expect("a page");
    let found: Vec<_> = rest.jobs.iter().map(|job| job.args()[0].clone()).collect();
    assert_eq!(found, names(11..21));
}

#[tokio::test]
async fn jobs_are_found_by_text_and_by_tag() {
    let (hive, clock) = simulated_hive().await;
    for n in 0..50 {
        let tag = Tag::new(if n % 2 == 0 { "even" } else { "odd" }).expect("a tag");
        let job = Submission::to(queue()).arg(format!("user{n:02}")).arg("a/b \"c\"").tag(tag);
        hive.submit(job).await.expect("submitted");
        clock.advance_ms(1);
    }
    let filter = |text: Option<&str>, tag: Option<&str>| Filter {
        text: text.map(Into::into),
        tag: tag.map(Into::into),
        ..Filter::at(JobState::Queued)
    };
    assert_eq!(walk(&hive, &filter(Some("user07"), None), 3).await, ["user07"]);
    assert_eq!(walk(&hive, &filter(Some("a/b"), None), 3).await.len(), 50);
    assert_eq!(walk(&hive, &filter(Some("user1"), Some("even")), 3).await.len(), 5);
    assert_eq!(walk(&hive, &filter(Some("ever"), None), 3).await.len(), 0);
    assert_eq!(walk(&hive, &filter(None, Some("eve")), 3).await.len(), 0, "a tag is a whole word");
    assert_eq!(walk(&hive, &filter(None, Some("")), 3).await.len(), 0, "no tag is empty");
}

/// What a filter means, without a script.
fn is_met(filter: &Filter, job: &Job) -> bool {
    let text = filter.text.as_deref().unwrap_or_default();
    let has_text = job.jid().contains(text)
        || job.data().replace("\\/", "/").contains(text)
        || job.tags().iter().any(|tag| tag.contains(text));
    has_text && filter.tag.as_ref().is_none_or(|tag| job.tags().contains(tag))
}

#[tokio::test]
async fn filters_find_what_they_mean_whatever_the_letters() {
    const WORDS: [&str; 12] = [
        "a",
        "a/b",
        "c\\d",
        "\"",
        "grüße",
        "u00",
        "n",
        "x\ny",
        "{}",
        "%d+",
        "a b",
        "user@example.com",
    ];
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        for (n, word) in WORDS.iter().enumerate() {
            let tag = Tag::new(WORDS[(n * 5 + 1) % WORDS.len()]).expect("a tag");
            let job = Submission::to(queue()).arg(word).tag(tag);
            hive.submit(job).await.expect("submitted");
        }
        let all = hive.list(&queue(), &Filter::at(JobState::Queued), None, 500).await.expect("all");
        assert_eq!(all.jobs.len(), WORDS.len());
        let words = WORDS.iter().map(|word| Some((*word).to_owned()));
        let words: Vec<Option<String>> = words.chain([None]).collect();
        for text in &words {
            for tag in &words {
                let filter = Filter {
                    place: JobState::Queued,
                    text: text.clone(),
                    tag: tag.clone(),
                    error: None,
                };
                let page = hive.list(&queue(), &filter, None, 500).await.expect("a page");
                let found: HashSet<&str> = page.jobs.iter().map(Job::jid).collect();
                let meant = all.jobs.iter().filter(|job| is_met(&filter, job)).map(Job::jid);
                assert_eq!(found, meant.collect(), "{filter:?}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn search_for_text_looks_at_the_newest_first() {
    let (hive, clock) = simulated_hive().await;
    for name in names(0..30) {
        hive.put(&name).await;
        clock.advance_ms(1);
    }
    let filter = Filter { text: Some("job".into()), ..Filter::at(JobState::Queued) };
    let newest_first: Vec<String> = names(0..30).into_iter().rev().collect();
    for max in [1, 7, 30, 31] {
        assert_eq!(walk(&hive, &filter, max).await, newest_first, "pages of {max}");
    }
}

#[tokio::test]
async fn places_without_jobs_are_known() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let queue = queue();
        let places: Vec<_> = JobState::ALL.iter().map(|place| (&queue, *place)).collect();
        assert_eq!(hive.occupied(&places).await.expect("asked"), []);
        hive.put("one").await;
        assert_eq!(hive.occupied(&places).await.expect("asked"), [(&queue, JobState::Queued)]);
    })
    .await;
}

#[tokio::test]
async fn one_call_looks_at_a_bounded_number_of_jobs() {
    let (hive, _clock) = simulated_hive().await;
    let jobs = (0..LOOKED_AT_MAX + 50).map(|n| Submission::to(queue()).arg(n)).collect();
    hive.submit_many(jobs).await.expect("submitted");
    let nothing = Filter { text: Some("not there".into()), ..Filter::at(JobState::Queued) };
    let page = hive.list(&queue(), &nothing, None, 10).await.expect("a page");
    assert_eq!((page.jobs.len(), page.looked_at), (0, LOOKED_AT_MAX));
    let page = hive.list(&queue(), &nothing, page.next.as_deref(), 10).await.expect("a page");
    assert_eq!((page.jobs.len(), page.looked_at), (0, 50));
    assert_eq!(page.next, None, "the second call comes to the end");

    let big = "x".repeat(1_000_000);
    for _ in 0..20 {
        hive.submit(Submission::to(queue()).arg(&big)).await.expect("submitted");
    }
    let filter = Filter { text: Some("xxx".into()), ..Filter::at(JobState::Queued) };
    let (mut pages, mut found, mut cursor) = (0, 0, None);
    loop {
        let page = hive.list(&queue(), &filter, cursor.as_deref(), 500).await.expect("a page");
        assert!(page.jobs.len() <= 16, "{} jobs of a megabyte at once", page.jobs.len());
        (pages, found) = (pages + 1, found + page.jobs.len());
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, 20);
    assert!(pages >= 3, "{pages} pages for {} bytes and 2050 other jobs", 20 * big.len());
}

#[tokio::test]
async fn parked_jobs_of_many_tenants_are_all_listed() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let mut jobs = Vec::new();
        for n in 0..60 {
            let tenant = Tenant::new(format!("t:{n}")).expect("a tenant");
            let job =
                |m: i32| Submission::to(queue()).arg(format!("{n}/{m}")).tenant(tenant.clone());
            jobs.extend((0..4).map(job));
        }
        for submitted in hive.submit_many(jobs).await.expect("submitted") {
            submitted.expect("submitted");
        }
        for max in [7, 500] {
            let found = walk(&hive, &Filter::at(JobState::Parked), max).await;
            assert_eq!(found.len(), 180, "one of each tenant stands in the working queue");
            assert_eq!(found.into_iter().collect::<HashSet<_>>().len(), 180);
        }
    })
    .await;
}

#[tokio::test]
async fn many_jobs_are_canceled_or_run_again_after_a_dry_run() {
    on_every_store(async |store| {
        let hive = Hive::open(store).await.expect("a hive");
        let jobs = (0..40).map(|n| Submission::to(queue()).arg(format!("{}", n % 4)).retries(0));
        hive.submit_many(jobs.collect()).await.expect("submitted");
        fail_all(&hive).await;

        let done = |matched, changed| BulkDone { matched, changed, next: None };
        let failed = Filter { text: Some("\"3\"".into()), ..Filter::at(JobState::Failed) };
        let dry = hive.bulk(&queue(), &failed, &Bulk::Retry, true, None).await.expect("counted");
        assert_eq!(dry, done(10, 0));
        let wet = hive.bulk(&queue(), &failed, &Bulk::Retry, false, None).await.expect("retried");
        assert_eq!(wet, done(10, 10));
        let again = hive.bulk(&queue(), &failed, &Bulk::Retry, false, None).await.expect("retried");
        assert_eq!(again, done(0, 0));
        let queued = Filter::at(JobState::Queued);
        let canceled = hive.bulk(&queue(), &queued, &Bulk::Cancel, false, None).await;
        assert_eq!(canceled.expect("canceled"), done(10, 10));
        assert_eq!(hive.stats(&queue()).await.expect("stats").queued, 0);

        let refused = hive.bulk(&queue(), &queued, &Bulk::Retry, true, None).await;
        assert!(refused.expect_err("refused").to_string().starts_with("place: \"queued\"; only"));
    })
    .await;
}
