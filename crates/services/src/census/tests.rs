use keyrack_testkit::{RedisServer, on_every_store_unrestricted};

use super::*;

async fn fill(store: &Store, n_each: u64) {
    let mut connection = store.connection();
    for i in 0..n_each {
        let stray = redis::cmd("SET").arg(format!("stray/{i}")).arg(1).to_owned();
        let trace = redis::cmd("HSET").arg(format!("trace:u{i}:bar:1")).arg("f").arg(1).to_owned();
        for command in [stray, trace] {
            command.exec_async(&mut connection).await.expect("the key is written");
        }
    }
}

async fn in_memory(n_each: u64) -> Store {
    let store = Store::open("embedded:memory").await.expect("a store in memory");
    fill(&store, n_each).await;
    store
}

fn traces() -> &'static Family {
    keyrack_contract::registry().get("progress.trace").expect("a declared family")
}

/// A family that lives in the databases of accounts.
fn of_accounts() -> &'static Family {
    let mut families = keyrack_contract::registry().families();
    families.find(|family| family.database == Database::Account).expect("a declared family")
}

#[tokio::test]
async fn whole_walk_counts_exactly_on_every_store() {
    on_every_store_unrestricted(async |store| {
        fill(&store, 40).await;
        let counts = walk(&store, KEYS_MAX).await.expect("a result");
        assert!(counts.exact);
        assert_eq!((counts.of(traces()), counts.undeclared), (Some(40), 40));
    })
    .await;
}

#[tokio::test]
async fn bounded_walk_estimates_the_rest() {
    let counts = walk(&in_memory(5_000).await, 2_000).await.expect("a result");
    assert!(!counts.exact);
    let traces = counts.of(traces()).expect("known");
    assert!((4_000..6_000).contains(&traces), "{traces}");
    assert!(traces.abs_diff(10_000 - counts.undeclared) <= 1, "{traces}, {}", counts.undeclared);
}

#[tokio::test]
async fn other_databases_are_walked_unless_there_are_many() {
    let server = RedisServer::builder().config("databases", "200").start();
    let store = Store::open(&server.url()).await.expect("a server");
    let put = async |db: usize| {
        let store = store.database(db as i64).await.expect("a database");
        let set = redis::cmd("SET").arg(of_accounts().example).arg(1).to_owned();
        set.exec_async(&mut store.connection()).await.expect("the key is written");
    };
    for db in 100..100 + DATABASES_MAX {
        put(db).await;
    }
    let counts = walk(&store, KEYS_MAX).await.expect("a result");
    assert_eq!(counts.of(of_accounts()), Some(DATABASES_MAX as u64));

    put(150).await;
    let counts = walk(&store, KEYS_MAX).await.expect("a result");
    assert_eq!((counts.of(of_accounts()), counts.of(traces())), (None, Some(0)));
}

#[tokio::test]
async fn keys_of_another_program_do_not_count_as_output_events_on_every_store() {
    on_every_store_unrestricted(async |store| {
        for i in 0..40 {
            let mut job = redis::cmd("HSET");
            job.arg(format!("bull:emails:job:{i}")).arg("name").arg("send");
            job.exec_async(&mut store.connection()).await.expect("the key is written");
        }
        let counts = walk(&store, KEYS_MAX).await.expect("a result");
        let events = keyrack_contract::registry().get("calculations.event").expect("a family");
        assert_eq!((counts.of(events), counts.undeclared), (Some(0), 40));
    })
    .await;
}

#[tokio::test]
async fn result_is_kept_for_a_while() {
    let store = in_memory(1).await;
    let census = Census::new(store.clone());
    assert_eq!(census.latest().await.expect("a result").undeclared, 1);
    fill(&store, 2).await;
    assert_eq!(census.latest().await.expect("a result").undeclared, 1);
}
