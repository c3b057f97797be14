//! What Stripe tells by itself.

use ring::hmac;
use serde::Deserialize;

use super::{Checkout, complete::CheckoutState, session::ClaimFilter, stripe::Session};
use crate::{error::Error, keys::CheckoutUid};

/// How old a message may be, in seconds. Older ones may have been recorded by somebody.
const AGE_S_MAX: f64 = 300.0;

/// What came of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookOutcome {
    /// The buyer has what was bought.
    Completed,
    /// The checkout was given up.
    Expired,
    /// It is about nothing that is open here, or about a checkout that stays open: its payment is on its way.
    Nothing,
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: serde_json::Value,
}

impl Checkout {
    /// Does what follows from a message of Stripe's, once however often it arrives.
    ///
    /// `signature` is the header `Stripe-Signature`, `body` the very bytes that came with it.
    ///
    /// # Errors
    /// When Stripe did not sign it, when somebody else is finishing the checkout, or when the source or the store fails: in these
    /// cases Stripe is to send it again.
    pub async fn webhook(&self, signature: &str, body: &[u8]) -> Result<WebhookOutcome, Error> {
        self.verify(signature, body)?;
        let nonsense = |_| Error::Invalid { field: "body", reason: "not an event".into() };
        let message: Message = serde_json::from_slice(body).map_err(nonsense)?;
        let session = message.data.object;
        let session = || serde_json::from_value::<Session>(session).map_err(nonsense);
        let (session, standing) = match &*message.kind {
            "checkout.session.completed" => {
                let session = session()?;
                let standing = CheckoutState::of_completed(&session);
                (session, standing)
            }
            "checkout.session.async_payment_succeeded" => (session()?, CheckoutState::Complete),
            "checkout.session.expired" | "checkout.session.async_payment_failed" => {
                (session()?, CheckoutState::Expired)
            }
            _ => return Ok(WebhookOutcome::Nothing),
        };
        self.obey(&session, standing).await
    }

    async fn obey(
        &self,
        session: &Session,
        standing: CheckoutState,
    ) -> Result<WebhookOutcome, Error> {
        let uid = session.client_reference_id.as_ref();
        let Some(uid) = uid.and_then(|uid| CheckoutUid::new(uid.as_str()).ok()) else {
            return Ok(WebhookOutcome::Nothing);
        };
        let held = match self.hold(&uid, ClaimFilter::Any).await {
            Ok(held) => held,
            Err(Error::NoSuchCheckout { .. }) => return Ok(WebhookOutcome::Nothing),
            Err(error) => return Err(error),
        };
        if held.stripe_session_id != session.id {
            self.release_unchecked(&held).await?;
            return Ok(WebhookOutcome::Nothing);
        }
        let concluded = self.conclude(&held, standing).await;
        if concluded.is_err() {
            self.release_unchecked(&held).await?;
        }
        concluded.map(|standing| match standing {
            CheckoutState::Complete => WebhookOutcome::Completed,
            CheckoutState::Expired => WebhookOutcome::Expired,
            CheckoutState::Open | CheckoutState::Unpaid => WebhookOutcome::Nothing,
        })
    }

    fn verify(&self, signature: &str, body: &[u8]) -> Result<(), Error> {
        let refuse = |reason| Err(Error::NotStripes { reason });
        let Some(secret) = &self.settings.webhook_secret else {
            return refuse("no secret is set with which it could be checked");
        };
        let field = |name| {
            let fields = signature.split(',').filter_map(|field| field.trim().split_once('='));
            fields.filter(move |(key, _)| *key == name).map(|(_, value)| value)
        };
        let Some(sent_at) = field("t").next() else { return refuse("the signature has no time") };
        let Ok(at) = sent_at.parse::<u64>() else { return refuse("the signature has no time") };
        if (self.entitlements.now() - at as f64).abs() > AGE_S_MAX {
            return refuse("it was signed too long ago, or the clock is wrong");
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let signed = [sent_at.as_bytes(), b".", body].concat();
        // While a secret is replaced, there are signatures with both.
        let mut signatures = field("v1").filter_map(unhex);
        if signatures.any(|signature| hmac::verify(&key, &signed, &signature).is_ok()) {
            return Ok(());
        }
        refuse("the signature does not fit")
    }
}

/// The header with which Stripe would sign a message at a time in unix seconds; to try things out.
pub fn sign_webhook(secret: &str, at: u64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, &[at.to_string().as_bytes(), b".", body].concat());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={at},v1={hex}")
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.bytes().map(|digit| char::from(digit).to_digit(16));
    let digits: Vec<u8> = digits.map(|digit| u8::try_from(digit?).ok()).collect::<Option<_>>()?;
    digits
        .len()
        .is_multiple_of(2)
        .then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_hex_of_bytes() {
        assert_eq!(unhex("00ff1A"), Some(vec![0, 255, 26]));
        for wrong in ["0", "0g", "é0"] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
