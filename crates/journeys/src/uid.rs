//! Uids: a prefix and 16 random bytes in base64.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use uuid::Uuid;

/// A uid that nobody has had before.
pub(crate) fn new(prefix: &str) -> String {
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(Uuid::new_v4().as_bytes()))
}
