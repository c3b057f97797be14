//! What all doors rely on.

use redis::AsyncCommands;

use crate::{Engine, SimulatedHost};

#[tokio::test(flavor = "current_thread")]
async fn task_that_never_has_to_wait_lets_others_run() {
    let mut connection = Engine::in_memory().connection(0).expect("it exists");
    let other = tokio::spawn(async {});
    for _ in 0..10_000 {
        connection.incr::<_, _, i64>("n", 1).await.expect("an engine in memory answers");
    }
    assert!(other.is_finished());
}

#[tokio::test]
async fn a_tick_carries_a_rewrite_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let host = SimulatedHost::new(1_700_000_000_000, 1);
    let engine = Engine::builder().host(Box::new(host)).open(folder.path()).expect("it is new");
    let mut connection = engine.connection(0).expect("it exists");
    connection.set::<_, _, ()>("k", "v").await.expect("it can be set");
    redis::cmd("BGREWRITEAOF").exec_async(&mut connection).await.expect("it can be asked for");
    engine.tick();
    let mut info = redis::cmd("INFO");
    let info: String =
        info.arg("persistence").query_async(&mut connection).await.expect("it is text");
    assert!(info.contains("aof_rewrite_in_progress:0"), "{info}");
    assert!(info.contains("aof_rewrite_scheduled:0"), "{info}");
}
