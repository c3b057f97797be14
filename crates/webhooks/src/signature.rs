//! How a receiver knows who has sent an event, and when.

use ring::hmac;

use crate::event::hex;

/// The header with the signature.
pub(crate) const SIGNATURE_HEADER: &str = "keyrack-signature";
/// The header with the id of the event.
pub(crate) const EVENT_ID_HEADER: &str = "keyrack-event-id";

/// The value of `Keyrack-Signature`: `t=UNIX_SECONDS,v1=HEX`, where the hex digits are the
/// HMAC-SHA256 of `UNIX_SECONDS.BODY` with the secret.
///
/// A receiver makes the same from what it got, compares in constant time, and refuses times that
/// are minutes old.
///
/// ```
/// assert_eq!(
///     keyrack_webhooks::sign("whsec_test", 1_700_000_000, b"{}"),
///     "t=1700000000,v1=35495024f4ef3f94e5a93e22221544c4b75e9a42300cd965ab81cb85cd994e91",
/// );
/// ```
pub fn sign(secret: &str, unix_s: u64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{unix_s}.").as_bytes());
    signed.update(body);
    format!("t={unix_s},v1={}", hex(signed.sign().as_ref()))
}
