//! What is to be different about jobs that wait: the form for one job, and its fields for many.

use std::{borrow::Cow, sync::Arc};

use askama::Template;
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::StatusCode,
    response::Response,
};
use keyrack_jobs::bee::{Change, Job, Status};
use keyrack_web::{Problem, access::Failure};
use serde::Deserialize;

use super::{
    Frame, Visit, assets,
    field::{BACKOFFS, Field},
    form,
    frame::go_and_tell,
    job::{TEXT_BYTES_MAX, job_id, pretty},
    link,
    live::still,
};
use crate::Site;

/// Typed where a job is to have no time of its own.
const NONE: &str = "none";

/// A change as it is typed. Empty fields leave things as they are.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChangeForm {
    /// "1" when the jobs are to run now.
    run_now: String,
    priority: String,
    delay_s: String,
    data: String,
    /// The arguments that the form began with: they are changed only by whoever has edited them.
    data_before: String,
    move_to: String,
    retries: String,
    backoff: String,
    retry_delay_s: String,
    retry_delay_max_s: String,
    retry_jitter: String,
    timeout_s: String,
    start_within_s: String,
    ttl_s: String,
    failed_ttl_s: String,
}

/// A time that may be taken away.
fn time(name: &'static str, text: &str) -> Result<Option<Option<u64>>, Problem> {
    match text.trim() {
        NONE => Ok(Some(None)),
        text => Ok(form::seconds_as_ms(name, text)?.map(Some)),
    }
}

/// Browsers send lines that end as those of letters do.
fn lines(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}

impl ChangeForm {
    /// What is asked for.
    pub(super) fn change(&self) -> Result<Change, Problem> {
        let ms = |name, text: &str| Ok::<_, Problem>(form::number::<f64>(name, text)?.map(to_ms));
        let move_to = self.move_to.trim();
        let change = Change {
            run_now: self.run_now == "1",
            priority: form::number("priority", &self.priority)?,
            delay: ms("delay", &self.delay_s)?,
            queue: (!move_to.is_empty()).then(|| move_to.to_owned()),
            retries: form::number("retries", &self.retries)?,
            backoff: form::word("backoff", &self.backoff)?,
            retry_delay: ms("wait before a retry", &self.retry_delay_s)?,
            retry_delay_max: ms("longest wait", &self.retry_delay_max_s)?,
            retry_jitter: form::number("random share", &self.retry_jitter)?,
            timeout: time("time limit", &self.timeout_s)?,
            start_within: time("start within", &self.start_within_s)?,
            ttl: form::seconds_as_ms("result kept for", &self.ttl_s)?,
            failed_ttl: time("kept if it fails", &self.failed_ttl_s)?,
            ..Change::default()
        };
        let (data, before) = (lines(&self.data), lines(&self.data_before));
        let change = match data.trim().is_empty() || data == before {
            true => change,
            false => change.with_args_json(&data)?,
        };
        if change.is_empty() {
            return Err(form::wrong("priority", "nothing is given that is to be different"));
        }
        change.check()?;
        Ok(change)
    }

    /// The fields, with what holds now where that is known.
    pub(super) fn fields(&self, job: Option<&Job>) -> Vec<Field> {
        let options = job.map(Job::options);
        let now = |text: Option<String>| {
            text.map_or_else(|| "as it is".to_owned(), |text| format!("now {text}"))
        };
        let ms = |time: Option<u64>| now(time.map(|ms| form::in_seconds(ms as f64)));
        let own = options.as_ref().and_then(|options| options.own_backoff());
        let wait = |ms: Option<f64>| now(ms.map(form::in_seconds));
        vec![
            Field::lines("data", "Arguments, a JSON list", &self.data)
                .or("as they are")
                .hint("What the worker gets. Left empty, they stay as they are."),
            Field::number("priority", "Priority", &self.priority, "")
                .at_most("10")
                .or(now(options.as_ref().map(|options| options.priority.to_string())))
                .hint("10 runs next, 0 in order of submission, negative later."),
            Field::number("delay_s", "Delay in seconds", &self.delay_s, "0.0")
                .or("no other")
                .hint("The job waits for this time from now."),
            Field::text("move_to", "Move to queue", &self.move_to)
                .or(now(job.map(|job| job.queue().to_owned())))
                .hint("Another queue of the same group, which has to exist."),
            Field::number("retries", "Retries", &self.retries, "0")
                .or(now(options.as_ref().map(|options| options.retries.to_string())))
                .hint("How often the job is tried again after a failure."),
            Field::choice("backoff", "Backoff", &self.backoff, BACKOFFS)
                .hint("How the waits before retries grow."),
            Field::number("retry_delay_s", "First wait in seconds", &self.retry_delay_s, "0.0")
                .or(wait(own.map(|own| own.delay_ms)))
                .hint("The wait before the first retry."),
            Field::number(
                "retry_delay_max_s",
                "Longest wait in seconds",
                &self.retry_delay_max_s,
                "0.0",
            )
            .or(wait(own.and_then(|own| own.max_ms)))
            .hint("No wait before a retry is longer than this."),
            Field::number("retry_jitter", "Random share of waits", &self.retry_jitter, "0.0")
                .at_most("1")
                .or(now(own.and_then(|own| own.jitter).map(|share| share.to_string())))
                .hint("From 0 to 1. Jobs that failed together then come back apart."),
            Field::text("timeout_s", "Time limit in seconds", &self.timeout_s)
                .or(ms(options.as_ref().and_then(|options| options.timeout)))
                .hint(
                    "How long an attempt may take; \"none\" for what the queue or the worker says.",
                ),
            Field::text("start_within_s", "Start within seconds", &self.start_within_s)
                .or("as it is")
                .hint("From now; later the job ends as expired. \"none\" for any time."),
            Field::number("ttl_s", "Result kept for seconds", &self.ttl_s, "0.0")
                .or(ms(options.as_ref().map(|options| options.ttl)))
                .hint("How long the job is kept after it has ended."),
            Field::text("failed_ttl_s", "Kept for seconds if it fails", &self.failed_ttl_s)
                .or(ms(options.as_ref().and_then(|options| options.failed_ttl)))
                .hint("\"none\" for what the queue says, 7 days by default."),
        ]
    }
}

fn to_ms(seconds: f64) -> f64 {
    (seconds * 1_000.0).round()
}

#[derive(Template)]
#[template(path = "change.html")]
struct ChangePage {
    frame: Frame,
    jid: String,
    link: String,
    queue: String,
    queue_link: String,
    fields: Vec<Field>,
    data_before: String,
    problem: String,
}

/// `GET /jobs/{jid}/change`
pub(crate) async fn ask(
    State(site): State<Arc<Site>>,
    Path(jid): Path<String>,
    visit: Visit,
) -> Response {
    let asked = async {
        let job = site.services.jobs().await?.hive.job(&job_id(jid.as_str())?).await?;
        let is_short = job.data().len() <= TEXT_BYTES_MAX;
        let data = if is_short { pretty(job.data()) } else { String::new() };
        let form = ChangeForm { data: data.clone(), data_before: data, ..ChangeForm::default() };
        Ok::<_, Problem>((job, form))
    };
    match asked.await {
        Ok((job, _)) if job.status().is_final() || job.status() == Status::Running => {
            let told = format!("It is {}: only a job that waits can be changed.", job.status());
            go_and_tell(&link::job(&jid), false, &told)
        }
        Ok((job, form)) => page(visit.frame, &job, &form, String::new()),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// The form with what was typed before, and what was wrong with it.
fn page(frame: Frame, job: &Job, form: &ChangeForm, problem: String) -> Response {
    let status = match problem.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let page = ChangePage {
        jid: job.jid().to_owned(),
        link: link::job(job.jid()),
        queue: job.queue().to_owned(),
        queue_link: link::queue(job.queue()),
        fields: form.fields(Some(job)),
        data_before: form.data_before.clone(),
        problem: problem.clone(),
        frame,
    };
    let mut response = still(&page, &page.frame, status);
    if !problem.is_empty() {
        response.extensions_mut().insert(Failure(problem));
    }
    response
}

/// `POST /jobs/{jid}/change`
pub(crate) async fn change(
    State(site): State<Arc<Site>>,
    Path(jid): Path<String>,
    visit: Visit,
    body: Bytes,
) -> Response {
    let to = link::job(&jid);
    let form = match form::read::<ChangeForm>(&body) {
        Ok(form) => form,
        Err(problem) => return go_and_tell(&to, false, problem.message()),
    };
    let done: Result<_, Problem> = async {
        let (jid, change) = (job_id(jid.as_str())?, form.change()?);
        Ok(site.services.jobs().await?.hive.change_job(&jid, &change).await?)
    }
    .await;
    match done {
        Ok(true) => go_and_tell(&to, true, "Changed."),
        Ok(false) => go_and_tell(&to, true, "It is so already."),
        Err(problem) => refused(&site, visit.frame, &jid, &form, &problem).await,
    }
}

/// Shows the form again to whoever has filled it in; "Run now" has none.
async fn refused(
    site: &Site,
    frame: Frame,
    jid: &str,
    form: &ChangeForm,
    problem: &Problem,
) -> Response {
    let told = problem.message();
    let job = async { site.services.jobs().await.ok()?.hive.job(&job_id(jid).ok()?).await.ok() };
    match job.await {
        Some(job) if problem.status() == StatusCode::UNPROCESSABLE_ENTITY => {
            page(frame, &job, form, told.to_owned())
        }
        _ => go_and_tell(&link::job(jid), false, told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_as_it_was_is_not_changed() {
        let form = ChangeForm {
            data: "[\r\n  1\r\n]".into(),
            data_before: "[\n  1\n]".into(),
            ..ChangeForm::default()
        };
        let told = form.change().expect_err("nothing is different");
        assert!(told.message().contains("nothing is given"), "{}", told.message());
        let form = ChangeForm { data: "[2]".into(), ..form };
        assert_eq!(form.change().expect("other data").data.expect("data").get(), "[2]");
    }

    #[test]
    fn none_takes_a_time_away_and_seconds_become_milliseconds() {
        let form = ChangeForm {
            timeout_s: "none".into(),
            start_within_s: "1.5".into(),
            retry_delay_s: "2".into(),
            ..ChangeForm::default()
        };
        let change = form.change().expect("a change");
        assert_eq!((change.timeout, change.start_within), (Some(None), Some(Some(1_500))));
        assert_eq!((change.retry_delay, change.failed_ttl), (Some(2_000.0), None));
    }

    #[test]
    fn a_wrong_value_is_named_with_its_field() {
        let cases: [(ChangeForm, &str); 4] = [
            (ChangeForm { timeout_s: "soon".into(), ..Default::default() }, "time limit: \"soon\""),
            (ChangeForm { ttl_s: "-1".into(), ..Default::default() }, "result kept for: \"-1\""),
            (ChangeForm { backoff: "slow".into(), ..Default::default() }, "backoff: \"slow\""),
            (ChangeForm { data: "[1".into(), ..Default::default() }, "data: not JSON"),
        ];
        for (form, expected) in cases {
            let told = form.change().expect_err("wrong");
            assert!(told.message().contains(expected), "{expected}: {}", told.message());
        }
    }
}
