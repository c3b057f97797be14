//! What all doors rely on.

use redis::AsyncCommands;

use crate::Engine;

#[tokio::test(flavor = "current_thread")]
async fn task_that_never_has_to_wait_lets_others_run() {
    let mut connection = Engine::in_memory().connection(0).expect("it exists");
    let other = tokio::spawn(async {});
    for _ in 0..10_000 {
        connection.incr::<_, _, i64>("n", 1).await.expect("an engine in memory answers");
    }
    assert!(other.is_finished());
}
