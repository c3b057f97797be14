//! What goes down in the audit log about a request.

use std::{convert::Infallible, net::IpAddr};

use axum::{extract::FromRequestParts, http::request::Parts, response::Response};
use keyrack_identity::Change;

use super::{Caller, permission, route};
use crate::App;

/// What a request was about, when its path does not say. A handler adds it to its response.
#[derive(Debug, Clone)]
pub struct Subject(pub String);

/// Why nothing came of a request whose response is no error, such as a form that leads back to its page.
#[derive(Debug, Clone)]
pub struct Failure(pub String);

/// A change that somebody is about to make.
pub(super) struct AuditEntry(Change);

impl AuditEntry {
    /// What a request is about to change; `None` if nothing, or nothing worth remembering.
    pub(super) fn of(request: &Parts, caller: &Caller) -> Option<AuditEntry> {
        let route = route(request)?;
        let change = Change::new(caller.name(), permission(request)?.audit?);
        let change = change.from(Address::of(request).0.as_deref());
        Some(AuditEntry(match subject(route, request.uri.path()) {
            Some(subject) => change.to(&subject),
            None => change,
        }))
    }

    /// What came of it.
    pub(super) fn done(self, response: &Response) -> Change {
        let extensions = response.extensions();
        let failed = match extensions.get::<Failure>() {
            Some(Failure(why)) => Some(why.clone()),
            None if response.status().is_client_error() || response.status().is_server_error() => {
                Some(response.status().to_string())
            }
            None => None,
        };
        let change = self.0.failed(failed.as_deref());
        match extensions.get() {
            Some(Subject(subject)) => change.to(subject),
            None => change,
        }
    }
}

/// What a request is about: what stands in its path for the variable parts of its route.
fn subject(route: &str, path: &str) -> Option<String> {
    let pairs = below_api(route).split('/').zip(below_api(path).split('/'));
    let parts = pairs.filter(|(name, _)| name.starts_with('{')).map(|(_, value)| {
        percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// The path without what stands before all routes of the API: a nested router sees it without.
fn below_api(path: &str) -> &str {
    path.strip_prefix("/api/1").filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// Remembers a change.
pub async fn record(app: &App, change: &Change) {
    if let Err(error) = app.services.identity.record(change).await {
        // The change was made; what is left is to tell somebody.
        tracing::error!(%error, ?change, "a change could not be put into the audit log");
    }
}

/// Where a request comes from. [`super::keep`] adds it to every request.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress {
    pub address: IpAddr,
    /// Whether it is the client's own, and not that of a proxy nobody has vouched for.
    pub is_own: bool,
}

/// The address that a request comes from, as far as this machine can see.
pub struct Address(pub Option<String>);

impl Address {
    fn of(request: &Parts) -> Address {
        let client = request.extensions.get::<ClientAddress>();
        Address(client.map(|client| client.address.to_string()))
    }
}

impl<S: Sync> FromRequestParts<S> for Address {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Address, Infallible> {
        Ok(Address::of(parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_request_is_about_stands_in_its_path() {
        let about = subject("/api/1/queues/{queue}/pause", "/queues/video%2Fhd/pause");
        assert_eq!(about.as_deref(), Some("video/hd"));
        assert_eq!(subject("/bulk", "/bulk"), None);
    }
}
