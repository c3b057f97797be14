//! The program's edge: what an error says to the user, and which exit code it gives.

use std::{error::Error, fmt, io};

use keyrack_calculations as calculations;
use keyrack_engine::log;
use keyrack_entitlements as entitlements;
use keyrack_files as files;
use keyrack_identity as identity;
use keyrack_jobs as jobs;
use keyrack_journeys as journeys;
use keyrack_progress as progress;
use keyrack_recommender as recommender;
use keyrack_store::{self as store, ServiceError};
use keyrack_updates as updates;
use keyrack_webhooks as webhooks;

use crate::{Exit, Failure};

/// An error as the user sees it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) exit: Exit,
    message: String,
    /// What else is wrong, a line for each.
    more: Vec<String>,
    hint: Option<String>,
}

impl Report {
    /// Puts an error into words; `None` when all that happened is that nobody reads our output any more.
    pub(crate) fn of(error: &anyhow::Error) -> Option<Report> {
        if error.chain().any(is_closed_pipe) {
            return None;
        }
        let (exit, hint) = error.chain().find_map(verdict).unwrap_or((Exit::Failed, None));
        let failure = error.chain().find_map(|error| error.downcast_ref::<Failure>());
        let more = failure.map_or(&[][..], Failure::more_texts).iter().map(|text| one_line(text));
        Some(Report { exit, message: message(error.chain()), more: more.collect(), hint })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        for line in &self.more {
            write!(f, "\nerror: {line}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The chain on one line.
fn message<'a>(chain: impl Iterator<Item = &'a (dyn Error + 'static)>) -> String {
    let chain: Vec<String> = chain.map(ToString::to_string).collect();
    one_line(&chain.join(": "))
}

/// A server's own words may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

type Verdict = (Exit, Option<String>);

fn verdict(error: &(dyn Error + 'static)) -> Option<Verdict> {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return Some((failure.exit(), failure.hint_text().map(str::to_owned)));
    }
    let error = CASTS.into_iter().find_map(|cast| cast(error))?;
    Some((error.info().class.into(), error.store_error().and_then(hint).map(str::to_owned)))
}

type Cast = for<'a> fn(&'a (dyn Error + 'static)) -> Option<&'a dyn ServiceError>;

/// Every error that says its own class.
const CASTS: [Cast; 15] = [
    cast::<jobs::Error>,
    cast::<jobs::hot::Error>,
    cast::<jobs::recurring::Error>,
    cast::<progress::Error>,
    cast::<calculations::Error>,
    cast::<entitlements::Error>,
    cast::<files::Error>,
    cast::<identity::Error>,
    cast::<journeys::Error>,
    cast::<recommender::Error>,
    cast::<updates::Error>,
    cast::<webhooks::Error>,
    cast::<keyrack_services::SourceError>,
    cast::<store::Error>,
    cast::<log::Error>,
];

fn cast<'a, E: ServiceError>(error: &'a (dyn Error + 'static)) -> Option<&'a dyn ServiceError> {
    error.downcast_ref::<E>().map(|error| error as &dyn ServiceError)
}

/// What the user can do about an error of the store.
fn hint(error: &store::Error) -> Option<&'static str> {
    use store::Error;

    match error {
        Error::Unreachable { .. } => Some(
            "is the server running, and are host and port right? without --store, keyrack uses a folder of its own",
        ),
        Error::Auth { .. } => {
            Some("the store URL carries user and password: redis://USER:PASSWORD@HOST:PORT")
        }
        Error::NoSuchDatabase { .. } => Some(
            "the number stands at the end of the store URL; the server's \"databases\" setting says how many there are",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    fn exit_of(error: store::Error) -> Exit {
        Report::of(&anyhow!(error)).expect("an error to report").exit
    }

    #[test]
    fn every_store_error_has_its_exit_code() {
        use store::Error;
        let (target, reason, dir) = (String::new, String::new, String::new);
        let url = "nonsense".parse::<store::StoreUrl>().expect_err("a bad URL");
        let io = || redis::RedisError::from(io::Error::from(io::ErrorKind::ConnectionReset));
        let server = |reply: &str| {
            let value =
                redis::parse_redis_value(reply.as_bytes()).and_then(|value| value.extract_error());
            Error::from(value.expect_err("an error reply"))
        };
        for (error, exit) in [
            (Error::Url(url), Exit::Usage),
            (Error::Folder { dir: dir(), reason: reason(), in_use: true }, Exit::Conflict),
            (Error::Folder { dir: dir(), reason: reason(), in_use: false }, Exit::Failed),
            (Error::Unreachable { target: target(), reason: reason() }, Exit::Unreachable),
            (Error::Auth { target: target(), reason: reason() }, Exit::Auth),
            (Error::NoSuchDatabase { target: target(), db: 99, reason: reason() }, Exit::NotFound),
            (Error::TooOld { target: target(), version: "5.0".into() }, Exit::Failed),
            (Error::ReadOnly { target: target(), reason: reason() }, Exit::Failed),
            (Error::Lost(io()), Exit::Unreachable),
            (Error::Refused { word: "QUEUE_PAUSED".into(), detail: None }, Exit::Conflict),
            (Error::NotReplicated { acknowledged: 0, wanted: 1 }, Exit::Unreachable),
            (Error::IsCluster { target: target() }, Exit::Usage),
            (Error::NoReplicas { target: target(), reason: "" }, Exit::Usage),
            (server("-NOPERM this user has no permissions\r\n"), Exit::Auth),
            (server("-WRONGPASS invalid username-password pair\r\n"), Exit::Auth),
            (server("-NOAUTH Authentication required\r\n"), Exit::Auth),
            (server("-OOM command not allowed\r\n"), Exit::Unreachable),
            (
                server("-READONLY You can't write against a read only replica\r\n"),
                Exit::Unreachable,
            ),
            (server("-MISCONF Errors writing to the AOF file\r\n"), Exit::Unreachable),
            (
                server("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"),
                Exit::Unreachable,
            ),
            (server("-ERR unknown command\r\n"), Exit::Failed),
        ] {
            let shown = format!("{error:?}");
            assert_eq!(exit_of(error), exit, "{shown}");
        }
    }

    #[test]
    fn every_error_about_jobs_has_its_exit_code() {
        use jobs::Error;
        let name = || "x".to_owned();
        let part = jobs::bee::keys::QueueName::new("").expect_err("an empty name");
        let lost = store::Error::Unreachable { target: name(), reason: name() };
        for (error, exit) in [
            (Error::Part(part.clone()), Exit::Usage),
            (Error::Name { field: "tenant", reason: part }, Exit::Usage),
            (Error::Invalid { field: "delay", reason: name() }, Exit::Usage),
            (Error::NoSuchJob { jid: name() }, Exit::NotFound),
            (Error::NoSuchQueue { queue: name(), similar: None }, Exit::NotFound),
            (Error::NoSuchErrorGroup { queue: name(), group: name() }, Exit::NotFound),
            (Error::Exists { jid: name() }, Exit::Conflict),
            (Error::ParentCanceled { parent: name() }, Exit::Conflict),
            (Error::Conflict { jid: name(), status: name(), hint: "" }, Exit::Conflict),
            (Error::QueueNotEmpty { queue: name(), left: 1 }, Exit::Conflict),
            (Error::Store(lost), Exit::Unreachable),
        ] {
            let shown = format!("{error:?}");
            let report = Report::of(&anyhow!(error)).expect("an error to report");
            assert_eq!(report.exit, exit, "{shown}");
        }
    }

    #[test]
    fn every_error_about_recurring_jobs_has_its_exit_code() {
        use jobs::recurring::{DefinitionError, Error};
        let name = || "x".to_owned();
        let lost = || store::Error::Unreachable { target: name(), reason: name() };
        let no_job = jobs::Error::NoSuchJob { jid: name() };
        for (error, exit) in [
            (Error::Definition { name: name(), reason: DefinitionError::NoName }, Exit::Usage),
            (Error::SameDigest { first: name(), second: name() }, Exit::Usage),
            (Error::NobodyKnows { names: vec![name()] }, Exit::Usage),
            (Error::NoSuchJob { name: name() }, Exit::NotFound),
            (Error::OtherList { found: name(), ours: name() }, Exit::Conflict),
            (Error::NewerList { found: 2, ours: 1 }, Exit::Conflict),
            (Error::InList { name: name(), origin: name() }, Exit::Conflict),
            (Error::Exists { name: name(), version: 1 }, Exit::Conflict),
            (Error::OtherVersion { name: name(), given: 1, found: 2 }, Exit::Conflict),
            (Error::TooMany { max: 1 }, Exit::Conflict),
            (Error::Bee { queue: name(), source: no_job }, Exit::NotFound),
            (Error::Store(lost()), Exit::Unreachable),
        ] {
            let shown = format!("{error:?}");
            let report = Report::of(&anyhow!(error)).expect("an error to report");
            assert_eq!(report.exit, exit, "{shown}");
        }
    }

    #[test]
    fn every_error_about_tokens_has_its_exit_code() {
        use identity::Error;
        let word = || "x".to_owned();
        let lost = store::Error::Unreachable { target: word(), reason: word() };
        for (error, exit) in [
            (Error::Invalid { field: "name", reason: word() }, Exit::Usage),
            (Error::Settings { reason: word() }, Exit::Usage),
            (Error::NoSuchToken { uid: word() }, Exit::NotFound),
            (Error::TooManyTokens { max: 1 }, Exit::Conflict),
            (Error::Denied { reason: word() }, Exit::Auth),
            (Error::KeysUnavailable, Exit::Unreachable),
            (Error::NoRandom, Exit::Failed),
            (Error::Store(lost), Exit::Unreachable),
        ] {
            let shown = format!("{error:?}");
            let report = Report::of(&anyhow!(error)).expect("an error to report");
            assert_eq!(report.exit, exit, "{shown}");
        }
    }

    #[test]
    fn errors_about_progress_bars_have_their_exit_codes() {
        use progress::Error;
        let name = || "x".to_owned();
        let lost = store::Error::Unreachable { target: name(), reason: name() };
        for (error, exit) in [
            (Error::Invalid { field: "uid", reason: name() }, Exit::Usage),
            (Error::TraceNotFound { trace: name() }, Exit::NotFound),
            (Error::BarNotFound { bar: name() }, Exit::NotFound),
            (Error::RetainedTraceNotFound { bar: name(), trace: name() }, Exit::NotFound),
            (Error::TraceCompleted { trace: name() }, Exit::Conflict),
            (Error::Busy { bar: name() }, Exit::Conflict),
            (Error::Corrupt { key: name(), reason: name() }, Exit::Failed),
            (Error::Store(lost), Exit::Unreachable),
        ] {
            let shown = format!("{error:?}");
            let report = Report::of(&anyhow!(error)).expect("an error to report");
            assert_eq!(report.exit, exit, "{shown}");
        }
    }

    #[test]
    fn chain_is_told_once_and_on_one_line() {
        let url = "x:".parse::<store::StoreUrl>().expect_err("a bad URL");
        let error = Err::<(), _>(store::Error::from(url)).context("could not start").unwrap_err();
        let report = Report::of(&error).expect("an error to report").to_string();
        assert_eq!(report.matches("unknown scheme").count(), 1, "{report}");
        assert!(report.starts_with("error: could not start: the store URL is not valid: "));
        assert_eq!(report.lines().count(), 1);
    }

    #[test]
    fn failure_has_its_own_code_and_hint() {
        let error = anyhow!(Failure::new(Exit::NotFound, "no such key").hint("look again"));
        let report = Report::of(&error).expect("an error to report");
        assert_eq!(report.exit, Exit::NotFound);
        assert_eq!(report.to_string(), "error: no such key\nhint: look again");
    }

    #[test]
    fn closed_pipe_is_not_an_error() {
        let error = anyhow!(io::Error::from(io::ErrorKind::BrokenPipe)).context("could not print");
        assert_eq!(Report::of(&error), None);
    }
}
