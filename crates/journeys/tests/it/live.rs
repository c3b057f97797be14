//! Journeys that are watched.

use keyrack_journeys::{Live, UserAction, View, ViewRequest, Watcher, keys};
use keyrack_testkit::{on_every_store_at, simulated_store, wait_until_async};
use tokio::time::Instant;

use crate::world::{NOW_MS, Trip, numeric};

const WISH: ViewRequest = ViewRequest { bandwidth: 100, lookback: 2.0, lookahead: 2.0 };

fn view(journey_time: f64) -> View {
    View::at(WISH, Instant::now(), journey_time)
}

async fn batch(watcher: &mut Watcher) -> Vec<serde_json::Value> {
    let batch = watcher.batch().await;
    batch.iter().map(|heard| serde_json::from_str(&heard.text).expect("JSON")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_get_events_with_their_data_in_batches_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, numeric()).await;
        let live = Live::new(trip.journeys.clone());
        let mut near = live.watch(&trip.uid, view(0.0)).await.expect("watched");
        let mut far = live.watch(&trip.uid, view(30.0)).await.expect("watched");
        let bob = trip.traveller("bob").await;
        let event = bob.does(UserAction::Rate(7), 0.5).await.expect("rated");
        bob.does(UserAction::Like, 30.0).await.expect("liked");
        let mut seen = batch(&mut near).await;
        while seen.len() < 2 {
            seen.extend(batch(&mut near).await);
        }
        assert_eq!(seen.len(), 2);
        let expected = serde_json::json!({
            "uid": event.uid, "user_sub": "bob", "session_uid": bob.session.as_str(),
            "evtype": "numeric_prompt_response", "journey_time": 0.5, "data": {"rating": 7},
        });
        assert_eq!(seen[1], expected);
        let seen = batch(&mut far).await;
        assert_eq!((seen.len(), &seen[0]["evtype"]), (1, &"like".into()));
    })
    .await;
}

#[tokio::test]
async fn events_that_come_close_together_go_together() {
    tokio::time::pause();
    let (store, _) = simulated_store(NOW_MS, 1).await;
    let trip = Trip::new(&store, numeric()).await;
    let live = Live::new(trip.journeys.clone());
    let mut watcher = live.watch(&trip.uid, view(0.0)).await.expect("watched");
    let bob = trip.traveller("bob").await;
    for n in 1..=10 {
        bob.does(UserAction::Like, f64::from(n) / 10.0).await.expect("liked");
    }
    let began = Instant::now();
    assert_eq!(batch(&mut watcher).await.len(), 11);
    assert!(began.elapsed().as_millis() <= 250, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_watcher_sees_no_more_than_it_can_take() {
    let (store, _) = simulated_store(NOW_MS, 1).await;
    let trip = Trip::new(&store, numeric()).await;
    let live = Live::new(trip.journeys.clone());
    let view = View::at(ViewRequest { bandwidth: 5, ..WISH }, Instant::now(), 0.0);
    let mut watcher = live.watch(&trip.uid, view).await.expect("watched");
    let bob = trip.traveller("bob").await;
    for n in 1..=50 {
        bob.does(UserAction::Like, f64::from(n) / 100.0).await.expect("liked");
    }
    let seen = batch(&mut watcher).await.len();
    assert!((5..10).contains(&seen), "{seen}");
}

#[tokio::test]
async fn a_room_closes_with_its_last_watcher_and_nonsense_harms_nobody() {
    let (store, _) = simulated_store(NOW_MS, 1).await;
    let trip = Trip::new(&store, numeric()).await;
    let live = Live::new(trip.journeys.clone());
    let first = live.watch(&trip.uid, view(0.0)).await.expect("watched");
    let mut second = live.watch(&trip.uid, view(0.0)).await.expect("watched");
    assert_eq!((live.rooms(), live.watchers(&trip.uid)), (1, 2));
    for nonsense in ["", "{}", "\u{0}", r#"{"uid": 1}"#] {
        store.publish(&keys::events(&trip.uid), nonsense).await.expect("published");
    }
    trip.traveller("bob").await;
    assert_eq!(batch(&mut second).await[0]["evtype"], "join");
    drop(first);
    assert_eq!((live.rooms(), live.watchers(&trip.uid)), (1, 1));
    drop(second);
    wait_until_async("the room to close", async || live.rooms() == 0).await;
}
