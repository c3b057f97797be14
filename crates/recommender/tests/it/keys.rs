//! Keys that scripts derive are those that are declared.

use keyrack_recommender::keys::{self, ChallengeId};
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{NOON, app, ms, sync};

#[tokio::test]
async fn the_posts_of_a_challenge_are_under_their_declared_key() {
    on_every_store_at(ms(NOON), async |store, _| {
        sync(&store, &mut app()).await;
        let challenge = ChallengeId::new(1).expect("a number");
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(&*store.place(&keys::challenge_posts(&challenge))).arg(&[0, -1]);
        let posts: Vec<u64> = cmd.query_async(&mut store.connection()).await.expect("posts");
        assert_eq!(posts, [100, 101]);
    })
    .await;
}

#[tokio::test]
async fn a_store_with_tagged_names_works_too() {
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let store = store.tagged();
    sync(&store, &mut app()).await;
    assert_eq!(crate::world::dump(&store).await, crate::world::LOADED);
}
