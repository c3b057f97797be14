//! The alerts as rows of the first page, and the form with which one is acknowledged or muted. Their rules are in
//! `keyrack_services::alerts`.

use std::sync::Arc;

use askama::Template;
use axum::{body::Bytes, extract::State, http::StatusCode, response::Response};
use keyrack_format::{self as format, Zone};
use keyrack_identity::{ALERT_REASON_CHARS_MAX, AlertMute, AlertMuteKind};
use keyrack_services::alerts::{
    Alert, AlertAction, AlertFacts, AlertKind, AlertPage, alerts, muted_alerts,
};
use keyrack_web::{
    Problem,
    access::{Failure, Subject},
};
use serde::Deserialize;

use super::{Frame, Visit, assets, form, frame::go_and_tell, link, live::still};
use crate::Site;

/// The most alerts on the page, and those that are named of one that stands for several.
const ALERTS_MAX: usize = 12;
const MEMBERS_MAX: usize = 8;

/// An alert with the address of its page and what can be done about it.
#[derive(Debug)]
pub(super) struct AlertRow {
    pub(super) alert: Alert,
    pub(super) link: String,
    pub(super) action: Option<Action>,
    /// The page on which it is acknowledged or muted.
    pub(super) mute_link: String,
    /// Who has acknowledged or muted it, why, and until when.
    pub(super) mute: Option<MuteRow>,
    /// Those it stands for, the worst first.
    pub(super) members: Vec<AlertRow>,
    /// How many more there are.
    pub(super) more: usize,
}

/// That an alert is acknowledged or muted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MuteRow {
    /// The alert, or the kind of the alerts.
    pub(super) alert: String,
    pub(super) text: String,
}

/// A button beside an alert.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) label: String,
    pub(super) link: String,
    /// Whether it changes something at once, so that it is sent as a form.
    pub(super) is_form: bool,
    /// Whether it is only for those who may change something.
    pub(super) is_change: bool,
}

impl AlertRow {
    /// The worst alerts, and how many there are besides.
    pub(super) fn all(facts: &AlertFacts, zone: &Zone) -> (Vec<AlertRow>, usize) {
        let alerts = alerts(facts);
        let more = alerts.len().saturating_sub(ALERTS_MAX);
        let rows = alerts.into_iter().take(ALERTS_MAX).map(|alert| AlertRow::of(alert, zone));
        (rows.collect(), more)
    }

    /// The worst of those that are muted.
    pub(super) fn muted(facts: &AlertFacts, zone: &Zone) -> Vec<AlertRow> {
        let alerts = muted_alerts(facts).into_iter().take(ALERTS_MAX);
        alerts.map(|alert| AlertRow::of(alert, zone)).collect()
    }

    fn of(mut alert: Alert, zone: &Zone) -> AlertRow {
        let mute_key = alert.mute_key();
        let members = std::mem::take(&mut alert.members);
        let more = members.len().saturating_sub(MEMBERS_MAX);
        AlertRow {
            link: address(&alert.page),
            action: alert
                .action
                .as_ref()
                .map(|action| Action::of(action, &alert, members.len() as u64)),
            mute_link: link::with_query("/alerts/mute", &[("alert", &mute_key)]),
            mute: alert.mute.as_ref().map(|mute| MuteRow::of(mute, zone)),
            members: members
                .into_iter()
                .take(MEMBERS_MAX)
                .map(|member| AlertRow::of(member, zone))
                .collect(),
            more,
            alert,
        }
    }
}

impl MuteRow {
    fn of(mute: &AlertMute, zone: &Zone) -> MuteRow {
        let (kind, until) = (mute.kind.word(), zone.time(mute.until));
        let text = format!("{kind} by {} until {until}: {}", mute.actor, mute.reason);
        MuteRow { alert: mute.alert.clone(), text }
    }
}

impl Action {
    fn of(action: &AlertAction, alert: &Alert, n_members: u64) -> Action {
        let jobs = |what: &str| format!("{what} {}", format::count(alert.jobs));
        match action {
            AlertAction::Resume(queue) => Action {
                label: "Resume".into(),
                link: format!("{}/resume", link::queue(queue)),
                is_form: true,
                is_change: true,
            },
            AlertAction::Retry(queue) => {
                let filter = [("what", "retry"), ("queue", queue.as_str()), ("place", "failed")];
                Action {
                    // Of a queue that fails, some of the jobs that failed lately may be gone.
                    label: match alert.kind {
                        AlertKind::FailedHeld => format!("{}…", jobs("Retry")),
                        _ => "Retry…".into(),
                    },
                    link: link::with_query("/bulk", &filter),
                    is_form: false,
                    is_change: true,
                }
            }
            AlertAction::ShowJobs(queue) => Action {
                label: format!("{} jobs", jobs("Show")),
                link: link::with_query("/find", &[("queue", queue), ("place", "queued")]),
                is_form: false,
                is_change: false,
            },
            AlertAction::ShowQueues(state) => Action {
                label: format!("Show {}", format::count(n_members)),
                link: link::with_query("/jobs", &[("state", state.word())]),
                is_form: false,
                is_change: false,
            },
            AlertAction::ShowCauses => Action {
                label: "Show causes".into(),
                link: "/errors".into(),
                is_form: false,
                is_change: false,
            },
        }
    }
}

/// What is typed to acknowledge or mute an alert.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MuteForm {
    alert: String,
    kind: String,
    reason: String,
    /// For how long, such as `2h`.
    time: String,
}

#[derive(Template)]
#[template(path = "mute.html")]
struct MutePage {
    frame: Frame,
    wanted: MuteForm,
    /// What the alert says now, if there is one.
    text: String,
    reason_max: usize,
    problem: String,
}

/// `GET /alerts/mute`
pub(crate) async fn ask(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<MuteForm>() {
        Ok(wanted) => page(&site, visit.frame, wanted, String::new()).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// The form with what was typed before, and what was wrong with it.
async fn page(site: &Site, frame: Frame, wanted: MuteForm, problem: String) -> Response {
    let status = match problem.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let mut facts = AlertFacts::read(&site.services).await;
    facts.lint_problems = site.lint.problems();
    let known = alerts(&facts).into_iter().find(|alert| alert.mute_key() == wanted.alert);
    let text = known.map(|alert| format!("{} {}", alert.subject, alert.text)).unwrap_or_default();
    let reason_max = ALERT_REASON_CHARS_MAX;
    let page = MutePage { frame, wanted, text, reason_max, problem: problem.clone() };
    let mut response = still(&page, &page.frame, status);
    if !problem.is_empty() {
        response.extensions_mut().insert(Failure(problem));
    }
    response
}

/// `POST /alerts/mute`
pub(crate) async fn mute(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let wanted: MuteForm = match form::read(&body) {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let done: Result<AlertMute, Problem> = async {
        let kind: AlertMuteKind =
            wanted.kind.parse().map_err(|reason: String| form::wrong("kind", &reason))?;
        let time = format::duration::parse_positive(wanted.time.trim());
        let time =
            time.map_err(|reason| form::wrong("time", &format!("\"{}\": {reason}", wanted.time)))?;
        let until = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let until = site.services.store.now_ms().saturating_add(until);
        let (alert, reason) = (wanted.alert.clone(), wanted.reason.clone());
        let actor = visit.frame.caller.name().to_owned();
        Ok(site.services.mute_alert(AlertMute { alert, kind, reason, actor, at: 0, until }).await?)
    }
    .await;
    match done {
        Ok(mute) => {
            let until = visit.frame.zone.time(mute.until);
            let told = match mute.kind {
                AlertMuteKind::Acknowledged => format!("Acknowledged until {until}."),
                AlertMuteKind::Muted => format!("Muted until {until}."),
            };
            let mut response = go_and_tell("/", true, &told);
            let subject = Subject(format!("{}: {}", mute.alert, mute.reason));
            response.extensions_mut().insert(subject);
            response
        }
        Err(problem) => page(&site, visit.frame, wanted, problem.message().to_owned()).await,
    }
}

/// `POST /alerts/unmute`
pub(crate) async fn unmute(State(site): State<Arc<Site>>, body: Bytes) -> Response {
    let done: Result<_, Problem> = async {
        let alert = form::read::<MuteForm>(&body)?.alert;
        Ok((site.services.identity.unmute_alert(&alert).await?, alert))
    }
    .await;
    match done {
        Ok((was_muted, alert)) => {
            let told = match was_muted {
                true => "It is among the alerts again.",
                false => "It was neither acknowledged nor muted.",
            };
            let mut response = go_and_tell("/", was_muted, told);
            response.extensions_mut().insert(Subject(alert));
            response
        }
        Err(problem) => go_and_tell("/", false, problem.message()),
    }
}

fn address(page: &AlertPage) -> String {
    match page {
        AlertPage::Readiness => "/readyz".into(),
        AlertPage::Queue(queue) => link::queue(queue),
        AlertPage::Queues(state) => link::with_query("/jobs", &[("state", state.word())]),
        AlertPage::Errors(queue) => link::with_query("/errors", &[("queue", queue)]),
        AlertPage::AllErrors => "/errors".into(),
        AlertPage::QueuedJobs(queue) => {
            link::with_query("/find", &[("queue", queue), ("place", "queued")])
        }
        AlertPage::Job(jid) => link::job(jid),
        AlertPage::Entitlements => "/entitlements".into(),
        AlertPage::Files => "/files".into(),
        AlertPage::Account(account) => link::with_query("/calculations", &[("account", account)]),
        AlertPage::Keys => "/keys".into(),
        AlertPage::Lint => "/lint".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_alerts_of_one_kind_are_one_row_with_the_first_few() {
        let poison_jobs = (0..30).map(|n| (format!("j{n}"), 1)).collect();
        let (rows, more) =
            AlertRow::all(&AlertFacts { poison_jobs, ..AlertFacts::default() }, &Zone::default());
        let [row] = &rows[..] else { panic!("one row: {rows:?}") };
        assert_eq!((row.alert.subject.as_str(), more), ("30 jobs", 0));
        assert_eq!((row.members.len(), row.more), (MEMBERS_MAX, 30 - MEMBERS_MAX));
        assert_eq!(row.members[0].link, "/jobs/j0");
    }

    #[test]
    fn page_has_an_end() {
        let recent_rules = (0..30).map(|n| (n.to_string(), 1)).collect();
        let (rows, more) =
            AlertRow::all(&AlertFacts { recent_rules, ..AlertFacts::default() }, &Zone::default());
        assert_eq!((rows.len(), more), (ALERTS_MAX, 30 - ALERTS_MAX));
    }

    #[test]
    fn names_are_coded_in_addresses() {
        assert_eq!(address(&AlertPage::Errors("a&b".into())), "/errors?queue=a%26b");
        assert_eq!(address(&AlertPage::Account("7".into())), "/calculations?account=7");
    }
}
