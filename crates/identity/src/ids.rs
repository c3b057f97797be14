//! Making tokens: a secret from the system's random source, and what follows from it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::{error::Error, keys::TokenUid};

/// What every secret starts with; tokens of identity providers never do.
pub(crate) const SECRET_PREFIX: &str = "ep_ut_";
const UID_PREFIX: &str = "ep_ut_uid_";
const SECRET_BYTES: usize = 48;
const UID_BYTES: usize = 16;

/// The secret of a user token. It is shown once and never stored.
pub(crate) struct Secret(String);

impl Secret {
    /// A new one.
    pub(crate) fn random() -> Result<Secret, Error> {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoRandom)?;
        Ok(Secret(format!("{SECRET_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// What somebody sent.
    pub(crate) fn given(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    /// The token's public name. It follows from the secret, so that a token is found by one read and without an index of
    /// secrets; nobody can go the other way.
    pub(crate) fn uid(&self) -> TokenUid {
        let hash =
            Sha256::new().chain_update(b"keyrack token uid\0").chain_update(&self.0).finalize();
        let uid = format!("{UID_PREFIX}{}", URL_SAFE_NO_PAD.encode(&hash[..UID_BYTES]));
        TokenUid::new(uid).expect("a prefix and base64 are a good part")
    }

    /// What is stored in its place.
    pub(crate) fn digest(&self) -> String {
        Sha256::digest(&self.0).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether it is the secret that `digest` was stored for. How long this takes says nothing about either.
    pub(crate) fn matches(&self, digest: &str) -> bool {
        self.digest().as_bytes().ct_eq(digest.as_bytes()).into()
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_names_have_their_documented_form() {
        let secret = Secret::random().expect("random numbers");
        assert_eq!(secret.0.len(), "ep_ut_".len() + 64);
        assert_eq!(secret.uid().as_str().len(), "ep_ut_uid_".len() + 22);
        assert!(secret.uid().as_str().starts_with("ep_ut_uid_"));
        assert_ne!(secret.0, Secret::random().expect("random numbers").0);
    }

    #[test]
    fn digest_is_the_sha256_of_the_whole_secret() {
        let secret = Secret::given("ep_ut_abc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Secret::given("abc").digest(), expected);
        assert!(secret.matches(&secret.digest()));
        assert!(!secret.matches(expected) && !secret.matches(""));
    }

    #[test]
    fn the_name_says_nothing_about_the_digest() {
        let secret = Secret::given("ep_ut_abc");
        let uid = secret.uid();
        let named = uid.as_str().strip_prefix(UID_PREFIX).expect("a prefix");
        let named = URL_SAFE_NO_PAD.decode(named).expect("base64");
        let named: String = named.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!secret.digest().contains(&named));
    }
}
