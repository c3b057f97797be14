//! RevenueCat's REST API.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::{Deserialize, Serialize};

use super::{Answer, Source, SourceFuture};
use crate::{
    customer::Customer,
    error::Error,
    web::{CallError, HttpClient},
};

/// How many entitlements of a customer are believed; shops have a handful.
const ENTITLEMENTS_MAX: usize = 100;

/// RevenueCat, which keeps the books of app stores and Stripe alike.
#[derive(Clone)]
pub struct RevenueCat {
    web: HttpClient,
    secret_key: HeaderValue,
    stripe_public_key: HeaderValue,
}

impl RevenueCat {
    /// Where RevenueCat is, unless somebody stands in for it.
    pub const BASE: &str = "https://api.revenuecat.com";

    /// How long it may take to answer.
    pub const TIME_MAX: Duration = Duration::from_secs(5);

    /// RevenueCat at an address, with the secret key of a project and the public key of its Stripe app.
    ///
    /// # Errors
    /// When the address would carry the keys in the open, or a key holds what no header can.
    pub fn new(
        base: &str,
        secret_key: &str,
        stripe_public_key: &str,
        time_max: Duration,
    ) -> Result<RevenueCat, Error> {
        Ok(RevenueCat {
            web: HttpClient::new(base, time_max)?,
            secret_key: bearer("the secret key of RevenueCat", secret_key)?,
            stripe_public_key: bearer("the public key of RevenueCat", stripe_public_key)?,
        })
    }
}

/// The header that shows a key, and that nothing prints.
pub(crate) fn bearer(what: &str, key: &str) -> Result<HeaderValue, Error> {
    let header = HeaderValue::from_str(&format!("Bearer {key}"));
    let wrong = |_| Error::Settings { reason: format!("{what} has characters that no key has") };
    let mut header = header.map_err(wrong)?;
    header.set_sensitive(true);
    Ok(header)
}

impl std::fmt::Debug for RevenueCat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RevenueCat").finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Found {
    subscriber: Subscriber,
}

#[derive(Deserialize)]
struct Subscriber {
    entitlements: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    expires_date: Option<String>,
}

#[derive(Serialize)]
struct Receipt<'a> {
    app_user_id: &'a str,
    fetch_token: &'a str,
}

impl Source for RevenueCat {
    fn fetch<'a>(&'a self, customer: &'a Customer) -> SourceFuture<'a, Option<Answer>> {
        Box::pin(async move {
            let request = self.web.get(&["v1", "subscribers", customer.revenue_cat_id()]);
            let request = request.header(AUTHORIZATION, self.secret_key.clone());
            match self.web.send_for::<Found>(request).await {
                Ok(found) => answer(found.subscriber).map(Some),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn purchased<'a>(&'a self, customer: &'a Customer, receipt: &'a str) -> SourceFuture<'a, ()> {
        Box::pin(async move {
            let receipt = Receipt { app_user_id: customer.revenue_cat_id(), fetch_token: receipt };
            let body = serde_json::to_vec(&receipt).unwrap_or_default();
            let request = self.web.post(&["v1", "receipts"]).body(body);
            let request = request.header(CONTENT_TYPE, "application/json");
            let request = request.header("X-Platform", "stripe");
            let request = request.header(AUTHORIZATION, self.stripe_public_key.clone());
            self.web.send(request).await.map(drop)
        })
    }
}

fn answer(subscriber: Subscriber) -> Result<Answer, CallError> {
    if subscriber.entitlements.len() > ENTITLEMENTS_MAX {
        return Err(CallError::Nonsense(format!("more than {ENTITLEMENTS_MAX} entitlements")));
    }
    let mut entitlements = BTreeMap::new();
    for (identifier, entry) in subscriber.entitlements {
        entitlements.insert(identifier, entry.expires_date.as_deref().map(moment).transpose()?);
    }
    Ok(Answer { entitlements })
}

/// The unix time of a date as RevenueCat writes it.
fn moment(text: &str) -> Result<f64, CallError> {
    let moment: Timestamp =
        text.parse().map_err(|_| CallError::Nonsense("a date cannot be read".into()))?;
    Ok(moment.as_microsecond() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_become_unix_seconds() {
        assert_eq!(moment("2022-12-05T00:00:00Z"), Ok(1_670_198_400.0));
        assert_eq!(moment("2022-12-05T00:00:00.250+02:00"), Ok(1_670_191_200.25));
        for wrong in ["", "soon", "2022-12-05", "1670198400"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn debugging_shows_no_key() {
        let cat = RevenueCat::new(RevenueCat::BASE, "sk_x1", "pk_x2", RevenueCat::TIME_MAX);
        let shown = format!("{:?}", cat.expect("a source"));
        assert!(!shown.contains("_x"), "{shown}");
        let error = RevenueCat::new(RevenueCat::BASE, "sk_x1\n", "", RevenueCat::TIME_MAX);
        assert!(!error.expect_err("a newline").to_string().contains("sk_x1"));
    }
}
