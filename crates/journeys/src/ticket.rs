//! Tickets: signed tokens with which somebody may take part in one journey.
//!
//! A ticket is a JWT signed with HS256, as the published clients have it. Whoever issues tickets knows the same secret.

use std::{fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::hmac;
use serde::{Deserialize, Serialize};

use crate::{error::Error, keys::JourneyUid};

/// How long a ticket is good for.
pub const TICKET_TIME: Duration = Duration::from_secs(1800);

/// Anything shorter could be guessed.
const SECRET_CHARS_MIN: usize = 16;
/// A ticket has a few hundred bytes.
const TICKET_BYTES_MAX: usize = 4096;
/// By how much two clocks may differ.
const LEEWAY_S: f64 = 5.0;

/// Who issues tickets unless [`Tickets::with_issuer`] says otherwise.
pub const DEFAULT_ISSUER: &str = "keyrack";

/// What makes and checks tickets.
#[derive(Clone)]
pub struct Tickets {
    key: hmac::Key,
    issuer: String,
    audience: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    iss: String,
    aud: String,
    iat: f64,
    exp: f64,
}

impl Tickets {
    /// Tickets signed with a secret of at least 16 characters.
    ///
    /// # Errors
    /// When it is shorter.
    pub fn new(secret: &str) -> Result<Tickets, Error> {
        let chars = secret.chars().count();
        if chars < SECRET_CHARS_MIN {
            let reason = format!("it has {chars} characters; give at least {SECRET_CHARS_MIN}");
            return Err(Error::Invalid { field: "secret", reason });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Ok(Tickets { key, issuer: String::new(), audience: String::new() }
            .with_issuer(DEFAULT_ISSUER))
    }

    /// Tickets with this `iss`; their `aud` is the same with `-journey` after it.
    #[must_use]
    pub fn with_issuer(self, issuer: &str) -> Tickets {
        let audience = format!("{issuer}-journey");
        Tickets { issuer: issuer.to_owned(), audience, ..self }
    }

    /// A ticket for a journey, from `now` on, in unix seconds.
    pub fn issue(&self, uid: &JourneyUid, now: f64) -> String {
        let (iat, exp) = (now.floor(), now.floor() + TICKET_TIME.as_secs_f64());
        let (iss, aud) = (self.issuer.clone(), self.audience.clone());
        let claims = Claims { sub: uid.to_string(), iss, aud, iat, exp };
        let claims = serde_json::to_vec(&claims).unwrap_or_default();
        let signed = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#),
            URL_SAFE_NO_PAD.encode(claims)
        );
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Refuses a ticket that is not good for this journey now.
    ///
    /// # Errors
    /// [`Error::BadTicket`].
    pub fn check(&self, ticket: &str, uid: &JourneyUid, now: f64) -> Result<(), Error> {
        self.claims(ticket)
            .and_then(|claims| match claims {
                claims if claims.iss != self.issuer => Err("it is from somebody else"),
                claims if claims.aud != self.audience => Err("it is for something else"),
                claims if claims.iat > now + LEEWAY_S => Err("it is from the future"),
                // Written so that a number that is none counts as expired.
                claims if claims.exp > now - LEEWAY_S && claims.sub == uid.as_str() => Ok(()),
                claims if claims.sub != uid.as_str() => Err("it is for another journey"),
                _ => Err("it has expired"),
            })
            .map_err(|reason| Error::BadTicket { reason })
    }

    /// What a ticket claims, if we signed it.
    fn claims(&self, ticket: &str) -> Result<Claims, &'static str> {
        if ticket.len() > TICKET_BYTES_MAX {
            return Err("it is too long");
        }
        let (signed, signature) = ticket.rsplit_once('.').ok_or("it has no signature")?;
        let (header, claims) = signed.split_once('.').ok_or("it has no claims")?;
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|_| "it is not base64");
        let read_header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| "its header cannot be read")?;
        if read_header.alg != "HS256" {
            return Err("it is signed in another way");
        }
        // Compares in constant time.
        hmac::verify(&self.key, signed.as_bytes(), &decode(signature)?)
            .map_err(|_| "its signature is wrong")?;
        serde_json::from_slice(&decode(claims)?).map_err(|_| "its claims cannot be read")
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: f64 = 1_670_000_000.0;

    fn tickets() -> Tickets {
        Tickets::new("a secret of journeys").expect("a secret")
    }

    fn uid(text: &str) -> JourneyUid {
        JourneyUid::new(text).expect("a uid")
    }

    #[track_caller]
    fn refused(ticket: &str, now: f64, why: &str) {
        match tickets().check(ticket, &uid("j"), now) {
            Err(Error::BadTicket { reason }) => assert_eq!(reason, why),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ticket_is_good_for_its_journey_and_half_an_hour() {
        let ticket = tickets().issue(&uid("j"), NOW);
        tickets().check(&ticket, &uid("j"), NOW).expect("good");
        tickets().check(&ticket, &uid("j"), NOW + 1799.0).expect("good");
        refused(&ticket, NOW + 1806.0, "it has expired");
        refused(&ticket, NOW - 10.0, "it is from the future");
        refused(&tickets().issue(&uid("k"), NOW), NOW, "it is for another journey");
    }

    /// Made with Python's `hmac` and `json`, as the original's library does.
    #[test]
    fn a_ticket_of_another_program_is_good_too() {
        let ticket = concat!(
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
            ".eyJzdWIiOiJqIiwiaXNzIjoib3NlaCIsImF1ZCI6Im9zZWgtam91cm5leSIsImlhdCI6MTY3MDAwMDAwMC4wLCJleHAiOjE2NzAwMDAwNjAuNX0",
            ".CGKYECdJQ757sgILespXo3jzM6L2x-4bw9TNQsXbsHk",
        );
        let theirs = tickets().with_issuer("oseh");
        theirs.check(ticket, &uid("j"), NOW + 60.0).expect("good");
        assert!(theirs.check(ticket, &uid("j"), NOW + 66.0).is_err(), "expired");
        refused(ticket, NOW, "it is from somebody else");
    }

    #[test]
    fn tickets_that_nobody_signed_are_refused() {
        let good = tickets().issue(&uid("j"), NOW);
        let (signed, signature) = good.rsplit_once('.').expect("a signature");
        refused("", NOW, "it has no signature");
        refused("x.y", NOW, "it has no claims");
        refused(&format!("{signed}."), NOW, "its signature is wrong");
        refused(&format!("{signed}x.{signature}"), NOW, "its signature is wrong");
        refused(&"x".repeat(5000), NOW, "it is too long");
        let other = Tickets::new("another secret of theirs").expect("a secret");
        refused(&other.issue(&uid("j"), NOW), NOW, "its signature is wrong");
        let claims = signed.split_once('.').expect("claims").1;
        let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        refused(&format!("{none}.{claims}."), NOW, "it is signed in another way");
        assert!(Tickets::new("short").is_err());
        assert_eq!(format!("{:?}", tickets()), "Tickets");
    }
}
