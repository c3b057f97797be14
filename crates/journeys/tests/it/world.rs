//! What the tests have in common: a journey, somebody on it, and what they do.

use keyrack_journeys::{
    Error, Event, Journeys, NewEvent, Prompt, UserAction,
    keys::{self, JourneyUid, SessionUid},
};
use keyrack_keys::{Registry, UserSub};
use keyrack_store::Store;

/// Some time in November 2026.
pub(crate) const NOW_MS: u64 = 1_794_709_387_250;
pub(crate) const NOW: f64 = 1_794_709_387.25;

pub(crate) fn user(name: &str) -> UserSub {
    UserSub::new(name).expect("a user")
}

pub(crate) fn numeric() -> Prompt {
    Prompt::Numeric { text: "how are you?".into(), min: 1, max: 10, step: 1 }
}

pub(crate) fn press() -> Prompt {
    Prompt::Press { text: "press".into() }
}

pub(crate) fn color() -> Prompt {
    let colors = vec!["#ff0000".into(), "#00ff00".into(), "#0000ff".into()];
    Prompt::Color { text: "which?".into(), colors }
}

pub(crate) fn word() -> Prompt {
    Prompt::Word { text: "which?".into(), options: vec!["calm".into(), "awake".into()] }
}

/// A journey of a minute.
#[derive(Clone)]
pub(crate) struct Trip {
    pub(crate) journeys: Journeys,
    pub(crate) uid: JourneyUid,
}

/// Somebody on it.
#[derive(Clone)]
pub(crate) struct Traveller {
    trip: Trip,
    pub(crate) user: UserSub,
    pub(crate) session: SessionUid,
}

impl Trip {
    pub(crate) async fn new(store: &Store, prompt: Prompt) -> Trip {
        let journeys = Journeys::new(store.clone());
        let journey = journeys.create(prompt, 60.0).await.expect("a journey");
        Trip { journeys, uid: JourneyUid::new(journey.uid).expect("a uid") }
    }

    /// Somebody with a session in which nothing has happened.
    pub(crate) async fn visitor(&self, name: &str) -> Traveller {
        let user = user(name);
        let session = self.journeys.start_session(&self.uid, &user).await.expect("a session");
        Traveller { trip: self.clone(), user, session }
    }

    /// Somebody who has joined at the start.
    pub(crate) async fn traveller(&self, name: &str) -> Traveller {
        let traveller = self.visitor(name).await;
        traveller.does(UserAction::Join, 0.0).await.expect("joined");
        traveller
    }
}

impl Traveller {
    pub(crate) async fn does(&self, act: UserAction, journey_time: f64) -> Result<Event, Error> {
        let Trip { journeys, uid } = &self.trip;
        let (session, user) = (&self.session, &self.user);
        journeys.event(NewEvent { journey: uid, session, user, act, journey_time }).await
    }

    /// The word with which an event is refused.
    #[track_caller]
    pub(crate) fn refused(result: Result<Event, Error>) -> &'static str {
        match result {
            Err(Error::Refused(refusal)) => refusal.word(),
            Err(Error::NoSuchJourney { .. }) => "not_found",
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// Proves that everything in the store is as its declaration says.
pub(crate) async fn assert_clean(store: &Store) {
    let registry = Box::leak(Box::new(Registry::new(&[keyrack_journeys::FAMILIES])));
    let report = keyrack_lint::lint(store, registry, &Default::default(), |_| {}).await;
    let report = report.expect("a report");
    assert_eq!((report.findings, report.unknown.keys), (Default::default(), 0));
}

/// The names of what there is in the store about a journey, but for sessions.
pub(crate) async fn is_stored(store: &Store, uid: &JourneyUid) -> u64 {
    let mut cmd = redis::cmd("EXISTS");
    for key in [keys::journey(uid), keys::stored(uid), keys::counts(uid)] {
        cmd.arg(&*store.place(&key));
    }
    cmd.query_async(&mut store.connection()).await.expect("a count")
}
