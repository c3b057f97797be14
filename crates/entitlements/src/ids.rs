//! Ids that nobody can guess, in the documented form: a prefix and 16 bytes in base64.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::error::Error;

/// A new id.
pub(crate) fn random(prefix: &str) -> Result<String, Error> {
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes::<16>()?)))
}

/// A name for one of many short-lived things: 8 bytes in base64.
pub(crate) fn token() -> Result<String, Error> {
    Ok(URL_SAFE_NO_PAD.encode(bytes::<8>()?))
}

fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoRandom)?;
    Ok(bytes)
}
