//! The secret of those who may announce over HTTP.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::Error;

/// Anything shorter could be guessed.
pub(crate) const CHARS_MIN: usize = 16;

/// A secret that can be compared with and never shown.
#[derive(Clone)]
pub struct Secret {
    digest: [u8; 32],
}

impl Secret {
    /// A secret of at least 16 characters.
    ///
    /// # Errors
    /// When it is shorter.
    pub fn new(text: &str) -> Result<Secret, Error> {
        match text.chars().count() {
            chars if chars < CHARS_MIN => Err(Error::SecretTooShort { chars }),
            _ => Ok(Secret { digest: digest(text) }),
        }
    }

    /// Whether this is it. How long the answer takes says nothing about the secret, not even how long it is.
    pub fn is(&self, given: &str) -> bool {
        self.digest.ct_eq(&digest(given)).into()
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
