//! Looking for jobs by queue, place, tag, id and text. The filter is the page's address.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use keyrack_format as format;
use keyrack_jobs::bee::{
    Filter, Hive, Job, JobState, Status,
    keys::{Jid, QueueName, Tag},
};
use keyrack_services::Cache;
use keyrack_web::Problem;
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    Frame, Visit, assets, errors::first_line, form, frame::go, link, live::still, queue::queue_name,
};
use crate::Site;

/// Jobs on a page.
const PAGE: usize = 50;
/// How long one page may look; what it has found by then is shown, with a way to go on.
const PATIENCE: Duration = Duration::from_millis(600);
/// Jobs that are looked at for one page.
const LOOKED_AT_MAX: usize = 100_000;
/// Places that are asked about at once, so that what a page holds in memory does not grow with the number of queues.
const SPOTS_AT_ONCE: usize = 300;
/// Queues to choose from; the address takes others too.
const CHOICES_MAX: usize = 500;
/// How long all who look for the same share what was found.
const SHARED_FOR: Duration = Duration::from_secs(1);
/// How many searches there may be at once; others wait.
const SEARCHES_MAX: usize = 4;
/// Letters of a job's data in the table.
const EXCERPT: usize = 90;
/// Letters of the reason why a job failed.
const REASON: usize = 160;

/// Where jobs are looked for unless said: failed ones are among those that have ended.
const PLACES: [JobState; 6] = [
    JobState::Running,
    JobState::Queued,
    JobState::Delayed,
    JobState::Waiting,
    JobState::Parked,
    JobState::Ended,
];

/// The filter, as it stands in the address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(super) struct FindQuery {
    queue: String,
    place: String,
    tag: String,
    text: String,
    /// A group of failures.
    error: String,
    cursor: String,
}

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage {
    frame: Frame,
    wanted: FindQuery,
    found: Found,
    next: Option<String>,
    retry: Option<String>,
    cancel: Option<String>,
    change: Option<String>,
    /// Where the list is had as a file.
    exports: [(&'static str, String); 2],
    without_error: String,
    problem: String,
}

/// What pages have looked for a moment ago.
#[derive(Debug)]
pub(super) struct Searches {
    found: Cache<FindQuery, Found>,
    running: Semaphore,
}

impl Default for Searches {
    fn default() -> Searches {
        Searches { found: Cache::new(SHARED_FOR), running: Semaphore::new(SEARCHES_MAX) }
    }
}

/// A job as one line.
#[derive(Debug)]
struct Row {
    jid: String,
    link: String,
    queue: String,
    queue_link: String,
    status: &'static str,
    age: String,
    /// In unix milliseconds: what was found is shared by people in several zones.
    submitted: u64,
    attempts: u64,
    tags: String,
    excerpt: String,
    /// Why it failed, and the page of all failures of that cause.
    reason: Option<(String, String)>,
}

/// What a page shows. Rows and not jobs: their data may be large, and is kept for a while.
#[derive(Debug, Clone, Default)]
struct Found {
    rows: Arc<[Row]>,
    /// Queues to choose from.
    queues: Arc<[String]>,
    /// How many more there are.
    more_queues: usize,
    /// Where to go on.
    next: Option<String>,
}

impl Found {
    /// Whether a queue that somebody looks in is none of the choices.
    fn lacks(&self, queue: &str) -> bool {
        !queue.is_empty() && !self.queues.iter().any(|choice| choice == queue)
    }
}

/// What a search has come across.
#[derive(Default)]
struct Matches {
    jobs: Vec<Job>,
    /// Where to go on.
    next: Option<String>,
}

/// `GET /find`
pub(crate) async fn find(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let wanted: FindQuery = match visit.query() {
        Ok(wanted) => wanted,
        Err(problem) => return problem.for_reader(&visit.headers),
    };
    let hive = match site.services.jobs().await {
        Ok(jobs) => &jobs.hive,
        Err(error) => return Problem::from(error).for_reader(&visit.headers),
    };
    if let Some(link) = job_of_that_id(hive, wanted.text.trim()).await {
        return go(&link);
    }
    let searches = &site.searches;
    let look = async {
        let _turn = searches.running.acquire().await;
        wanted.look(hive).await
    };
    let (found, problem) = match searches.found.get(wanted.clone(), look).await {
        Ok(found) => (found, String::new()),
        Err(problem) => (Found::default(), problem.message().to_owned()),
    };
    let status = if problem.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let page = FindPage {
        next: found.next.as_ref().map(|cursor| wanted.link("/find", &[("cursor", cursor)])),
        found,
        retry: wanted.bulk_link("retry"),
        cancel: wanted.bulk_link("cancel"),
        change: wanted.bulk_link("change"),
        without_error: FindQuery { error: String::new(), ..wanted.clone() }.link("/find", &[]),
        exports: [
            ("CSV", wanted.link("/export/jobs/csv", &[])),
            ("NDJSON", wanted.link("/export/jobs/ndjson", &[])),
        ],
        frame: visit.frame,
        wanted,
        problem,
    };
    still(&page, &page.frame, status)
}

/// Whoever types an id wants that job.
async fn job_of_that_id(hive: &Hive, text: &str) -> Option<String> {
    let jid = Jid::new(text).ok()?;
    hive.job(&jid).await.ok().map(|job| link::job(job.jid()))
}

impl FindQuery {
    fn link(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut pairs = vec![
            ("queue", self.queue.as_str()),
            ("place", &self.place),
            ("tag", &self.tag),
            ("text", &self.text),
            ("error", &self.error),
        ];
        pairs.extend_from_slice(more);
        link::with_query(path, &pairs)
    }

    /// Where all that match can be changed at once, if that can be done to them.
    fn bulk_link(&self, what: &str) -> Option<String> {
        let place = self.place().ok()??;
        let is_possible = match what {
            "retry" => place == JobState::Failed,
            "change" => {
                matches!(
                    place,
                    JobState::Waiting | JobState::Delayed | JobState::Parked | JobState::Queued
                )
            }
            _ => place != JobState::Ended,
        };
        (is_possible && !self.queue.is_empty()).then(|| self.link("/bulk", &[("what", what)]))
    }

    fn place(&self) -> Result<Option<JobState>, Problem> {
        match self.place.as_str() {
            "" => Ok(None),
            word => word.parse().map(Some).map_err(|reason: String| form::wrong("place", &reason)),
        }
    }

    fn queue(&self) -> Result<Option<QueueName>, Problem> {
        match self.queue.as_str() {
            "" => Ok(None),
            name => queue_name(name).map(Some),
        }
    }

    async fn look(&self, hive: &Hive) -> Result<Found, Problem> {
        // The clock starts before the first read: with many queues their names alone take a while.
        let started = Instant::now();
        let queues = hive.queues().await.unwrap_or_default();
        let matches = self.search(hive, &queues, started).await?;
        let now = hive.now_ms();
        let choices = queues.iter().take(CHOICES_MAX).map(ToString::to_string);
        Ok(Found {
            rows: matches.jobs.iter().map(|job| Row::of(job, now)).collect(),
            queues: choices.collect(),
            more_queues: queues.len().saturating_sub(CHOICES_MAX),
            next: matches.next,
        })
    }

    /// Some jobs in these queues, from the cursor on if there is one; the cursor becomes where to go on. Waits for its turn
    /// as pages do.
    pub(super) async fn take_page(
        &mut self,
        site: &Site,
        queues: &[QueueName],
    ) -> Result<Vec<Job>, Problem> {
        let hive = &site.services.jobs().await?.hive;
        let _turn = site.searches.running.acquire().await;
        let matches = self.search(hive, queues, Instant::now()).await?;
        self.cursor = matches.next.unwrap_or_default();
        Ok(matches.jobs)
    }

    /// Whether there is more after the page that was taken.
    pub(super) fn goes_on(&self) -> bool {
        !self.cursor.is_empty()
    }

    async fn search(
        &self,
        hive: &Hive,
        queues: &[QueueName],
        started: Instant,
    ) -> Result<Matches, Problem> {
        let (queue, place) = (self.queue()?, self.place()?);
        if !self.tag.is_empty() {
            return self.by_tag(hive, queue, place, started).await;
        }
        let queues = queue.as_ref().map_or(queues, std::slice::from_ref);
        let places = place.map_or_else(|| PLACES.to_vec(), |place| vec![place]);
        let spots = queues.iter().flat_map(|queue| places.iter().map(move |place| (queue, *place)));
        self.by_place(hive, &spots.collect::<Vec<_>>(), started).await
    }

    /// Goes through the jobs that carry the tag.
    async fn by_tag(
        &self,
        hive: &Hive,
        queue: Option<QueueName>,
        place: Option<JobState>,
        started: Instant,
    ) -> Result<Matches, Problem> {
        let tag = Tag::new(self.tag.as_str()).map_err(keyrack_jobs::Error::from)?;
        // Any queue without a slash stands for the group of all of those.
        let group = queue.clone().map_or_else(|| queue_name("any"), Ok)?.group();
        let mut cursor: u64 = form::number("cursor", &self.cursor)?.unwrap_or(0);
        let mut found = Matches::default();
        loop {
            let (next, ids) = hive.tagged(&group, &tag, cursor, 2 * PAGE).await?;
            let ids: Vec<Jid> = ids.into_iter().filter_map(|id| Jid::new(id).ok()).collect();
            let jobs = hive.jobs(&ids).await?.into_iter().flatten();
            found.jobs.extend(jobs.filter(|job| {
                queue.as_ref().is_none_or(|queue| job.queue() == queue.as_str())
                    && place.is_none_or(|place| is_at(job.status(), place))
                    && (self.text.is_empty() || job.data().contains(&self.text))
                    && (self.error.is_empty() || job.error_group() == Some(&self.error))
            }));
            cursor = next;
            if cursor == 0 || found.jobs.len() >= PAGE || started.elapsed() > PATIENCE {
                break;
            }
        }
        found.jobs.sort_by_key(|job| std::cmp::Reverse(job.submitted()));
        found.next = (cursor != 0).then(|| cursor.to_string());
        Ok(found)
    }

    /// Goes through places of queues, one after the other.
    async fn by_place(
        &self,
        hive: &Hive,
        spots: &[(&QueueName, JobState)],
        started: Instant,
    ) -> Result<Matches, Problem> {
        let mut from = JobPlace::read(&self.cursor);
        let first = from.as_ref().and_then(|from| spots.iter().position(|spot| from.is(spot)));
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (text, error) = (given(&self.text), given(&self.error));
        let (mut found, mut looked_at) = (Matches::default(), 0);
        let mut rest = &spots[first.unwrap_or(0)..];
        while let Some((chunk, later)) = rest.split_at_checked(rest.len().min(SPOTS_AT_ONCE))
            && !chunk.is_empty()
        {
            let occupied = hive.occupied(chunk).await?;
            // A place that has emptied since is not gone on with.
            let is_still_there =
                |from: &JobPlace| occupied.first().is_some_and(|spot| from.is(spot));
            let mut at =
                from.take().filter(is_still_there).map(|from| from.at).filter(|at| !at.is_empty());
            let next_chunk = later.first();
            for (spot, (queue, place)) in occupied.iter().enumerate() {
                let filter =
                    Filter { text: text.clone(), error: error.clone(), ..Filter::at(*place) };
                loop {
                    let room = PAGE - found.jobs.len();
                    let page = hive.list(queue, &filter, at.as_deref(), room).await?;
                    found.jobs.extend(page.jobs);
                    looked_at += page.looked_at;
                    at = page.next;
                    let is_full = found.jobs.len() >= PAGE;
                    if is_full || looked_at >= LOOKED_AT_MAX || started.elapsed() > PATIENCE {
                        found.next = match at {
                            Some(at) => Some(JobPlace::write(queue, *place, &at)),
                            None => occupied
                                .get(spot + 1)
                                .or(next_chunk)
                                .map(|next| JobPlace::write(next.0, next.1, "")),
                        };
                        return Ok(found);
                    }
                    if at.is_none() {
                        break;
                    }
                }
            }
            if let Some(next) = next_chunk.filter(|_| started.elapsed() > PATIENCE) {
                found.next = Some(JobPlace::write(next.0, next.1, ""));
                return Ok(found);
            }
            rest = later;
        }
        Ok(found)
    }
}

/// A place to go on from.
#[derive(Debug, Serialize, Deserialize)]
struct JobPlace {
    queue: String,
    place: JobState,
    at: String,
}

impl JobPlace {
    fn read(text: &str) -> Option<JobPlace> {
        serde_json::from_str(text).ok()
    }

    fn write(queue: &QueueName, place: JobState, at: &str) -> String {
        let spot = JobPlace { queue: queue.to_string(), place, at: at.to_owned() };
        serde_json::to_string(&spot).unwrap_or_default()
    }

    fn is(&self, (queue, place): &(&QueueName, JobState)) -> bool {
        self.queue == queue.as_str() && self.place == *place
    }
}

/// Whether a job of that status may be in that place.
fn is_at(status: Status, place: JobState) -> bool {
    match place {
        JobState::Waiting | JobState::Delayed | JobState::Parked => {
            matches!(status, Status::New | Status::Retried)
        }
        JobState::Queued => status == Status::Queued,
        JobState::Running => status == Status::Running,
        JobState::Failed => status == Status::Failed,
        JobState::Ended => status.is_final(),
    }
}

impl Row {
    fn of(job: &Job, now: u64) -> Row {
        let data = job.data();
        let mut excerpt: String = data.chars().take(EXCERPT).collect();
        if excerpt.len() < data.len() {
            excerpt.push('…');
        }
        Row {
            jid: job.jid().to_owned(),
            link: link::job(job.jid()),
            queue: job.queue().to_owned(),
            queue_link: link::queue(job.queue()),
            status: job.status().as_str(),
            age: format::age(now.saturating_sub(job.submitted())),
            submitted: job.submitted(),
            attempts: job.attempts(),
            tags: job.tags().join(", "),
            excerpt,
            reason: job.failed_reason().map(|reason| {
                let link = job.error_group().map(|id| link::error_group(job.queue(), id));
                (first_line(reason, REASON), link.unwrap_or_default())
            }),
        }
    }
}
