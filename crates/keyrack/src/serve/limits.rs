//! How many connections there may be, how long clients may take, and TLS.

use std::time::Duration;

use keyrack_format as format;
use keyrack_web::{ConnectionLimits, Tls};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{
    Exit, Failure,
    settings::{
        HTTP_BODY_TIMEOUT, HTTP_CONNECTIONS, HTTP_HEAD_TIMEOUT, HTTP_IDLE_TIMEOUT, RESP_TLS,
        Setting, Settings, TLS_CERT, TLS_KEY,
    },
};

/// Descriptors that no client gets: the log and its rewrite, health checks, connections to a store, to providers and to
/// databases.
const RESERVED_DESCRIPTORS: u64 = 128;

/// Raises the open-file limit: each client needs one descriptor. Returns what it is then.
pub(super) fn raise_file_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If that is not allowed, the server works with what there is.
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}

/// The limits of the HTTP port, of a process that may open so many files.
pub(super) fn http_limits(
    settings: &Settings,
    files: Option<u64>,
) -> Result<ConnectionLimits, Failure> {
    Ok(ConnectionLimits {
        connections: match settings.value(&HTTP_CONNECTIONS) {
            "auto" => client_share(files),
            text => text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
                wrong(&HTTP_CONNECTIONS, "it has to be a number from 1, or \"auto\"")
            })?,
        },
        head: time(settings, &HTTP_HEAD_TIMEOUT)?,
        body: time(settings, &HTTP_BODY_TIMEOUT)?,
        idle: time(settings, &HTTP_IDLE_TIMEOUT)?,
    })
}

/// The certificate that the settings name, if they do.
pub(super) fn tls(settings: &Settings) -> Result<Option<Tls>, Failure> {
    let files = [&TLS_CERT, &TLS_KEY].map(|setting| settings.get(setting).value.as_deref());
    match files {
        [None, None] => Ok(None),
        [Some(certificate), Some(key)] => Tls::from_files(certificate.as_ref(), key.as_ref())
            .map(Some)
            .map_err(|reason| Failure::new(Exit::Usage, reason)),
        [certificate, _] => {
            let missing = if certificate.is_none() { &TLS_CERT } else { &TLS_KEY };
            let message = format!("\"{}\" is missing: TLS takes both", missing.key);
            Err(Failure::new(Exit::Usage, message).hint(format!("set it by {}", missing.ways())))
        }
    }
}

/// The certificate for Redis clients, if they are to speak TLS.
pub(super) fn resp_tls(settings: &Settings, tls: Option<&Tls>) -> Result<Option<Tls>, Failure> {
    match settings.get(&RESP_TLS).value.as_deref() {
        None => Ok(tls.cloned()),
        Some("off") => Ok(None),
        Some("on") if tls.is_some() => Ok(tls.cloned()),
        Some("on") => Err(wrong(&RESP_TLS, "it takes a certificate: tls-cert and tls-key")),
        Some(other) => Err(wrong(&RESP_TLS, &format!("\"{other}\" is neither on nor off"))),
    }
}

/// How many clients the RESP port may have.
pub(super) fn resp_connections() -> usize {
    client_share(getrlimit(Resource::Nofile).current)
}

/// How many of the files go to the clients of one of the two ports.
fn client_share(files: Option<u64>) -> usize {
    let max = ConnectionLimits::default().connections;
    let share = |files: u64| {
        // A process that may open hardly anything still keeps half of it for itself.
        let reserved = RESERVED_DESCRIPTORS.min(files / 2);
        usize::try_from((files - reserved) / 2).unwrap_or(max)
    };
    files.map_or(max, share).clamp(1, max)
}

fn time(settings: &Settings, setting: &Setting) -> Result<Duration, Failure> {
    match format::duration::parse(settings.value(setting)) {
        Ok(Duration::ZERO) => Err(wrong(setting, "it has to be more than 0")),
        Ok(time) => Ok(time),
        Err(reason) => Err(wrong(setting, &reason)),
    }
}

fn wrong(setting: &Setting, reason: &str) -> Failure {
    let message = format!("\"{}\": {reason}", setting.key);
    Failure::new(Exit::Usage, message).hint(format!("set it by {}", setting.ways()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_times_are_those_of_the_library() {
        let default = |setting: &Setting| {
            format::duration::parse(setting.default.expect("a default")).expect("a duration")
        };
        let library = ConnectionLimits::default();
        assert_eq!(default(&HTTP_HEAD_TIMEOUT), library.head);
        assert_eq!(default(&HTTP_BODY_TIMEOUT), library.body);
        assert_eq!(default(&HTTP_IDLE_TIMEOUT), library.idle);
    }

    #[test]
    fn both_ports_together_leave_descriptors_for_the_log() {
        for files in [8, 64, 256, 1024, 4096, 1 << 20] {
            let clients = 2 * client_share(Some(files)) as u64;
            assert!(
                clients < files && files - clients >= (files / 2).min(128),
                "{files}: {clients}"
            );
        }
        assert_eq!(client_share(Some(1024)), 448);
        assert_eq!(client_share(None), ConnectionLimits::default().connections);
    }
}
