//! Stripe's REST API.

use std::time::Duration;

use reqwest::{
    RequestBuilder,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    error::Error,
    source::bearer,
    web::{CallError, HttpClient},
};

/// How often a request is sent that may be sent twice without harm.
const ATTEMPTS: u32 = 2;

/// Stripe, which takes the money.
#[derive(Clone)]
pub struct Stripe {
    web: HttpClient,
    secret_key: HeaderValue,
}

/// A checkout session as Stripe tells it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Session {
    pub(super) id: String,
    /// Where the buyer pays; only while it is open.
    pub(super) url: Option<String>,
    pub(super) status: Option<String>,
    /// `paid`, `unpaid` or `no_payment_required`.
    pub(super) payment_status: Option<String>,
    pub(super) expires_at: Option<f64>,
    /// Our own name for it.
    pub(super) client_reference_id: Option<String>,
}

#[derive(Deserialize)]
struct Created {
    id: String,
}

/// What a new session is about.
pub(super) struct NewSession<'a> {
    pub(super) uid: &'a str,
    pub(super) customer: &'a str,
    pub(super) price: &'a str,
    pub(super) success_url: &'a str,
    pub(super) cancel_url: &'a str,
}

/// What a new customer is told to be.
pub(super) struct NewCustomer<'a> {
    pub(super) user_sub: &'a str,
    pub(super) email: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

impl Stripe {
    /// Where Stripe is, unless somebody stands in for it.
    pub const BASE: &str = "https://api.stripe.com";

    /// How long it may take to answer.
    pub const TIME_MAX: Duration = Duration::from_secs(10);

    /// Stripe at an address, with the secret key of an account.
    ///
    /// # Errors
    /// When the address would carry the key in the open, or the key holds what no header can.
    pub fn new(base: &str, secret_key: &str, time_max: Duration) -> Result<Stripe, Error> {
        let secret_key = bearer("the secret key of Stripe", secret_key)?;
        Ok(Stripe { web: HttpClient::new(base, time_max)?, secret_key })
    }

    /// The id of a new customer; the same within a day for the same values.
    pub(super) async fn create_customer(&self, new: NewCustomer<'_>) -> Result<String, CallError> {
        let mut form =
            vec![("metadata[user_sub]", new.user_sub), ("metadata[created_for]", "checkout")];
        form.extend(new.email.map(|email| ("email", email)));
        form.extend(new.name.map(|name| ("name", name)));
        let digest = Sha256::digest(encode(&form));
        let key: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let created: Created = self.post(&["v1", "customers"], &form, &key).await?;
        Ok(created.id)
    }

    /// A new session; the same for the same uid.
    pub(super) async fn create_session(&self, new: NewSession<'_>) -> Result<Session, CallError> {
        let form = [
            ("mode", "subscription"),
            ("client_reference_id", new.uid),
            ("customer", new.customer),
            ("line_items[0][price]", new.price),
            ("line_items[0][quantity]", "1"),
            ("success_url", new.success_url),
            ("cancel_url", new.cancel_url),
        ];
        self.post(&["v1", "checkout", "sessions"], &form, new.uid).await
    }

    /// How a session is doing; `None` if there is no such session.
    pub(super) async fn session(&self, id: &str) -> Result<Option<Session>, CallError> {
        let request = self.signed(self.web.get(&["v1", "checkout", "sessions", id]));
        match self.web.send_for(request).await {
            Ok(session) => Ok(Some(session)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Ends a session that nobody has paid.
    pub(super) async fn expire(&self, id: &str) -> Result<(), CallError> {
        let request = self.web.post(&["v1", "checkout", "sessions", id, "expire"]);
        self.web.send(self.signed(request)).await.map(drop)
    }

    /// Creates something. The key makes sure that it is created once, so it may be tried again.
    async fn post<T: serde::de::DeserializeOwned>(
        &self,
        segments: &[&str],
        form: &[(&str, &str)],
        idempotency_key: &str,
    ) -> Result<T, CallError> {
        let mut attempt = 1;
        loop {
            let request = self.web.post(segments).header("Idempotency-Key", idempotency_key);
            let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            let sent = self.web.send_for(self.signed(request.body(encode(form)))).await;
            match sent {
                Err(error) if attempt < ATTEMPTS && is_worth_another(&error) => attempt += 1,
                sent => return sent,
            }
        }
    }

    fn signed(&self, request: RequestBuilder) -> RequestBuilder {
        request.header(AUTHORIZATION, self.secret_key.clone())
    }
}

impl std::fmt::Debug for Stripe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stripe").finish_non_exhaustive()
    }
}

fn encode(form: &[(&str, &str)]) -> String {
    serde_html_form::to_string(form).unwrap_or_default()
}

/// Not after a time-out: whoever waits has waited long enough.
fn is_worth_another(error: &CallError) -> bool {
    match error {
        CallError::Unreachable(_) => true,
        CallError::Status { status } => *status >= 500,
        CallError::TimedOut(_) | CallError::Nonsense(_) => false,
    }
}
