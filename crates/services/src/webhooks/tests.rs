//! What webhooks are told of, on every store and across the deaths of servers.

use std::collections::{BTreeMap, HashMap};

use keyrack_calculations::{
    Rule,
    keys::{Project, RuleType},
};
use keyrack_jobs::bee::{End, Failure, Outcome, Submission, WorkerTimeouts, keys::WorkerId};
use keyrack_store::Store;
use keyrack_testkit::on_every_store;
use keyrack_webhooks::{Delivery, DeliveryState, Draft, HookId};

use super::*;
use crate::Options;

fn services(store: Store) -> Arc<Services> {
    Arc::new(Services::new(store, Options::default()))
}

async fn hook(services: &Services, events: &[&str], queues: &[&str]) -> HookId {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let draft = Draft {
        url: Some("https://hooks.example.com".into()),
        events: owned(events),
        queues: owned(queues),
        ..Draft::default()
    };
    let created = services.webhooks.create(draft).await.expect("created");
    services.sync_webhooks().await.expect("told");
    created.id
}

/// The events that wait for a webhook, by kind and in no order.
async fn waiting(services: &Services, hook: &HookId) -> Vec<Delivery> {
    let deliveries = services.webhooks.deliveries(hook, DeliveryState::Waiting, 1_000).await;
    deliveries.expect("the log")
}

fn counts(deliveries: &[Delivery]) -> BTreeMap<&str, usize> {
    deliveries.iter().fold(BTreeMap::new(), |mut counts, delivery| {
        *counts.entry(delivery.kind.as_str()).or_default() += 1;
        counts
    })
}

/// Runs a job of the queue to its end.
async fn run(services: &Services, queue: &str, end: End) {
    let hive = &services.jobs().await.expect("the queues").hive;
    let queue = QueueName::new(queue).expect("a name");
    let worker = WorkerId::new(format!("host:1:hive:{queue}:w")).expect("a worker");
    hive.submit(Submission::to(queue.clone())).await.expect("submitted");
    let lock = WorkerTimeouts::KEYRACK.lock;
    let claimed = hive.claim(&queue, &worker, 1, lock).await.expect("claimed").jobs;
    let outcome = Outcome::of(&claimed[0], end);
    hive.settle(&queue, &worker, &[outcome], 0, lock).await.expect("settled");
}

fn completed() -> End {
    End::Completed { result: "1".into(), ttl_ms: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_of_jobs_while_no_server_runs_are_told_of_once() {
    on_every_store(async |store| {
        let services = services(store);
        run(&services, "emails", completed()).await;
        let all = hook(&services, &["job.completed", "job.failed"], &[]).await;
        let one = hook(&services, &["job.failed"], &["emails"]).await;
        run(&services, "emails", completed()).await;
        run(&services, "emails", End::Failed(Failure::fatal("no"))).await;
        run(&services, "mail/send", End::Failed(Failure::fatal("no"))).await;
        // A server that dies after it has handed on and before it has taken out.
        let hive = &services.jobs().await.expect("the queues").hive;
        for page in hive.outbox(2).await.expect("the outbox") {
            let events: Vec<Event> = page.ends.iter().map(of_job).collect();
            services.webhooks.enqueue(&events).await.expect("taken");
        }
        let mut forwarder = Forwarder::new(services.clone(), "one");
        forwarder.round().await.expect("a round");
        let expected = BTreeMap::from([("job.completed", 1), ("job.failed", 2)]);
        assert_eq!(counts(&waiting(&services, &all).await), expected);
        assert_eq!(counts(&waiting(&services, &one).await), BTreeMap::from([("job.failed", 1)]));
        assert!(hive.outbox(1).await.expect("the outbox").is_empty());

        run(&services, "mail/send", End::Failed(Failure::fatal("no"))).await;
        // Another server has nothing to do while the first has the duty.
        Forwarder::new(services.clone(), "two").round().await.expect("a round");
        assert_eq!(waiting(&services, &all).await.len(), 3);
        forwarder.round().await.expect("a round");
        assert_eq!(waiting(&services, &all).await.len(), 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_that_nobody_asks_for_write_nothing_down() {
    on_every_store(async |store| {
        let services = services(store);
        let id = hook(&services, &["job.completed"], &["emails"]).await;
        let hive = &services.jobs().await.expect("the queues").hive;
        run(&services, "mail", completed()).await;
        assert!(hive.outbox(1).await.expect("the outbox").is_empty());
        services.webhooks.delete(&id).await.expect("deleted");
        services.sync_webhooks().await.expect("told");
        run(&services, "emails", completed()).await;
        assert!(hive.outbox(1).await.expect("the outbox").is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_told_of_from_the_webhook_on() {
    on_every_store(async |store| {
        let services = services(store);
        let (account, project) =
            (Account::new("7").expect("a name"), Project::new("2").expect("a name"));
        let ledger = services.calculations.ledger(&account).await.expect("an account");
        let fields = [
            ("dimension", "sales"),
            ("key", "berlin"),
            ("interval", "days"),
            ("calculation", "sum"),
            ("operator", ">"),
            ("threshold", "10"),
        ];
        let fields: HashMap<String, String> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let rule = Rule::from_fields(RuleType::Comparator, &fields).expect("a rule");
        ledger.create_rule(&project, &rule).await.expect("created");
        let sell = async |day: u32| {
            let at = format!("2014-10-{day:02} 00:00:00 Z");
            let sale =
                keyrack_calculations::Event::new("sales", "berlin", "11", &at, &["days"], &["sum"]);
            let sales = vec![sale.expect("an event")];
            let told = ledger.record(&project, sales).await.expect("recorded");
            told.into_iter().for_each(|outcome| outcome.expect("a good event"));
        };
        sell(1).await;
        let id = hook(&services, &["rule.fired"], &[]).await;
        let mut forwarder = Forwarder::new(services.clone(), "one");
        sell(2).await;
        sell(3).await;
        forwarder.round().await.expect("a round");
        forwarder.round().await.expect("a round");
        let told = waiting(&services, &id).await;
        assert_eq!(counts(&told), BTreeMap::from([("rule.fired", 2)]));
        assert!(told.iter().all(|delivery| delivery.subject == "rule:7:2:1"), "{told:?}");
        assert_eq!(ledger.said().await.expect("a count"), 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn alerts_are_told_of_when_they_come_and_when_they_go() {
    on_every_store(async |store| {
        let everything = services(store.clone());
        let services = &*everything;
        let id = hook(services, &["alert.raised", "alert.cleared"], &[]).await;
        let queue = QueueName::new("emails").expect("a name");
        let hive = &services.jobs().await.expect("the queues").hive;
        let round = async || {
            // Each is a server that has just started: it looks at once, and remembers nothing.
            let server = self::services(store.clone());
            Forwarder::new(server, "one").round().await.expect("a round");
            waiting(services, &id).await
        };
        assert!(round().await.is_empty());
        let jid = hive.submit(Submission::to(queue.clone())).await.expect("submitted");
        hive.pause(&queue).await.expect("paused");
        for _ in 0..3 {
            assert_eq!(counts(&round().await), BTreeMap::from([("alert.raised", 1)]));
        }
        hive.cancel(&jid).await.expect("canceled");
        for _ in 0..2 {
            let expected = BTreeMap::from([("alert.cleared", 1), ("alert.raised", 1)]);
            assert_eq!(counts(&round().await), expected);
        }
        let told = waiting(services, &id).await;
        assert!(told.iter().all(|one| one.subject == "alert:paused emails"), "{told:?}");
    })
    .await;
}
