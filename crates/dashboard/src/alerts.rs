//! The alerts as rows of the first page. Their rules are in `keyrack_services::alerts`.

use keyrack_format as format;
use keyrack_services::alerts::{Alert, AlertAction, AlertFacts, AlertKind, AlertPage, alerts};

use super::link;

/// The most alerts on the page, and those that are named of one that stands for several.
const ALERTS_MAX: usize = 12;
const MEMBERS_MAX: usize = 8;

/// An alert with the address of its page and what can be done about it.
#[derive(Debug)]
pub(super) struct AlertRow {
    pub(super) alert: Alert,
    pub(super) link: String,
    pub(super) action: Option<Action>,
    /// Those it stands for, the worst first.
    pub(super) members: Vec<AlertRow>,
    /// How many more there are.
    pub(super) more: usize,
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
    pub(super) fn all(facts: &AlertFacts) -> (Vec<AlertRow>, usize) {
        let alerts = alerts(facts);
        let more = alerts.len().saturating_sub(ALERTS_MAX);
        (alerts.into_iter().take(ALERTS_MAX).map(AlertRow::of).collect(), more)
    }

    fn of(mut alert: Alert) -> AlertRow {
        let members = std::mem::take(&mut alert.members);
        let more = members.len().saturating_sub(MEMBERS_MAX);
        AlertRow {
            link: address(&alert.page),
            action: alert.action.as_ref().map(|action| Action::of(action, &alert)),
            members: members.into_iter().take(MEMBERS_MAX).map(AlertRow::of).collect(),
            more,
            alert,
        }
    }
}

impl Action {
    fn of(action: &AlertAction, alert: &Alert) -> Action {
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
        }
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
        let (rows, more) = AlertRow::all(&AlertFacts { poison_jobs, ..AlertFacts::default() });
        let [row] = &rows[..] else { panic!("one row: {rows:?}") };
        assert_eq!((row.alert.subject.as_str(), more), ("30 jobs", 0));
        assert_eq!((row.members.len(), row.more), (MEMBERS_MAX, 30 - MEMBERS_MAX));
        assert_eq!(row.members[0].link, "/jobs/j0");
    }

    #[test]
    fn page_has_an_end() {
        let recent_rules = (0..30).map(|n| (n.to_string(), 1)).collect();
        let (rows, more) = AlertRow::all(&AlertFacts { recent_rules, ..AlertFacts::default() });
        assert_eq!((rows.len(), more), (ALERTS_MAX, 30 - ALERTS_MAX));
    }

    #[test]
    fn names_are_coded_in_addresses() {
        assert_eq!(address(&AlertPage::Errors("a&b".into())), "/errors?queue=a%26b");
        assert_eq!(address(&AlertPage::Account("7".into())), "/calculations?account=7");
    }
}
