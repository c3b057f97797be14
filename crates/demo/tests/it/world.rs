//! What tests of the demo have in common: somebody else's data, and a picture of a whole store.

use std::{collections::BTreeMap, time::Duration};

use keyrack_calculations::{Accounts, Event, account, project};
use keyrack_demo::{Demo, Options};
use keyrack_entitlements::{
    Limit, Limiter,
    keys::{LimitName, LimitSubject},
};
use keyrack_files::{File, Files};
use keyrack_jobs::{
    bee::{
        Hive, Submission,
        keys::{QueueName, Tag, Tenant},
    },
    hot,
};
use keyrack_journeys::{Journeys, Prompt};
use keyrack_keys::UserSub;
use keyrack_progress::{NewTrace, Progress};
use keyrack_store::Store;
use keyrack_testkit::wait_until_async;
use redis::{Value, cmd, pipe};

/// A demo beside whatever is there.
pub(crate) async fn demo(store: &Store) -> Demo {
    let options = Options { beside_others: true, speed: 20.0, ..Options::default() };
    Demo::open(store.clone(), keyrack_contract::registry(), options).await.expect("a demo")
}

/// Lets a demo run until its workers have completed some jobs.
pub(crate) async fn run_a_while(demo: &mut Demo, store: &Store) {
    let hive = Hive::named(store.clone(), "test");
    let worked = async {
        for queue in ["demo/mail", "demo/payments"] {
            let queue = QueueName::new(queue).expect("a queue");
            wait_until_async("jobs of the demo to end", async || {
                hive.stats(&queue).await.expect("stats").ended >= 5
            })
            .await;
        }
    };
    demo.run(worked).await;
}

/// Somebody else's data, in every service that has keys.
pub(crate) async fn put_other_data(store: &Store) {
    let hive = Hive::open(store.clone()).await.expect("a hive");
    let job = Submission::new("emails").expect("a queue").arg("Ada");
    // The demo uses the same tag.
    let job =
        job.tag(Tag::new("welcome").expect("a tag")).tenant(Tenant::new("acme").expect("a tenant"));
    hive.submit(job).await.expect("submitted");
    let producer = hot::Producer::new(store.clone());
    producer
        .push("runners.other", &serde_json::json!({ "user_sub": "alice" }))
        .await
        .expect("queued");

    let alice = UserSub::new("alice").expect("a user");
    let progress = Progress::open(store.clone(), hot::keys::hot());
    let new = NewTrace {
        pbar_name: "import".into(),
        uid: "1".into(),
        step_name: "read".into(),
        iterations: None,
        now: progress.now(),
        reports_every: None,
    };
    progress.create_trace(&alice, &new).await.expect("a trace");

    let accounts = Accounts::open(store.clone());
    let ledger = accounts.ledger(&account("7").expect("an account")).await.expect("a ledger");
    let (at, project) = ("2014-10-17 21:34:07 -0400", project("2").expect("a project"));
    let event = Event::new("skills", "rust", "8", at, &["weeks"], &["sum"]).expect("an event");
    ledger.record(&project, vec![event]).await.expect("recorded");

    let limit = Limit::Window { max: 5, period: Duration::from_secs(86_400) };
    let (name, subject) = (LimitName::new("search"), LimitSubject::new("alice"));
    let limiter = Limiter::new(store.clone());
    limiter
        .take(&name.expect("a name"), &subject.expect("a subject"), limit, 1)
        .await
        .expect("taken");

    let file = File::new("pictures", "cat.png");
    Files::new(store.clone()).enter(&file, Duration::from_secs(600)).await.expect("entered");
    // What the demo asks, too.
    let prompt =
        Prompt::Numeric { text: "Demo: how was your week?".into(), min: 1, max: 10, step: 1 };
    Journeys::new(store.clone()).create(prompt, 60.0).await.expect("a journey");
    let mut recommender = cmd("SADD");
    recommender.arg(&*store.place(&keyrack_recommender::keys::users())).arg("alice");
    recommender.exec_async(&mut store.connection()).await.expect("a user");
}

/// Every key with what it holds.
pub(crate) async fn picture(store: &Store) -> BTreeMap<(i64, String), String> {
    let mut picture = BTreeMap::new();
    for keyspace in store.keyspaces().await.expect("keyspaces") {
        let mut cursor = 0;
        loop {
            let (next, keys) = keyspace.scan(cursor, None, 100).await.expect("a step");
            for key in keys {
                let mut read = pipe();
                for (command, args) in [
                    ("GET", &[][..]),
                    ("HGETALL", &[]),
                    ("SMEMBERS", &[]),
                    ("LRANGE", &["0", "-1"]),
                    ("ZRANGE", &["0", "-1", "WITHSCORES"]),
                ] {
                    read.cmd(command).arg(&key).arg(args);
                }
                let replies = keyspace.pipeline(&read).await.expect("replies");
                let held =
                    replies.into_iter().filter(|reply| !matches!(reply, Value::ServerError(_)));
                let name = String::from_utf8_lossy(&key).into_owned();
                picture.insert((keyspace.db(), name), held.map(sorted).collect());
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    picture
}

/// A reply as text; the order in which sets and hashes are told says nothing.
fn sorted(reply: Value) -> String {
    let text = |value: Value| format!("{value:?}");
    match reply {
        Value::Array(items) => {
            let mut items: Vec<String> = items.into_iter().map(text).collect();
            items.sort_unstable();
            items.join(" ")
        }
        Value::Set(items) => {
            let mut items: Vec<String> = items.into_iter().map(text).collect();
            items.sort_unstable();
            items.join(" ")
        }
        Value::Map(pairs) => {
            let mut pairs: Vec<String> =
                pairs.into_iter().map(|(key, value)| text(key) + "=" + &text(value)).collect();
            pairs.sort_unstable();
            pairs.join(" ")
        }
        other => text(other),
    }
}
