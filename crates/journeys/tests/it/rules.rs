//! The rules of events, in the order in which they are looked at.

use keyrack_journeys::{Error, Journeys, Prompt, UserAction, keys, keys::JourneyUid};
use keyrack_store::Event as ReceivedEvent;
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{
    NOW, NOW_MS, Traveller, Trip, assert_clean, color, is_stored, numeric, press, user, word,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_stored_and_published_as_documented_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, numeric()).await;
        let channel = keys::events(&trip.uid);
        assert_eq!(channel.name(), format!("ps:journeys:{}:events", trip.uid));
        let mut heard = store.subscribe(&[channel]).await.expect("subscribed");
        let jürgen = trip.traveller("Jürgen").await;
        let event = jürgen.does(UserAction::Rate(7), 12.5).await.expect("stored");
        assert!(event.uid.starts_with("oseh_je_") && event.uid.len() == "oseh_je_".len() + 22);
        assert!(jürgen.session.as_str().starts_with("oseh_js_"));
        let Some(ReceivedEvent::Message(join)) = heard.next().await else { panic!("a message") };
        assert!(String::from_utf8_lossy(&join.payload).contains(r#""evtype": "join", "data": {}"#));
        let Some(ReceivedEvent::Message(rated)) = heard.next().await else { panic!("a message") };
        let expected = format!(
            r#"{{"uid": "{}", "user_sub": "J\u00fcrgen", "session_uid": "{}", "evtype": "numeric_prompt_response", "data": {{"rating": 7}}, "journey_time": 12.5, "created_at": {NOW:?}}}"#,
            event.uid, jürgen.session
        );
        assert_eq!(String::from_utf8_lossy(&rated.payload), expected);
        let stored = trip.journeys.events(&trip.uid, 10).await.expect("events");
        assert_eq!((stored.len(), &stored[0]), (2, &event));
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rule_is_kept_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let refused = Traveller::refused;
        let trip = Trip::new(&store, numeric()).await;
        let bob = trip.visitor("bob").await;
        assert_eq!(refused(bob.does(UserAction::Like, 1.0).await), "session_not_started");
        let mut eve = bob.clone();
        eve.user = user("eve");
        assert_eq!(refused(eve.does(UserAction::Join, 0.0).await), "session_not_found");
        bob.does(UserAction::Join, 1.0).await.expect("joined");
        assert_eq!(refused(bob.does(UserAction::Join, 2.0).await), "session_already_started");
        bob.does(UserAction::Like, 5.0).await.expect("liked");
        assert_eq!(refused(bob.does(UserAction::Like, 4.9).await), "session_has_later_event");
        assert_eq!(
            refused(bob.does(UserAction::Like, 5.0).await),
            "session_has_same_event_at_same_time"
        );
        bob.does(UserAction::Rate(1), 5.0).await.expect("another event at the same time");
        assert_eq!(
            refused(bob.does(UserAction::Like, 5.0).await),
            "session_has_same_event_at_same_time"
        );
        for act in [
            UserAction::PressStart,
            UserAction::PressEnd,
            UserAction::Color(0),
            UserAction::Word(0),
        ] {
            assert_eq!(refused(bob.does(act, 6.0).await), "impossible_event", "{act:?}");
        }
        assert_eq!(refused(bob.does(UserAction::Rate(0), 6.0).await), "impossible_event_data");
        assert_eq!(refused(bob.does(UserAction::Rate(11), 6.0).await), "impossible_event_data");
        assert_eq!(refused(bob.does(UserAction::Like, 60.1).await), "impossible_journey_time");
        bob.does(UserAction::Leave, 60.0).await.expect("left");
        assert_eq!(refused(bob.does(UserAction::Like, 60.0).await), "session_already_ended");
        trip.journeys.delete(&trip.uid).await.expect("deleted");
        assert_eq!(refused(bob.does(UserAction::Like, 60.0).await), "not_found");
        assert_eq!(is_stored(&store, &trip.uid).await, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_broken_rules_the_first_is_told_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let refused = Traveller::refused;
        let trip = Trip::new(&store, color()).await;
        // A visitor who does everything wrong at once, and puts one thing after another right.
        let new = trip.visitor("new").await;
        let mut stranger = new.clone();
        stranger.user = user("stranger");
        assert_eq!(refused(stranger.does(UserAction::PressStart, -1.0).await), "session_not_found");
        assert_eq!(refused(new.does(UserAction::PressStart, -1.0).await), "session_not_started");
        assert_eq!(refused(new.does(UserAction::Join, -1.0).await), "impossible_journey_time");
        let ended = trip.traveller("ended").await;
        ended.does(UserAction::Leave, 30.0).await.expect("left");
        assert_eq!(refused(ended.does(UserAction::Join, -1.0).await), "session_already_started");
        assert_eq!(
            refused(ended.does(UserAction::PressStart, -1.0).await),
            "session_already_ended"
        );
        let bob = trip.traveller("bob").await;
        bob.does(UserAction::Color(2), 60.0).await.expect("chosen");
        assert_eq!(
            refused(bob.does(UserAction::PressStart, -1.0).await),
            "session_has_later_event"
        );
        assert_eq!(
            refused(bob.does(UserAction::Color(9), 60.0).await),
            "session_has_same_event_at_same_time"
        );
        assert_eq!(refused(bob.does(UserAction::Rate(9), 99.0).await), "impossible_event");
        assert_eq!(refused(bob.does(UserAction::Color(3), 99.0).await), "impossible_event_data");
        assert_eq!(refused(bob.does(UserAction::Color(2), 99.0).await), "impossible_journey_time");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_who_presses_lets_go_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, press()).await;
        let bob = trip.traveller("bob").await;
        assert_eq!(
            Traveller::refused(bob.does(UserAction::PressEnd, 1.0).await),
            "impossible_event"
        );
        bob.does(UserAction::PressStart, 1.0).await.expect("pressed");
        assert_eq!(
            Traveller::refused(bob.does(UserAction::PressStart, 2.0).await),
            "impossible_event"
        );
        bob.does(UserAction::PressEnd, 2.0).await.expect("let go");
        bob.does(UserAction::PressStart, 3.0).await.expect("pressed again");
        // Others press for themselves.
        let eve = trip.traveller("eve").await;
        assert_eq!(
            Traveller::refused(eve.does(UserAction::PressEnd, 3.0).await),
            "impossible_event"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn choices_end_where_the_prompt_does_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let trip = Trip::new(&store, word()).await;
        let bob = trip.traveller("bob").await;
        bob.does(UserAction::Word(1), 1.0).await.expect("the last word");
        assert_eq!(
            Traveller::refused(bob.does(UserAction::Word(2), 2.0).await),
            "impossible_event_data"
        );
        let nan = bob.does(UserAction::Like, f64::NAN).await;
        assert!(matches!(nan, Err(Error::Invalid { field: "journey_time", .. })), "{nan:?}");
    })
    .await;
}

#[tokio::test]
async fn journeys_that_make_no_sense_are_refused() {
    let (store, _) = simulated_store(NOW_MS, 1).await;
    let journeys = Journeys::new(store);
    for duration in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
        journeys.create(press(), duration).await.expect_err("no duration");
    }
    let text = String::new;
    for prompt in [
        Prompt::Numeric { text: text(), min: 2, max: 1, step: 1 },
        Prompt::Numeric { text: text(), min: 0, max: 100, step: 1 },
        Prompt::Numeric { text: text(), min: i64::MIN, max: i64::MAX, step: 1 },
        Prompt::Numeric { text: text(), min: 1, max: 2, step: 0 },
        Prompt::Color { text: text(), colors: Vec::new() },
        Prompt::Word { text: text(), options: vec![text(); 101] },
        Prompt::Press { text: "x".repeat(501) },
    ] {
        journeys.create(prompt, 60.0).await.expect_err("no prompt");
    }
    assert_eq!(journeys.list(0, 10).await.expect("a list"), []);
    let nowhere = JourneyUid::new("nowhere").expect("a uid");
    for missing in [
        journeys.journey(&nowhere).await.map(drop),
        journeys.delete(&nowhere).await,
        journeys.start_session(&nowhere, &user("bob")).await.map(drop),
    ] {
        assert!(matches!(missing, Err(Error::NoSuchJourney { .. })), "{missing:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn journeys_are_listed_newest_first_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let journeys = Journeys::new(store.clone());
        let first = journeys.create(numeric(), 60.0).await.expect("a journey");
        clock.advance_ms(1000);
        let second = journeys.create(word(), 90.5).await.expect("a journey");
        assert_eq!(journeys.list(0, 10).await.expect("a list"), [second.clone(), first.clone()]);
        assert_eq!(journeys.list(1, 1).await.expect("a page"), [first]);
        let uid = JourneyUid::new(second.uid.clone()).expect("a uid");
        assert_eq!(journeys.journey(&uid).await.expect("a journey"), second);
        journeys.delete(&uid).await.expect("deleted");
        assert_eq!(journeys.list(0, 10).await.expect("a list").len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_no_more_sessions_than_the_quota_says_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let trips = [Trip::new(&store, numeric()).await, Trip::new(&store, press()).await];
        let journeys = Journeys::new(store.clone()).with_sessions_quota(2);
        let start = async |trip: usize, name: &str| {
            journeys.start_session(&trips[trip].uid, &user(name)).await
        };
        let first = start(0, "alice").await.expect("the first");
        start(1, "alice").await.expect("the second, on another journey");
        let nowhere = JourneyUid::new("nowhere").expect("a uid");
        journeys.start_session(&nowhere, &user("bob")).await.expect_err("no journey");
        for _ in 0..2 {
            start(0, "bob").await.expect("what did not start does not count");
        }
        let room_in = |refused: Result<_, Error>| match refused {
            Err(Error::TooManySessions { max: 2, retry_after_s }) => retry_after_s,
            other => panic!("not refused: {other:?}"),
        };
        assert_eq!(room_in(start(0, "alice").await), 90_000);
        let alice = user("alice");
        for (n, act) in [UserAction::Join, UserAction::Like].into_iter().enumerate() {
            clock.advance_ms(60_000_000);
            let (journey, journey_time) = (&trips[0].uid, n as f64);
            let (session, user) = (&first, &alice);
            let event = keyrack_journeys::NewEvent { journey, session, user, act, journey_time };
            journeys.event(event).await.expect("an event");
        }
        start(1, "alice").await.expect("the second is gone");
        assert_eq!(room_in(start(0, "alice").await), 90_000, "the first has gone on");
        assert_clean(&store).await;
    })
    .await;
}
