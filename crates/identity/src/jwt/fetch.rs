//! Fetching the provider's keys over HTTP.

use std::time::Duration;

use reqwest::{Client, Url, redirect};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Error;

/// A provider that takes longer is not asked again for a while, and what is known has to do.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Key sets have a few kilobytes.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// A key as it was published.
pub(super) type RawKey = Map<String, Value>;

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<RawKey>,
}

/// Asks one address for keys.
#[derive(Debug, Clone)]
pub(super) struct Fetcher {
    client: Client,
    url: Url,
}

impl Fetcher {
    pub(super) fn new(url: &str) -> Result<Fetcher, Error> {
        let wrong = |reason: String| Error::Settings { reason };
        let parsed: Url = url
            .parse()
            .map_err(|error| wrong(format!("\"{url}\" is no address of a key set: {error}")))?;
        if parsed.scheme() != "https" && !is_this_machine(&parsed) {
            let reason = "whoever is on the way could put in keys of their own; use https";
            return Err(wrong(format!("the key set at \"{url}\" is not fetched: {reason}")));
        }
        // The connections to Redis use the same; it may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(TIME_MAX).redirect(redirect::Policy::none()).build();
        let client = client.map_err(|error| wrong(error.to_string()))?;
        Ok(Fetcher { client, url: parsed })
    }

    /// The keys, or why there are none.
    pub(super) async fn fetch(&self) -> Result<Vec<RawKey>, String> {
        let failed = |error: reqwest::Error| error.without_url().to_string();
        let mut response = self.client.get(self.url.clone()).send().await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(format!("the provider answered {}", response.status()));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > BODY_BYTES_MAX {
                return Err(format!("the key set has more than {BODY_BYTES_MAX} bytes"));
            }
        }
        let set: KeySet = serde_json::from_slice(&body)
            .map_err(|error| format!("the key set is no JSON of keys: {error}"))?;
        Ok(set.keys)
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_over_tls_or_from_this_machine() {
        for good in [
            "https://id.example.com/jwks.json",
            "http://127.0.0.1:1/",
            "http://[::1]/k",
            "http://localhost/",
        ] {
            assert!(Fetcher::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://id.example.com/jwks.json",
            "http://localhost.example.com/",
            "jwks",
            "ftp://x/y",
        ] {
            assert!(Fetcher::new(bad).is_err(), "{bad}");
        }
    }
}
