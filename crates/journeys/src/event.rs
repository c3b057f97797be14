//! Events: what somebody does on a journey.

use keyrack_keys::{UserSub, python::write_text};
use keyrack_store::Script;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    error::Error,
    journeys::Journeys,
    keys::{self, JourneyUid, SessionUid},
    session::{COUNTED_FOR_S, SESSION_TIME_S, refused},
    uid,
};

static EVENT: Script = keyrack_store::script!("event.lua");

/// Events of a journey that are kept: what its busiest minutes make.
pub(crate) const STORED_MAX: usize = 10_000;

/// What somebody can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAction {
    /// Comes along; the first event of every session.
    Join,
    /// Goes; the last event of a session.
    Leave,
    /// Likes what is seen.
    Like,
    /// Answers with a number.
    Rate(i64),
    /// Begins to press.
    PressStart,
    /// Lets go.
    PressEnd,
    /// Answers with the colour of that index.
    Color(u32),
    /// Answers with the word of that index.
    Word(u32),
}

impl UserAction {
    /// The type of the event, as it is published.
    pub fn evtype(self) -> &'static str {
        match self {
            UserAction::Join => "join",
            UserAction::Leave => "leave",
            UserAction::Like => "like",
            UserAction::Rate(_) => "numeric_prompt_response",
            UserAction::PressStart => "press_prompt_start_response",
            UserAction::PressEnd => "press_prompt_end_response",
            UserAction::Color(_) => "color_prompt_response",
            UserAction::Word(_) => "word_prompt_response",
        }
    }

    /// The data of the event, as it is published.
    pub fn data(self) -> Value {
        match self {
            UserAction::Rate(rating) => json!({ "rating": rating }),
            UserAction::Color(index) | UserAction::Word(index) => json!({ "index": index }),
            _ => json!({}),
        }
    }

    fn value(self) -> Option<i64> {
        match self {
            UserAction::Rate(rating) => Some(rating),
            UserAction::Color(index) | UserAction::Word(index) => Some(index.into()),
            _ => None,
        }
    }
}

/// An event to be.
#[derive(Debug, Clone)]
pub struct NewEvent<'a> {
    /// The journey.
    pub journey: &'a JourneyUid,
    /// The session.
    pub session: &'a SessionUid,
    /// Whose session it is.
    pub user: &'a UserSub,
    /// What is done.
    pub act: UserAction,
    /// When on the journey, in seconds.
    pub journey_time: f64,
}

/// An event as it is stored and published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its uid.
    pub uid: String,
    /// Who did it.
    pub user_sub: String,
    /// In which session.
    pub session_uid: String,
    /// What was done.
    pub evtype: String,
    /// More about it.
    pub data: Value,
    /// When on the journey, in seconds.
    pub journey_time: f64,
    /// When in the world, in unix seconds.
    pub created_at: f64,
}

impl Event {
    /// The message about it, as Python would write it.
    fn message(&self) -> String {
        let mut out = String::from("{\"uid\": ");
        write_text(&mut out, &self.uid);
        for (name, text) in [
            ("user_sub", &self.user_sub),
            ("session_uid", &self.session_uid),
            ("evtype", &self.evtype),
        ] {
            out.push_str(&format!(", \"{name}\": "));
            write_text(&mut out, text);
        }
        let members = self.data.as_object().into_iter().flatten();
        let members = members.map(|(name, value)| format!("\"{name}\": {value}"));
        let data = members.collect::<Vec<_>>().join(", ");
        out + &format!(
            ", \"data\": {{{data}}}, \"journey_time\": {:?}, \"created_at\": {:?}}}",
            self.journey_time, self.created_at
        )
    }
}

impl Journeys {
    /// Stores an event and tells everybody who watches.
    ///
    /// # Errors
    /// When there is no such journey, when a rule is broken, or when the store fails. Nothing has happened then.
    pub async fn event(&self, new: NewEvent<'_>) -> Result<Event, Error> {
        if !new.journey_time.is_finite() {
            let reason = "it is no number; give seconds".to_owned();
            return Err(Error::Invalid { field: "journey_time", reason });
        }
        let event = Event {
            uid: uid::new("oseh_je_"),
            user_sub: new.user.to_string(),
            session_uid: new.session.to_string(),
            evtype: new.act.evtype().to_owned(),
            data: new.act.data(),
            journey_time: new.journey_time,
            created_at: self.now(),
        };
        let uid = new.journey;
        let call = EVENT.call(self.store()).key("journey", &keys::journey(uid));
        let call = call.key("session", &keys::session(uid, new.session));
        let call = call.key("stored", &keys::stored(uid)).key("counts", &keys::counts(uid));
        let call = call.key("events", &keys::events(uid)).arg("user_sub", new.user.as_str());
        let call = call.arg("evtype", new.act.evtype()).arg("time", new.journey_time);
        let value = new.act.value().map(|value| value.to_string()).unwrap_or_default();
        let call = call.arg("value", value).arg("message", event.message());
        let call = call.arg("ttl_s", SESSION_TIME_S).arg("stored_max", STORED_MAX);
        let call = call.arg("now", event.created_at).arg("counted_for_s", COUNTED_FOR_S);
        let is_to_be_counted: bool = call.run().await.map_err(|error| refused(uid, error))?;
        if is_to_be_counted {
            self.count_again(uid, new.session, new.user).await;
        }
        Ok(event)
    }

    /// The latest events of a journey, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn events(&self, uid: &JourneyUid, max: usize) -> Result<Vec<Event>, Error> {
        if max == 0 {
            return Ok(Vec::new());
        }
        let mut cmd = redis::cmd("LRANGE");
        cmd.arg(&*self.store().place(&keys::stored(uid))).arg(0).arg(max - 1);
        let texts: Vec<String> = cmd.query_async(&mut self.store().connection()).await?;
        Ok(texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_python_writes_them() {
        let event = Event {
            uid: "oseh_je_1".into(),
            user_sub: "Jürgen".into(),
            session_uid: "oseh_js_2".into(),
            evtype: "numeric_prompt_response".into(),
            data: UserAction::Rate(7).data(),
            journey_time: 12.0,
            created_at: 1_670_000_000.25,
        };
        assert_eq!(
            event.message(),
            r#"{"uid": "oseh_je_1", "user_sub": "J\u00fcrgen", "session_uid": "oseh_js_2", "evtype": "numeric_prompt_response", "data": {"rating": 7}, "journey_time": 12.0, "created_at": 1670000000.25}"#
        );
        let read: Event = serde_json::from_str(&event.message()).expect("JSON");
        assert_eq!(read, event);
    }
}
