//! One call for many jobs.

use keyrack::{Error, prelude::*};

use crate::tasks::{Charge, Counter, Receipt};

async fn odd_ones(
    charges: Vec<Batched<Charge>>,
    calls: State<Counter>,
) -> Vec<Result<Receipt, BoxError>> {
    calls.count();
    let charge = |charge: &Batched<Charge>| match charge.cents % 2 {
        1 => Ok(Receipt::of(charge.cents)),
        _ => Err(TaskError::fatal(format!("{} is even", charge.cents)).into()),
    };
    charges.iter().map(charge).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_batch_is_one_call_with_an_outcome_for_each_job() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let (jobs, calls) = (rack.jobs(), Counter::default());
    let handles = jobs.submit_all((0..6).map(|cents| Charge { cents })).await.expect("submitted");
    // Only a full batch leaves within the test.
    let worker = jobs.worker().state(calls.clone()).batch_linger(secs(60));
    let worker = worker.on_batch(6, odd_ones).spawn();
    for (cents, job) in (0..).zip(&handles) {
        match job.wait(secs(30)).await {
            Ok(receipt) => assert_eq!((receipt, cents % 2), (Receipt::of(cents), 1)),
            Err(Error::JobFailed { reason, .. }) => assert_eq!(reason, format!("{cents} is even")),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(calls.get(), 1);
    worker.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_not_full_leaves_after_a_moment() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let (jobs, calls) = (rack.jobs(), Counter::default());
    let worker = jobs.worker().state(calls.clone()).on_batch(100, odd_ones).spawn();
    let job = Charge { cents: 1 }.submit(&jobs).await.expect("submitted");
    assert_eq!(job.wait(secs(30)).await.expect("a receipt"), Receipt::of(1));
    worker.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_handler_that_answers_for_too_few_fails_the_others() {
    async fn first_only(charges: Vec<Batched<Charge>>) -> Vec<Result<Receipt, BoxError>> {
        vec![Ok(Receipt::of(charges[0].cents))]
    }
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let jobs = rack.jobs();
    let mut handles = Vec::new();
    for cents in 0..2 {
        handles.push(Charge { cents }.submit(&jobs).retries(0).await.expect("submitted"));
    }
    let worker = jobs.worker().batch_linger(secs(60)).on_batch(2, first_only).spawn();
    let (mut receipts, mut failures) = (0, 0);
    for job in handles {
        match job.wait(secs(30)).await {
            Ok(_) => receipts += 1,
            Err(Error::JobFailed { reason, .. }) if reason.contains("too few") => failures += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((receipts, failures), (1, 1));
    worker.stop().await.expect("stopped");
}
