//! The alerts as rows of the first page. Their rules are in `keyrack_services::alerts`.

use keyrack_services::alerts::{Alert, AlertFacts, AlertPage, alerts};

use super::link;

/// The most alerts on the page.
const ALERTS_MAX: usize = 12;

/// An alert with the address of its page.
#[derive(Debug)]
pub(super) struct AlertRow {
    pub(super) alert: Alert,
    pub(super) link: String,
}

impl AlertRow {
    /// The worst alerts.
    pub(super) fn all(facts: &AlertFacts) -> Vec<AlertRow> {
        let alerts = alerts(facts).into_iter().take(ALERTS_MAX);
        alerts.map(|alert| AlertRow { link: address(&alert.page), alert }).collect()
    }
}

fn address(page: &AlertPage) -> String {
    let jobs =
        |queue: &str, place| link::with_query("/find", &[("queue", queue), ("place", place)]);
    match page {
        AlertPage::Readiness => "/readyz".into(),
        AlertPage::Queue(queue) => link::queue(queue),
        AlertPage::FailedJobs(queue) => jobs(queue, "failed"),
        AlertPage::QueuedJobs(queue) => jobs(queue, "queued"),
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
    fn page_has_an_end() {
        let poison_jobs = (0..30).map(|n| (format!("j{n}"), 1)).collect();
        let rows = AlertRow::all(&AlertFacts { poison_jobs, ..AlertFacts::default() });
        assert_eq!(rows.len(), ALERTS_MAX);
        assert_eq!(rows[0].link, "/jobs/j0");
    }

    #[test]
    fn names_are_coded_in_addresses() {
        assert_eq!(address(&AlertPage::FailedJobs("a&b".into())), "/find?queue=a%26b&place=failed");
        assert_eq!(address(&AlertPage::Account("7".into())), "/calculations?account=7");
    }
}
