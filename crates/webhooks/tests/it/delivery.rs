//! What comes to a receiver: all of it, in order, signed, whatever happens in between.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_testkit::wait_until_async;
use keyrack_webhooks::{Deliverer, DeliveryState, sign};

use super::fixture::{Fixture, Mode, Received, Receiver, SECRET, event, everywhere, webhooks};

/// The numbers of the events of each job, in the order in which they came.
fn by_job(received: &[Received]) -> BTreeMap<u64, Vec<u64>> {
    let mut jobs: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for request in received {
        let data = request.json()["data"].clone();
        let number = |name: &str| data[name].as_u64().expect("a number");
        jobs.entry(number("job")).or_default().push(number("n"));
    }
    jobs
}

/// Checks a signature as a receiver would.
#[track_caller]
fn check_signed(request: &Received) {
    let signature = request.header("keyrack-signature");
    let time = signature.strip_prefix("t=").and_then(|rest| rest.split(',').next());
    let time = time.and_then(|time| time.parse().ok()).expect("a time");
    assert_eq!(signature, sign(SECRET, time, &request.body));
    assert_ne!(signature, sign("another secret", time, &request.body));
    assert_eq!(request.header("keyrack-event-id"), request.json()["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn receiver_that_is_down_for_an_hour_gets_every_event_in_order_per_job() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(503)).await;
        let hook = fixture.hook(receiver.url()).await;
        for n in 0..3 {
            let events: Vec<_> = (0..20).map(|job| event(job, n)).collect();
            fixture.enqueue(&events).await;
            fixture.pass_minutes(&hook, 20).await;
        }
        let while_down = receiver.received();
        assert!(while_down.len() < 100, "it is left alone: {}", while_down.len());
        assert_eq!(fixture.waiting(&hook).await, 60);

        receiver.set(Mode::Answers(200));
        fixture.pass_minutes(&hook, 30).await;
        assert_eq!(fixture.waiting(&hook).await, 0);
        let received = receiver.received();
        for request in &received {
            check_signed(request);
        }
        let taken: Vec<_> = received.into_iter().filter(|request| request.taken).collect();
        let jobs = by_job(&taken);
        assert_eq!(jobs.len(), 20);
        assert!(jobs.values().all(|numbers| *numbers == [0, 1, 2]), "{jobs:?}");
        // Not even a refused event came before the one before it was taken.
        assert!(by_job(&while_down).values().flatten().all(|n| *n == 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn event_whose_answer_is_lost_comes_again_under_the_same_id() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Hangs).await;
        let hook = fixture.hook(receiver.url()).await;
        fixture.enqueue(&[event(1, 0), event(1, 1)]).await;
        // The server dies while it waits for the answer.
        tokio::select! {
            _ = fixture.deliver(&hook) => panic!("it has no answer"),
            () = receiver.wait_for(1) => {}
        }
        receiver.set(Mode::Answers(200));
        let other = webhooks(&fixture.store);
        assert_eq!(other.deliver_due(&hook).await.expect("looked"), 0, "the lease is not over");
        fixture.clock.advance_ms(30_000);
        assert_eq!(other.deliver_due(&hook).await.expect("delivered"), 2);
        let received = receiver.received();
        assert_eq!(by_job(&received)[&1], [0, 0, 1]);
        assert_eq!(received[0].json()["id"], received[1].json()["id"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_deliver_each_event_once() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(204)).await;
        let hook = fixture.hook(receiver.url()).await;
        let events: Vec<_> = (0..60).map(|n| event(n % 12, n / 12)).collect();
        fixture.enqueue(&events).await;
        // Handed over twice, as by a server that died before it noted that it had.
        fixture.enqueue(&events).await;
        let other = webhooks(&fixture.store);
        let (one, two) = tokio::join!(fixture.deliver(&hook), other.deliver_due(&hook));
        // What one of them had claimed when the other looked last is delivered by the first.
        assert_eq!(one + two.expect("delivered"), 60);
        let received = receiver.received();
        let ids: BTreeSet<String> =
            received.iter().map(|one| one.json()["id"].to_string()).collect();
        assert_eq!((received.len(), ids.len()), (60, 60));
        assert!(by_job(&received).values().all(|numbers| *numbers == [0, 1, 2, 3, 4]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_a_day_is_kept_and_can_be_replayed() {
    everywhere(async |fixture: Fixture| {
        let receiver = Receiver::start(Mode::Answers(500)).await;
        let hook = fixture.hook(receiver.url()).await;
        let events: Vec<_> = (0..3).map(|n| event(1, n)).collect();
        fixture.enqueue(&events).await;
        fixture.pass_minutes(&hook, 23 * 60).await;
        assert_eq!(fixture.waiting(&hook).await, 3);
        fixture.pass_minutes(&hook, 90).await;
        let failed = fixture.webhooks.deliveries(&hook, DeliveryState::Failed, 10).await;
        let failed = failed.expect("the log");
        assert_eq!((failed.len(), fixture.waiting(&hook).await), (3, 0));
        let first = failed.iter().find(|delivery| delivery.id == events[0].id).expect("the first");
        assert!(first.attempts > 10 && first.status == Some(500), "{first:?}");

        receiver.set(Mode::Answers(200));
        let n_before = receiver.received().len();
        assert_eq!(fixture.webhooks.replay_failed(&hook, 0).await.expect("replayed"), 3);
        fixture.pass_minutes(&hook, 6).await;
        let received = receiver.received().split_off(n_before);
        assert_eq!(by_job(&received)[&1].len(), 3);
        // One that is done can be sent again, too; one that waits cannot.
        fixture.webhooks.replay(&hook, &events[2].id).await.expect("replayed");
        fixture.webhooks.replay(&hook, &events[2].id).await.expect_err("it waits");
        fixture.webhooks.replay(&hook, "evt_none").await.expect_err("there is none");
        assert_eq!(fixture.deliver(&hook).await, 1);
        assert_eq!(receiver.received().last().expect("a request").json()["id"], events[2].id);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_that_hangs_keeps_no_other_waiting() {
    everywhere(async |fixture| {
        let (slow, quick) =
            (Receiver::start(Mode::Hangs).await, Receiver::start(Mode::Answers(200)).await);
        fixture.hook(slow.url()).await;
        fixture.hook(quick.url()).await;
        let mut deliverer = Deliverer::new(fixture.webhooks.clone());
        for n in 0..3 {
            fixture.enqueue(&[event(1, n)]).await;
            wait_until_async("the event to come", async || {
                deliverer.round().await.expect("a round");
                quick.received().len() > n
            })
            .await;
        }
        slow.wait_for(1).await;
        assert_eq!(by_job(&quick.received())[&1], [0, 1, 2]);
        assert_eq!(slow.received().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn done_deliveries_are_bounded() {
    everywhere(async |fixture| {
        let receiver = Receiver::start(Mode::Answers(200)).await;
        let hook = fixture.hook(receiver.url()).await;
        for n in 0..11 {
            let events: Vec<_> = (0..100).map(|job| event(job, n)).collect();
            fixture.enqueue(&events).await;
            fixture.clock.advance_ms(1);
            fixture.deliver(&hook).await;
        }
        assert_eq!(receiver.received().len(), 1_100);
        let done = fixture.webhooks.deliveries(&hook, DeliveryState::Done, 1_000).await;
        assert_eq!(done.expect("the log").len(), 1_000);
        let mut keys: Vec<String> = fixture.keys("webhooks:hook:").await;
        keys.retain(|key| key.contains(":delivery:"));
        assert_eq!(keys.len(), 1_000);
    })
    .await;
}
