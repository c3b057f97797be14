//! The secret of those who may announce over HTTP.

use std::fmt;

use ring::hmac;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::Error;

/// Anything shorter could be guessed.
pub(crate) const CHARS_MIN: usize = 16;

/// A secret that can be compared with and never shown.
#[derive(Clone)]
pub struct Secret {
    digest: [u8; 32],
    key: hmac::Key,
}

impl Secret {
    /// A secret of at least 16 characters.
    ///
    /// # Errors
    /// When it is shorter.
    pub fn new(text: &str) -> Result<Secret, Error> {
        match text.chars().count() {
            chars if chars < CHARS_MIN => Err(Error::SecretTooShort { chars }),
            _ => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes());
                Ok(Secret { digest: digest(text), key })
            }
        }
    }

    /// Whether this is it. How long the answer takes says nothing about the secret, not even how long it is.
    pub fn is(&self, given: &str) -> bool {
        self.digest.ct_eq(&digest(given)).into()
    }
}

impl Secret {
    /// Whether somebody who knows it has signed these bytes, as GitHub does: `sha256=` and the HMAC in hex.
    pub fn has_signed(&self, bytes: &[u8], signature: &str) -> bool {
        let hex = signature.strip_prefix("sha256=").filter(|hex| hex.len() == 64);
        let byte =
            |at: usize| hex.and_then(|hex| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
        let tag: Option<Vec<u8>> = (0..64).step_by(2).map(byte).collect();
        tag.is_some_and(|tag| hmac::verify(&self.key, bytes, &tag).is_ok())
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_github() {
        // The example in GitHub's documentation of webhooks.
        let secret = Secret::new("It's a Secret to Everybody").expect("a secret");
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert!(secret.has_signed(b"Hello, World!", signature));
        assert!(!secret.has_signed(b"Hello, World?", signature));
        for wrong in ["", "sha256=", &signature[7..], "sha256=zz", &signature[..69]] {
            assert!(!secret.has_signed(b"Hello, World!", wrong), "{wrong}");
        }
    }

    #[test]
    fn only_the_very_same_text_is_the_secret() {
        let secret = Secret::new("correct horse battery").expect("a secret");
        assert!(secret.is("correct horse battery"));
        for wrong in ["", "correct horse batter", "correct horse battery ", "Correct horse battery"]
        {
            assert!(!secret.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        let error = Secret::new("hunter2").expect_err("too short").to_string();
        assert_eq!(error, "the secret has 7 characters; give at least 16");
        let secret = Secret::new("correct horse battery").expect("a secret");
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
