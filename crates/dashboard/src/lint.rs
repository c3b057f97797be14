//! Checking the store against the declarations from the dashboard: one walk at a time, and its report is kept.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use askama::Template;
use axum::{extract::State, response::Response};
use keyrack_format as format;
use keyrack_lint::{Finding, Options, Report, Severity, WalkRate};
use keyrack_store::Store;
use keyrack_web::Problem;
use parking_lot::Mutex;

use super::{
    Frame, Visit, assets,
    frame::go_and_tell,
    link,
    live::{View, live_page, show},
};
use crate::Site;

/// Findings that are kept; all are counted.
const FINDINGS_MAX: usize = 500;
/// Keys a second, so that a walk from the dashboard leaves room for others.
const KEYS_PER_SECOND: u32 = 50_000;

/// The last check, and the one under way.
#[derive(Debug, Default)]
pub(crate) struct LintRun {
    walking: AtomicBool,
    keys: AtomicU64,
    keys_total: AtomicU64,
    last: Mutex<Option<Arc<LastReport>>>,
}

#[derive(Debug)]
struct LastReport {
    at: u64,
    outcome: Result<Report, String>,
}

impl LintRun {
    /// How many problems the last one has found.
    pub(super) fn problems(&self) -> u64 {
        let last = self.last.lock().clone();
        last.and_then(|last| last.outcome.as_ref().ok().map(Report::problems)).unwrap_or(0)
    }

    async fn walk(&self, store: &Store) {
        let options = Options {
            findings_max: FINDINGS_MAX,
            pace: WalkRate { keys_per_second: KEYS_PER_SECOND.try_into().ok() },
            ..Options::default()
        };
        let registry = keyrack_contract::registry();
        let report = keyrack_lint::lint(store, registry, &options, |progress| {
            self.keys.store(progress.keys, Ordering::Relaxed);
            self.keys_total.store(progress.keys_total, Ordering::Relaxed);
        });
        let outcome = report.await.map_err(|error| error.to_string());
        *self.last.lock() = Some(Arc::new(LastReport { at: store.now_ms(), outcome }));
    }
}

#[derive(Template)]
#[template(path = "lint.html", blocks = ["live"])]
pub(super) struct LintPage {
    frame: Frame,
    /// How far the walk under way is: keys met, and how many there are.
    walking: Option<(u64, u64)>,
    trouble: String,
    /// When the last one ended, and what it said; empty when there was none.
    when: String,
    verdict: String,
    is_clean: bool,
    rules: Vec<(String, String, bool)>,
    findings: Vec<Row>,
    left_out: u64,
}
live_page!(LintPage);

/// A finding as one line.
struct Row {
    code: &'static str,
    key: String,
    link: String,
    family: String,
    detail: String,
    is_problem: bool,
}

impl Row {
    /// Those who are no admins learn that something is wrong with a secret key, and not with which.
    fn of(finding: &Finding, sees_secrets: bool) -> Row {
        let family = finding.family.clone().unwrap_or_default();
        let declared = keyrack_contract::registry().get(&family);
        let is_hidden = !sees_secrets && declared.is_some_and(|family| family.secret);
        let db = finding.db.to_string();
        Row {
            code: finding.rule.code(),
            link: match is_hidden {
                true => format!("/keys/{family}"),
                false => link::with_query("/key", &[("name", &finding.key), ("db", &db)]),
            },
            key: if is_hidden { "hidden".to_owned() } else { finding.key.clone() },
            detail: match is_hidden {
                true => "admins see what".to_owned(),
                false => finding.detail.clone(),
            },
            family,
            is_problem: finding.severity() == Severity::Problem,
        }
    }
}

struct LintView;

impl View for LintView {
    type Page = LintPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<LintPage, Problem> {
        let check = &site.lint;
        let numbers = || {
            let keys = check.keys.load(Ordering::Relaxed);
            (keys, check.keys_total.load(Ordering::Relaxed).max(keys).max(1))
        };
        let walking = check.walking.load(Ordering::Relaxed).then(numbers);
        let last = check.last.lock().clone();
        Ok(page(frame, walking, last.as_deref(), site.services.store.now_ms()))
    }
}

fn page(
    frame: Frame,
    walking: Option<(u64, u64)>,
    last: Option<&LastReport>,
    now: u64,
) -> LintPage {
    let mut page = LintPage {
        frame,
        walking,
        trouble: String::new(),
        when: last.map(|last| format::relative(last.at, now)).unwrap_or_default(),
        verdict: String::new(),
        is_clean: true,
        rules: Vec::new(),
        findings: Vec::new(),
        left_out: 0,
    };
    match last.map(|last| &last.outcome) {
        None => {}
        Some(Err(trouble)) => page.trouble = trouble.clone(),
        Some(Ok(report)) => page.tell(report),
    }
    page
}

impl LintPage {
    fn tell(&mut self, report: &Report) {
        self.is_clean = report.is_clean();
        let keys = format::counted(report.keys, "key");
        self.verdict = match report.problems() {
            0 => format!("{keys}, no problem found"),
            n => format!("{keys}, {} found", format::counted(n, "problem")),
        };
        self.rules = (report.counts.iter())
            .map(|(rule, n)| {
                let is_problem = rule.severity() == Severity::Problem;
                (format!("{} {}", rule.code(), rule.title()), format::count(*n), is_problem)
            })
            .collect();
        let sees_secrets = self.frame.caller.is_admin();
        self.findings =
            report.findings.iter().map(|finding| Row::of(finding, sees_secrets)).collect();
        self.left_out = report.left_out();
    }
}

/// `GET /lint`
pub(crate) async fn lint(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, LintView).await
}

/// `POST /lint`
pub(crate) async fn start(State(site): State<Arc<Site>>) -> Response {
    if site.lint.walking.swap(true, Ordering::AcqRel) {
        return go_and_tell("/lint", false, "A check is under way already.");
    }
    site.lint.keys.store(0, Ordering::Relaxed);
    tokio::spawn(async move {
        let _walking = Walking(&site.lint.walking);
        tokio::select! {
            () = site.lint.walk(&site.services.store) => {}
            () = site.app.stopped() => {}
        }
    });
    go_and_tell("/lint", true, "The check has begun.")
}

/// Also when the walk ends in a panic, or there would never be another one.
struct Walking<'a>(&'a AtomicBool);

impl Drop for Walking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
