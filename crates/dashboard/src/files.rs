//! The page of files that wait to be deleted: those that could not be first, then all by the time they are due.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use askama::Template;
use axum::{body::Bytes, extract::State, http::StatusCode, response::Response};
use keyrack_files::{Entry, Files, Sweep, Swept};
use keyrack_format as format;
use keyrack_web::Problem;
use parking_lot::Mutex;
use serde::Deserialize;

use super::{
    Frame, Visit, assets, form,
    frame::go_and_tell,
    link,
    live::{View, live_page, show},
    plot::ms,
};
use crate::Site;

/// Entries on one page.
const PAGE: usize = 50;
/// How many of those that fail are shown.
const FAILING_MAX: usize = 50;

/// The sweep that was started from the dashboard.
#[derive(Debug, Default)]
pub(crate) struct Sweeping {
    is_under_way: AtomicBool,
    last: Mutex<Option<(u64, Result<Swept, String>)>>,
}

#[derive(Template)]
#[template(path = "files.html", blocks = ["live"])]
pub(super) struct FilesPage {
    frame: Frame,
    count: String,
    due: String,
    failing_count: String,
    is_failing: bool,
    /// Whether only those that are due are listed: what a sweep would delete.
    is_dry_run: bool,
    /// Whether this server knows where the files are.
    can_sweep: bool,
    is_sweeping: bool,
    last_sweep: String,
    failing: Vec<Row>,
    rows: Vec<Row>,
    next: Option<String>,
}
live_page!(FilesPage);

/// A file, or what stands where a file should.
struct Row {
    bucket: String,
    key: String,
    /// Why it is none.
    trouble: String,
    hint: String,
    why: &'static str,
    at: String,
    is_due: bool,
    /// How often it failed; empty if never.
    failures: String,
    failed: String,
    reason: String,
    /// The member, for the form that takes it out.
    member: String,
}

/// What is wanted, as it stands in the address.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct FilesQuery {
    /// How many to leave out; more than this nobody pages through.
    from: u32,
    due: bool,
}

impl View for FilesQuery {
    type Page = FilesPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<FilesPage, Problem> {
        let files = Files::new(site.services.store.clone());
        let entries = async {
            if self.due {
                files.due(PAGE).await
            } else {
                files.list(self.from as usize, PAGE).await
            }
        };
        let ((count, due), (failing_count, failing), entries) =
            tokio::try_join!(files.count(), files.failing(FAILING_MAX), entries)?;
        let now = site.services.store.now_ms();
        let sweeping = &site.sweeping;
        let (shown, all) = (self.from as usize + entries.len(), if self.due { due } else { count });
        let is_more = !self.due && (shown as u64) < all;
        Ok(FilesPage {
            frame,
            count: format::count(count),
            due: format::count(due),
            failing_count: format::count(failing_count),
            is_failing: failing_count > 0,
            is_dry_run: self.due,
            can_sweep: site.services.buckets.is_some(),
            is_sweeping: sweeping.is_under_way.load(Ordering::Relaxed),
            last_sweep: last_sweep(sweeping, now),
            failing: failing.iter().map(|entry| Row::of(entry, now)).collect(),
            rows: entries.iter().map(|entry| Row::of(entry, now)).collect(),
            next: is_more.then(|| link::with_query("/files", &[("from", &shown.to_string())])),
        })
    }
}

/// `GET /files`
pub(crate) async fn files(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    match visit.query::<FilesQuery>() {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /files/sweep`
pub(crate) async fn sweep(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    if site.services.buckets.is_none() {
        return Problem::new(StatusCode::NOT_IMPLEMENTED, "not_set_up")
            .title("this server does not know where the files are")
            .detail("start it with the setting \"files\"")
            .for_reader(&visit.headers);
    }
    if site.sweeping.is_under_way.swap(true, Ordering::AcqRel) {
        return go_and_tell("/files", false, "A sweep is under way already.");
    }
    tokio::spawn(async move {
        let _under_way = UnderWay(&site.sweeping.is_under_way);
        // It may be dropped at any moment: whoever sweeps next goes on with it.
        tokio::select! {
            () = run(&site) => {}
            () = site.app.stopped() => {}
        }
    });
    go_and_tell("/files", true, "The sweep has begun.")
}

async fn run(site: &Site) {
    let Some(buckets) = &site.services.buckets else { return };
    let files = Files::new(site.services.store.clone());
    let swept = Sweep::new(&files, buckets).run().await.map_err(|error| error.to_string());
    *site.sweeping.last.lock() = Some((site.services.store.now_ms(), swept));
}

/// What is to be taken out.
#[derive(Debug, Deserialize)]
struct Keep {
    member: String,
}

/// `POST /files/keep`
pub(crate) async fn keep(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let kept = async {
        let keep: Keep = form::read(&body)?;
        Ok::<_, Problem>(
            Files::new(site.services.store.clone()).keep(keep.member.as_bytes()).await?,
        )
    };
    match kept.await {
        Ok(true) => go_and_tell("/files", true, "Taken out: the file is kept."),
        Ok(false) => go_and_tell("/files", false, "It was not there any more."),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// Also when the sweep ends in a panic, or there would never be another one.
struct UnderWay<'a>(&'a AtomicBool);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn last_sweep(sweeping: &Sweeping, now: u64) -> String {
    let last = sweeping.last.lock();
    match &*last {
        None => String::new(),
        Some((at, Err(trouble))) => format!("{}: {trouble}", format::relative(*at, now)),
        Some((at, Ok(swept))) => format!(
            "{}: {} deleted, {} gone already, {} failed",
            format::relative(*at, now),
            format::counted(swept.deleted, "file"),
            format::count(swept.missing),
            format::count(swept.failed)
        ),
    }
}

impl Row {
    fn of(entry: &Entry, now: u64) -> Row {
        let due = ms(entry.at);
        let failure = entry.failure.as_ref();
        let (bucket, key, trouble, hint, why) = match &entry.file {
            Ok(file) => {
                let why = if file.expected { "deletion asked for" } else { "upload not on record" };
                let hint = file.hint.clone().unwrap_or_default();
                (file.bucket.clone(), file.key.clone(), String::new(), hint, why)
            }
            Err(trouble) => {
                let member = String::from_utf8_lossy(&entry.member).into_owned();
                (String::new(), member, trouble.clone(), String::new(), "no file")
            }
        };
        Row {
            bucket,
            key,
            trouble,
            hint,
            why,
            at: format::relative(due, now),
            is_due: due <= now,
            failures: failure
                .map(|failure| format::counted(failure.failures.into(), "time"))
                .unwrap_or_default(),
            failed: failure.map(|it| format::relative(ms(it.failed_at), now)).unwrap_or_default(),
            reason: failure.map(|failure| failure.reason.clone()).unwrap_or_default(),
            member: String::from_utf8(entry.member.clone()).unwrap_or_default(),
        }
    }
}
