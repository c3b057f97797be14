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
static ENTER: Script = keyrack_store::script!("session/enter.lua");

/// How many sessions a user may have within a day, unless set otherwise: one every minute and a half.
pub const SESSIONS_QUOTA: u64 = 1_000;

/// How long a session lives after its last event. Journeys take minutes.
pub(crate) const SESSION_TIME_S: u64 = 86_400;

/// How long a session need not be counted anew among those of its user. It counts for that much longer than it lives.
pub(crate) const COUNTED_FOR_S: u64 = 3_600;

impl Journeys {
    /// Starts a session of a user. Its first event has to be `join`.
    ///
    /// # Errors
    /// When there is no such journey, when the user has too many sessions, or when the store fails.
    pub async fn start_session(
        &self,
        uid: &JourneyUid,
        user: &UserSub,
    ) -> Result<SessionUid, Error> {
        let session = SessionUid::new(uid::new("oseh_js_"))?;
        // First: a session that nobody counts would be one too many.
        self.count_session(uid, &session, user).await?;
        let call = START.call(self.store()).key("journey", &keys::journey(uid));
        let call = call.key("session", &keys::session(uid, &session));
        let call = call.arg("user_sub", user.as_str()).arg("now", self.now());
        let started: Result<(), _> = call.arg("ttl_s", SESSION_TIME_S).run().await;
        if let Err(error) = started {
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(&*self.store().place(&keys::sessions(user))).arg(member(uid, &session));
            // What stays in the list for a day is one less for the user, and nothing worse.
            drop(cmd.exec_async(&mut self.store().connection()).await);
            return Err(refused(uid, error));
        }
        Ok(session)
    }

    /// Counts a session among those of its user.
    async fn count_session(
        &self,
        uid: &JourneyUid,
        session: &SessionUid,
        user: &UserSub,
    ) -> Result<(), Error> {
        let call = ENTER.call(self.store()).key("sessions", &keys::sessions(user));
        let call = call.arg("member", member(uid, session)).arg("now", self.now());
        let call = call.arg("lives_s", SESSION_TIME_S + COUNTED_FOR_S);
        let entered: Result<(), _> = call.arg("sessions_max", self.sessions_max).run().await;
        entered.map_err(|error| match error {
            keyrack_store::Error::Refused { word, detail } if word == "TOO_MANY_SESSIONS" => {
                let retry_after_s = detail.and_then(|text| text.parse().ok()).unwrap_or(1);
                Error::TooManySessions { max: self.sessions_max, retry_after_s }
            }
            error => error.into(),
        })
    }

    /// Counts a session anew that goes on for long. Its event is stored, so a failure is no reason to refuse it.
    pub(crate) async fn count_again(&self, uid: &JourneyUid, session: &SessionUid, user: &UserSub) {
        if let Err(error) = self.count_session(uid, session, user).await {
            tracing::debug!(%error, "a session is not counted anew among its user's");
        }
    }
}

/// How a session stands among those of its user.
fn member(uid: &JourneyUid, session: &SessionUid) -> String {
    serde_json::json!([uid.as_str(), session.as_str()]).to_string()
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
