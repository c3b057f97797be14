//! What came of the events, second by second.

use keyrack_journeys::{Totals, UserAction};
use keyrack_testkit::on_every_store_at;

use crate::world::{NOW_MS, Trip, assert_clean, numeric, press, word};

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_those_of_their_second_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, numeric()).await;
        let (ada, bob) = (trip.traveller("ada").await, trip.traveller("bob").await);
        ada.does(UserAction::Rate(7), 1.2).await.expect("rated");
        bob.does(UserAction::Rate(7), 1.9).await.expect("rated");
        ada.does(UserAction::Rate(3), 4.0).await.expect("changed her mind");
        bob.does(UserAction::Like, 4.5).await.expect("liked");
        bob.does(UserAction::Like, 4.6).await.expect("liked");
        ada.does(UserAction::Leave, 59.0).await.expect("left");
        let at = async |second| trip.journeys.totals(&trip.uid, second).await.expect("totals");
        assert_eq!(at(0).await, Totals { users: 2, ..Totals::default() });
        let numeric_active = [(7, 2)].into();
        assert_eq!(at(1).await, Totals { users: 2, numeric_active, ..Totals::default() });
        assert_eq!(at(3).await, at(1).await);
        let numeric_active = [(3, 1), (7, 1)].into();
        assert_eq!(at(4).await, Totals { users: 2, likes: 2, numeric_active, ..Totals::default() });
        let numeric_active = [(7, 1)].into();
        assert_eq!(
            at(60).await,
            Totals { users: 1, likes: 2, numeric_active, ..Totals::default() }
        );
        let histogram = trip.journeys.histogram(&trip.uid).await.expect("a histogram");
        assert_eq!(
            (histogram.len(), &histogram[..6], histogram[59]),
            (60, &[2, 2, 0, 0, 3, 0][..], 1)
        );
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_pressing_presses_no_more_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, press()).await;
        let bob = trip.traveller("bob").await;
        bob.does(UserAction::PressStart, 1.0).await.expect("pressed");
        bob.does(UserAction::PressEnd, 2.0).await.expect("let go");
        bob.does(UserAction::PressStart, 3.0).await.expect("pressed");
        let at = async |second| trip.journeys.totals(&trip.uid, second).await.expect("totals");
        assert_eq!(
            [at(1).await.press_active, at(2).await.press_active, at(3).await.press_active],
            [1, 0, 1]
        );
        bob.does(UserAction::Leave, 4.0).await.expect("left");
        assert_eq!(at(4).await, Totals { press: 2, ..Totals::default() });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_event_counts_for_nothing_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, word()).await;
        let bob = trip.traveller("bob").await;
        bob.does(UserAction::Word(5), 1.0).await.expect_err("no such word");
        bob.does(UserAction::Like, 61.0).await.expect_err("too late");
        let totals = trip.journeys.totals(&trip.uid, 60).await.expect("totals");
        assert_eq!(totals, Totals { users: 1, ..Totals::default() });
        assert_eq!(trip.journeys.events(&trip.uid, 10).await.expect("events").len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn glances_tell_what_happened_last_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let quiet = Trip::new(&store, word()).await;
        clock.advance_ms(1_000);
        let trip = Trip::new(&store, numeric()).await;
        let ada = trip.traveller("ada").await;
        clock.advance_ms(1_000);
        ada.does(UserAction::Rate(7), 1.2).await.expect("rated");
        assert_eq!(trip.journeys.count().await.expect("a count"), 2);
        let glances = trip.journeys.glances(0, 10).await.expect("glances");
        let told: Vec<_> = glances
            .iter()
            .map(|glance| (&*glance.journey.uid, glance.events, glance.last_event_at))
            .collect();
        let last = Some((NOW_MS + 2_000) as f64 / 1000.0);
        assert_eq!(told, [(trip.uid.as_str(), 2, last), (quiet.uid.as_str(), 0, None)]);
        let (totals, histogram) = trip.journeys.course(&trip.uid, 60).await.expect("a course");
        assert_eq!(totals, trip.journeys.totals(&trip.uid, 60).await.expect("totals"));
        assert_eq!(histogram, trip.journeys.histogram(&trip.uid).await.expect("a histogram"));
    })
    .await;
}
