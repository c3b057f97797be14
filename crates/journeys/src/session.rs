//! Sessions: one person on a journey, from joining to leaving.

use keyrack_keys::UserSub;
use keyrack_store::Script;

use crate::{
    error::Error,
    journeys::Journeys,
    keys::{self, JourneyUid, SessionUid},
    uid,
};

static START: Script = keyrack_store::script!("session/start.lua");

/// How long a session lives after its last event. Journeys take minutes.
pub(crate) const SESSION_TIME_S: u64 = 86_400;

impl Journeys {
    /// Starts a session of a user. Its first event has to be `join`.
    ///
    /// # Errors
    /// When there is no such journey, or when the store fails.
    pub async fn start_session(
        &self,
        uid: &JourneyUid,
        user: &UserSub,
    ) -> Result<SessionUid, Error> {
        let session = SessionUid::new(uid::new("oseh_js_"))?;
        let call = START.call(self.store()).key("journey", &keys::journey(uid));
        let call = call.key("session", &keys::session(uid, &session));
        let call = call.arg("user_sub", user.as_str()).arg("now", self.now());
        let started: Result<(), _> = call.arg("ttl_s", SESSION_TIME_S).run().await;
        started.map_err(|error| refused(uid, error))?;
        Ok(session)
    }
}

/// What the words of the scripts mean.
pub(crate) fn refused(uid: &JourneyUid, error: keyrack_store::Error) -> Error {
    let keyrack_store::Error::Refused { word, .. } = &error else { return error.into() };
    match (word.as_str(), crate::Refusal::of(word)) {
        ("NOT_FOUND", _) => Error::NoSuchJourney { uid: uid.to_string() },
        (_, Some(refusal)) => Error::Refused(refusal),
        _ => error.into(),
    }
}
