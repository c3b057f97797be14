//! Calls of other servers: bounded in time and size, over TLS, and without telling secrets to anybody else.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use serde::de::DeserializeOwned;

use crate::error::Error;

/// Answers have a few kilobytes; those with a long history of purchases some hundred.
const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a call of another server failed. It holds nothing of what was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// There was no answer.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It refused, or sent elsewhere; nobody goes there with a secret.
    #[error("it answered {status}")]
    Status {
        /// The status of the answer.
        status: u16,
    },
    /// It answered something else than was asked for.
    #[error("invalid answer: {0}")]
    Nonsense(String),
}

impl CallError {
    /// Whether it said that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, CallError::Status { status: 404 })
    }
}

/// Another server.
#[derive(Clone)]
pub(crate) struct HttpClient {
    client: Client,
    base: Url,
    time_max: Duration,
}

impl HttpClient {
    /// The server at an address, which is given at most `time_max` for each answer.
    pub(crate) fn new(base: &str, time_max: Duration) -> Result<HttpClient, Error> {
        let wrong = |reason: String| Error::Settings { reason };
        let parsed: Url = base
            .parse()
            .map_err(|error| wrong(format!("\"{base}\" is no address of a server: {error}")))?;
        if parsed.scheme() != "https" && !(parsed.scheme() == "http" && is_this_machine(&parsed)) {
            let reason = "whoever is on the way could read the key; use https";
            return Err(wrong(format!("\"{base}\" is not called: {reason}")));
        }
        // The connections to Redis use the same; it may be installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .timeout(time_max)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| wrong(error.to_string()))?;
        Ok(HttpClient { client, base: parsed, time_max })
    }

    /// The address of something on the server; the segments may hold any text.
    pub(crate) fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    pub(crate) fn get(&self, segments: &[&str]) -> RequestBuilder {
        self.client.get(self.url(segments))
    }

    pub(crate) fn post(&self, segments: &[&str]) -> RequestBuilder {
        self.client.post(self.url(segments))
    }

    /// Sends a request and reads its answer, which must be a success.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Vec<u8>, CallError> {
        let response = request.send().await.map_err(|error| self.failed(error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(CallError::Status { status: StatusCode::as_u16(&status) });
        }
        self.body(response).await
    }

    /// Sends a request and reads the JSON of its answer.
    pub(crate) async fn send_for<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, CallError> {
        let body = self.send(request).await?;
        // What a parser says may quote the answer, and in it whatever somebody bought.
        serde_json::from_slice(&body).map_err(|error| {
            let what = if error.is_data() { "is not of the expected form" } else { "is no JSON" };
            CallError::Nonsense(format!(
                "it {what}, at line {} column {}",
                error.line(),
                error.column()
            ))
        })
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, CallError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len() + chunk.len() > BODY_BYTES_MAX {
                return Err(CallError::Nonsense(format!(
                    "it has more than {BODY_BYTES_MAX} bytes"
                )));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The address is left out of what is told: it may hold an id that nobody else may know.
    fn failed(&self, error: reqwest::Error) -> CallError {
        if error.is_timeout() {
            return CallError::TimedOut(self.time_max);
        }
        CallError::Unreachable(error.without_url().to_string())
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME_MAX: Duration = Duration::from_secs(5);

    #[test]
    fn secrets_go_over_tls_or_stay_on_this_machine() {
        for good in
            ["https://api.example.com", "http://127.0.0.1:1/", "http://[::1]", "http://localhost"]
        {
            assert!(HttpClient::new(good, TIME_MAX).is_ok(), "{good}");
        }
        for bad in
            ["http://api.example.com", "http://localhost.example.com", "ftp://localhost", "api", ""]
        {
            assert!(matches!(HttpClient::new(bad, TIME_MAX), Err(Error::Settings { .. })), "{bad}");
        }
    }

    #[test]
    fn ids_cannot_lead_elsewhere() {
        let web = HttpClient::new("https://api.example.com/proxy/", TIME_MAX).expect("a server");
        let url = web.url(&["v1", "subscribers", "../a b?x#y/é"]);
        assert_eq!(
            url.as_str(),
            "https://api.example.com/proxy/v1/subscribers/..%2Fa%20b%3Fx%23y%2F%C3%A9"
        );
    }
}
