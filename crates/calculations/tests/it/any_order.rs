//! Whatever order events come in, in whatever batches and from however many processes: the results are the same.

use keyrack_calculations::Event;
use keyrack_store::{Options, Store};
use keyrack_testkit::on_every_store;

use crate::rig::{FIVE, LedgerTest, Random, event_for};

const ALL: [&str; 13] = [
    "sum",
    "count",
    "average",
    "standard_deviation",
    "linear_regression",
    "min",
    "max",
    "median",
    "percentile_90",
    "percentile_95",
    "percentile_99",
    "distinct_count",
    "rate",
];

/// Events at different times over some years, early and late, with values of many sizes.
fn events(random: &mut Random, n: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for at in 0..n {
        let time = format!(
            "20{:02}-{:02}-{:02} {:02}:{:02}:{:02} {}",
            10 + random.below(4),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24),
            random.below(60),
            at % 60,
            ["+0000", "-0400", "+05:30"][random.below(3) as usize],
        );
        let value = match random.below(5) {
            0 => format!("{}", random.below(10)),
            1 => format!("-{}.{}", random.below(1000), random.below(100)),
            2 => format!("0.000{}", 1 + random.below(100_000)),
            3 => format!("{}00000000000000", 1 + random.below(1_000_000)),
            _ => format!("{}.5", random.below(50)),
        };
        let intervals: &[&str] = match random.below(3) {
            0 => &["days"],
            1 => &["weeks", "months", "seconds"],
            _ => &["hours", "years", "minutes"],
        };
        let calculations: &[&str] = if random.below(2) == 0 { &ALL } else { &FIVE };
        events.push(event_for(&value, &time, intervals, calculations));
    }
    // Each time once: a second value of the same time would make the order matter, as it should.
    events.sort_by(|a, b| a.created_at.as_str().cmp(b.created_at.as_str()));
    events.dedup_by(|a, b| a.created_at == b.created_at);
    events
}

/// The events in another order, some of them twice, in batches of any size.
fn batches(random: &mut Random, events: &[Event]) -> Vec<Vec<Event>> {
    let mut all = events.to_vec();
    for event in events {
        if random.below(4) == 0 {
            all.push(event.clone());
        }
    }
    random.shuffle(&mut all);
    let mut batches = Vec::new();
    while !all.is_empty() {
        let size = (1 + random.below(20) as usize).min(all.len());
        batches.push(all.split_off(all.len() - size));
    }
    batches
}

#[tokio::test]
async fn any_order_repetition_and_batching_gives_the_same_results() {
    on_every_store(async |store| {
        let mut random = Random::from_env(20_141_027);
        let events = events(&mut random, 60);
        let mut first = None;
        for round in 0..3 {
            let rig = LedgerTest::new(store.clone()).await;
            let rig = LedgerTest { project: format!("p{round}").parse().unwrap(), ..rig };
            for batch in batches(&mut random, &events) {
                rig.record(batch).await;
            }
            rig.verify().await;
            let results = rig.results().await;
            assert_eq!(*first.get_or_insert(results.clone()), results, "round {round}");
        }
    })
    .await;
}

#[tokio::test]
async fn replacements_late_and_future_events_leave_what_the_values_say() {
    on_every_store(async |store| {
        let mut random = Random::from_env(8_241);
        let rig = LedgerTest::new(store).await;
        let mut events = events(&mut random, 50);
        for _ in 0..3 {
            random.shuffle(&mut events);
            for batch in batches(&mut random, &events) {
                rig.record(batch).await;
            }
            rig.verify().await;
            for event in &mut events {
                if random.below(3) == 0 {
                    *event = event_for(
                        &format!("{}.25", random.below(100)),
                        event.created_at.as_str(),
                        &["days"],
                        &["sum"],
                    );
                }
            }
        }
    })
    .await;
}

/// Values that repeat, grow many in one bucket, and leave again, the smallest and the largest first.
#[tokio::test]
async fn buckets_of_many_values_know_their_extremes_when_values_are_replaced() {
    on_every_store(async |store| {
        let mut random = Random::from_env(6_465);
        for calculations in [&ALL[..], &["min", "max", "distinct_count"], &["median"]] {
            let rig = LedgerTest::new(store.clone()).await;
            let rig = LedgerTest { project: calculations[0].parse().unwrap(), ..rig };
            for round in 0..8 {
                let n = [30, 40, 1, 90, 3, 200, 64, 5][round];
                let mut batch = Vec::new();
                for _ in 0..n {
                    let at = format!(
                        "2014-10-17 {:02}:00:{:02} Z",
                        random.below(3),
                        random.below(60).min(random.below(90))
                    );
                    // Ever fewer different values, from the outside to the middle.
                    let far = 40 - 5 * round as u64;
                    let value = format!("{}.5", random.below(2 * far) as i64 - far as i64);
                    batch.push(event_for(&value, &at, &["minutes", "hours", "days"], calculations));
                }
                rig.record(batch).await;
                rig.verify().await;
            }
        }
    })
    .await;
}

/// What another process would open: it shares nothing with this one but the data.
async fn another(store: &Store) -> Store {
    match store.engine() {
        // An engine is in one process, which may have any number of accounts that know nothing of each other.
        Some(_) => store.clone(),
        None => Store::open_with(store.url().clone(), Options::default()).await.unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_processes_at_once_give_the_same_results() {
    on_every_store(async |store| {
        let mut random = Random::from_env(77);
        let events = events(&mut random, 120);
        let alone = LedgerTest::new(Store::open("embedded:memory").await.unwrap()).await;
        alone.record(events.clone()).await;
        let mut processes = Vec::new();
        for _ in 0..4 {
            let batches = batches(&mut random, &events);
            let store = another(&store).await;
            processes.push(tokio::spawn(async move {
                let rig = LedgerTest::new(store).await;
                for batch in batches {
                    rig.record(batch).await;
                }
            }));
        }
        for process in processes {
            process.await.unwrap();
        }
        let rig = LedgerTest::new(another(&store).await).await;
        rig.verify().await;
        assert_eq!(rig.results().await, alone.results().await);
    })
    .await;
}
