//! The stores that the lint is tried on, each fresh and with room for accounts' databases.

use keyrack_store::Store;
use keyrack_testkit::{RedisCluster, RedisServer};

/// Runs a test on an embedded engine and on a server.
pub(crate) async fn on_both_engines(test: impl AsyncFn(&Store)) {
    on_embedded(&test).await;
    on_server(&test).await;
}

/// Runs a test on an embedded engine, on a server and on a cluster.
pub(crate) async fn everywhere(test: impl AsyncFn(&Store)) {
    on_both_engines(&test).await;
    on_cluster(&test).await;
}

pub(crate) async fn on_embedded(test: impl AsyncFn(&Store)) {
    test(&open("embedded:memory").await).await;
}

pub(crate) async fn on_server(test: impl AsyncFn(&Store)) {
    let server = RedisServer::builder().config("databases", "128").start();
    test(&open(&server.url()).await).await;
}

pub(crate) async fn on_cluster(test: impl AsyncFn(&Store)) {
    let cluster = RedisCluster::start();
    test(&open(&cluster.url()).await).await;
}

async fn open(url: &str) -> Store {
    Store::open(url).await.unwrap_or_else(|error| panic!("could not open \"{url}\": {error}"))
}

/// Runs commands written as lines of words; `'…'` keeps spaces together, `db N:` in front chooses a database.
pub(crate) async fn run(store: &Store, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (store, line) = match line.strip_prefix("db ").and_then(|rest| rest.split_once(": ")) {
            Some((db, line)) => (store.database(db.parse().unwrap()).await.unwrap(), line),
            None => (store.clone(), line),
        };
        let mut words = words(line).into_iter();
        let mut cmd = redis::cmd(&words.next().unwrap());
        words.for_each(|word| {
            cmd.arg(word);
        });
        let reply: redis::RedisResult<redis::Value> =
            cmd.query_async(&mut store.connection()).await;
        reply.unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

fn words(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    parts
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}
