//! Calling the receiver: one request, bounded in time, to an address that may be called, and
//! nowhere else.

use std::{error::Error as _, net::IpAddr, sync::Arc};

use keyrack_store::Store;
use reqwest::{Client, Url, header::CONTENT_TYPE, redirect};

use crate::{
    address::{AllowedPrivate, PublicResolver, Refused},
    error::Error,
    event::Event,
    hook::Target,
    signature::{EVENT_ID_HEADER, SIGNATURE_HEADER, sign},
    webhooks::Settings,
};

/// Calls receivers.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    client: Client,
    allowed: Arc<AllowedPrivate>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The status, if there was an answer.
    pub(crate) status: Option<u16>,
    /// Why it counts as a failure, if it does.
    pub(crate) error: Option<String>,
}

impl Answer {
    fn failed(status: Option<u16>, error: impl Into<String>) -> Answer {
        Answer { status, error: Some(error.into()) }
    }
}

impl Sender {
    pub(crate) fn new(settings: &Settings) -> Result<Sender, Error> {
        // The connections to Redis use the same; it may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let allowed = Arc::new(settings.allow_private.clone());
        let client = Client::builder()
            .timeout(settings.timeout)
            .redirect(redirect::Policy::none())
            // A proxy would resolve the name by itself.
            .no_proxy()
            .dns_resolver(Arc::new(PublicResolver(allowed.clone())))
            .user_agent(concat!("keyrack/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::NoClient { reason: error.to_string() })?;
        Ok(Sender { client, allowed })
    }

    /// Sends an event.
    pub(crate) async fn send(&self, store: &Store, target: &Target, event: &Event) -> Answer {
        let Ok(url) = target.url.parse::<Url>() else {
            return Answer::failed(None, "the stored URL cannot be read");
        };
        // A name is looked at when it is resolved; an address is not resolved.
        if let Some(ip) = address_in(&url)
            && let Some(objection) = self.allowed.objection("", ip)
        {
            return Answer::failed(None, objection);
        }
        let body = target.format.body(event, target.routing_key.as_deref());
        let signature = sign(&target.secret, store.now_ms() / 1000, &body);
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header(SIGNATURE_HEADER, signature)
            .header(EVENT_ID_HEADER, &event.id)
            .body(body);
        match request.send().await {
            Ok(response) => judged(response.status()),
            Err(error) => Answer::failed(None, reason(&error)),
        }
    }
}

fn judged(status: reqwest::StatusCode) -> Answer {
    let code = status.as_u16();
    if status.is_success() {
        return Answer { status: Some(code), error: None };
    }
    let what = if status.is_redirection() { "redirects are not followed" } else { "not a 2xx" };
    Answer::failed(Some(code), format!("it answered {code}: {what}"))
}

/// The address that stands in a URL in place of a name.
pub(crate) fn address_in(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

/// Why there was no answer. The URL is left out, since it may hold a secret.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause = error.source();
    let mut last = "it cannot be reached".to_owned();
    while let Some(error) = cause {
        if let Some(Refused(why)) = error.downcast_ref() {
            return why.clone();
        }
        last = format!("it cannot be reached: {error}");
        cause = error.source();
    }
    last
}
