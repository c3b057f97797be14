//! The dashboard in a real browser.

use std::{path::PathBuf, time::Duration};

use keyrack_jobs::bee::{
    Claimed, End, Failure, Outcome,
    keys::{QueueName, WorkerId},
};
use keyrack_testkit::Browser;
use serde_json::json;

use crate::{calculations_pages, recommendations, services, site::Site};

/// The key that confirms.
pub(crate) const ENTER: &str = "\u{e007}";
/// The key that goes on to what can be chosen next.
pub(crate) const TAB: &str = "\u{e004}";

/// Longer than any of these tests holds a job.
const LOCK: Duration = Duration::from_secs(60);

/// Whether the page's script has run and the page was drawn: before that, keys are lost.
const LISTENS: &str = "document.getElementById('help')?.hidden === false \
    && performance.getEntriesByName('first-contentful-paint').length > 0";

/// A site and a browser that looks at it.
pub(crate) struct Visitor {
    pub(crate) site: Site,
    pub(crate) browser: Browser,
}

impl Visitor {
    pub(crate) async fn new() -> Visitor {
        Visitor { site: Site::start().await, browser: Browser::start().await }
    }

    pub(crate) async fn open(&self, path: &str) {
        self.browser.open(&format!("http://{}{path}", self.site.addr)).await;
    }

    pub(crate) async fn shows(&self, text: &str) {
        let quoted = json!(text);
        self.browser.wait_until(&format!("document.body.innerText.includes({quoted})")).await;
    }

    pub(crate) async fn has_status(&self, word: &str) {
        let shown = format!("document.querySelector('h1 .status.{word}') && {LISTENS}");
        self.browser.wait_until(&shown).await;
    }

    pub(crate) async fn is_at(&self, path: &str) {
        self.browser.wait_until(&format!("location.pathname === '{path}' && {LISTENS}")).await;
    }

    /// Makes sure that pages had nothing to complain about and asked nobody else.
    pub(crate) async fn ends_well(self) {
        let mut complaints = self.browser.console().await;
        // The browser notes every form that comes back with what was wrong with it.
        complaints.retain(|told| !told.contains("status of 422"));
        assert!(complaints.is_empty(), "{complaints:#?}");
        self.asked_nobody_else().await;
    }

    /// Makes sure that pages have loaded nothing from elsewhere.
    pub(crate) async fn asked_nobody_else(&self) {
        let own = format!("http://{}/", self.site.addr);
        for url in self.browser.requests().await {
            let is_browsers_own = url.starts_with("data:") || url.starts_with("chrome:");
            assert!(url.starts_with(&own) || is_browsers_own, "{url}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn job_is_submitted_watched_canceled_and_retried() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.open("/jobs").await;
    visitor.shows("No queue yet").await;
    browser.click(".empty .button").await;
    browser.fill("[name=queue]", "emails").await;
    browser.fill("[name=data]", "[\"alice@example.com\"]").await;
    browser.fill("[name=tags]", "welcome").await;
    browser.click("form.fields button.main").await;
    visitor.shows("Submitted.").await;
    visitor.has_status("queued").await;
    visitor.shows("no worker of the queue is alive").await;

    // From here on the page is not loaded again: what changes is shown by itself.
    browser.evaluate("(window.mark = 1)").await;
    let [job] = &visitor.site.claim("emails", "w1", 1).await[..] else { panic!("one job") };
    visitor.has_status("running").await;
    let jid = job["jid"].as_str().expect("an id");
    let outcome = json!({"worker": "w1", "attempt": job["attempt"], "message": "no such mailbox", "retry": false});
    let answer = visitor.site.post(&format!("/api/1/jobs/{jid}/fail"), outcome).await;
    assert!(answer.status < 300, "{answer:?}");
    visitor.has_status("failed").await;
    visitor.shows("no such mailbox").await;
    assert_eq!(browser.evaluate("window.mark").await, 1);

    browser.click("[data-key=r]").await;
    visitor.shows("It runs again from the start.").await;
    visitor.has_status("queued").await;
    browser.click("[data-key=c]").await;
    browser.click("button.danger").await;
    visitor.has_status("canceled").await;
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_life_of_a_job_by_keyboard() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.open("/").await;
    visitor.shows("Nothing needs attention").await;
    visitor.is_at("/").await;
    browser.press("?").await;
    browser.wait_until("document.getElementById('keyboard').open").await;
    browser.press("\u{e00c}").await;
    browser.wait_until("!document.getElementById('keyboard').open").await;
    browser.press("n").await;
    visitor.is_at("/submit").await;
    browser.wait_until("document.activeElement.name === 'queue'").await;
    browser.press("mail").await;
    browser.press(ENTER).await;
    visitor.has_status("queued").await;
    browser.press("c").await;
    // Who presses Enter without looking has not said yes.
    browser.wait_until("document.activeElement.matches('[data-no]')").await;
    browser.press(ENTER).await;
    browser.wait_until("!document.querySelector('details.confirm[open]')").await;
    browser.press("c").await;
    browser.wait_until("document.activeElement.matches('[data-no]')").await;
    browser.press(TAB).await;
    browser.wait_until("document.activeElement.matches('button.danger')").await;
    browser.press(ENTER).await;
    visitor.has_status("canceled").await;
    browser.press("r").await;
    visitor.has_status("queued").await;
    browser.press("gj").await;
    visitor.is_at("/jobs").await;
    browser.press("j").await;
    browser.wait_until("document.activeElement.matches('[data-row]')").await;
    browser.press(ENTER).await;
    visitor.is_at("/queues/mail").await;
    browser.press("gf").await;
    visitor.is_at("/find").await;
    browser.press("/").await;
    browser.wait_until("document.activeElement.name === 'text'").await;
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_failed_jobs_are_retried_with_the_bar_moving() {
    const JOBS: usize = 10_000;
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.fail_many("mail", JOBS).await;
    visitor.open("/find?queue=mail&place=failed").await;
    browser.click(".actions a").await;
    assert_eq!(browser.text("#count").await, "10,000 jobs");
    // So many are confirmed by typing how many there are.
    browser.fill("[name=typed]", "999").await;
    browser.click(".sure button").await;
    visitor.shows("Type the number of jobs").await;
    browser.fill("[name=typed]", "10,000").await;
    browser.click(".sure button").await;
    // The bar is seen somewhere on its way, then at its end, and the page is not loaded again in between.
    browser.find("progress").await;
    browser.evaluate("(window.first = document.querySelector('progress').value)").await;
    browser.wait_until("document.getElementById('over')").await;
    let moved = "window.first < document.querySelector('progress').value";
    assert_eq!(browser.evaluate(moved).await, true);
    visitor.shows("10,000 of 10,000 gone through, 10,000 changed").await;
    let stats = visitor.site.get("/api/1/queues/mail").await.ok();
    assert_eq!((&stats["failed"], &stats["queued"]), (&0.into(), &JOBS.into()));
    // The refusal of the wrong number is the only complaint.
    let complaints = browser.console().await;
    assert!(matches!(&complaints[..], [one] if one.contains("status of 422")), "{complaints:#?}");
    visitor.asked_nobody_else().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_page_stands_still_and_catches_up() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.submit("mail", json!({})).await;
    visitor.open("/jobs").await;
    browser.wait_until("document.getElementById('pause').dataset.state === 'live'").await;
    browser.press("p").await;
    browser.wait_until("document.getElementById('pause').dataset.state === 'paused'").await;
    visitor.site.submit("video", json!({})).await;
    let mut watcher = visitor.site.stream("/jobs", &[("Accept", "text/event-stream")]).await;
    assert!(watcher.next_text().await.contains("video"), "others see it");
    assert!(!browser.text("main").await.contains("video"), "the paused page does not");
    browser.press("p").await;
    visitor.shows("video").await;
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn theme_follows_the_system_until_it_is_chosen() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let paper = "getComputedStyle(document.body).backgroundColor";
    visitor.open("/").await;
    browser.prefer("dark").await;
    let dark = browser.evaluate(paper).await;
    browser.prefer("light").await;
    let light = browser.evaluate(paper).await;
    assert_ne!(dark, light);
    visitor.is_at("/").await;
    browser.press("t").await;
    browser.wait_until("document.documentElement.dataset.theme === 'dark'").await;
    assert_eq!(browser.evaluate(paper).await, dark);
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_every_page_in_both_themes_and_two_widths() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let job = visitor.site.furnish().await;
    for (name, path) in &tour(&job) {
        visitor.open(path).await;
        for (size, width, height) in [("desktop", 1280, 900), ("phone", 390, 844)] {
            browser.resize(width, height).await;
            for theme in ["light", "dark"] {
                browser.prefer(theme).await;
                browser.screenshot(&pictures().join(format!("{name}-{size}-{theme}.png"))).await;
            }
            let wide = browser.evaluate("document.documentElement.scrollWidth").await;
            assert!(wide.as_u64() <= Some(width.into()), "{name} is {wide} wide on a {size}");
        }
    }
    let complaints = browser.console().await;
    // The browser itself notes that the last page is not there.
    let others = complaints.iter().filter(|told| !told.contains("/nothing"));
    assert_eq!(others.count(), 0, "{complaints:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_data_is_folded_and_stays_as_the_reader_left_it() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let rows: Vec<u32> = (100_001..=100_200).collect();
    let job = json!({"data": [{"to": "ada@example.com", "rows": rows}], "delay": 3_600_000});
    let jid = site.submit("mail", job).await;
    visitor.open(&format!("/jobs/{jid}")).await;
    visitor.is_at(&format!("/jobs/{jid}")).await;
    visitor.shows("ada@example.com").await;
    visitor.shows("200 values").await;
    let shown = "[...document.querySelectorAll('.tree div')]\
        .some((part) => part.textContent.includes('100150') && part.checkVisibility())";
    assert_eq!(browser.evaluate(shown).await, false);
    let barriers = browser.barriers().await;
    assert!(barriers.is_empty(), "{barriers:#?}");
    browser.click(".tree details details summary").await;
    browser.wait_until(shown).await;
    let tags = format!("/api/1/jobs/{jid}/tags");
    assert!(site.send("PUT", &tags, &[], r#"{"tags":["vip"]}"#).await.status < 300);
    visitor.shows("vip").await;
    assert_eq!(browser.evaluate(shown).await, true, "what is new folds nothing");
    // The other way round: what was open at first and closed by the reader.
    browser.click(".tree summary").await;
    assert!(site.send("PUT", &tags, &[], r#"{"tags":["late"]}"#).await.status < 300);
    visitor.shows("late").await;
    assert_eq!(browser.evaluate("document.querySelector('.tree details').open").await, false);
    visitor.ends_well().await;
}

/// Every page of a furnished site, with its name.
pub(crate) fn tour(job: &str) -> Vec<(&'static str, String)> {
    let mut tour = vec![
        ("overview", "/".to_owned()),
        ("jobs", "/jobs".into()),
        ("queue", "/queues/emails".into()),
        ("errors", "/errors".into()),
        ("history", "/queues/emails/history?range=24h".into()),
        ("find", "/find".into()),
        ("job", format!("/jobs/{job}")),
        ("change", format!("/jobs/{job}/change")),
        ("mute", "/alerts/mute?alert=no-worker+emails".into()),
        ("submit", "/submit?queue=emails".into()),
        ("bulk", "/bulk?what=retry&queue=emails&place=failed".into()),
        ("bulk-change", "/bulk?what=change&queue=emails&place=queued".into()),
        ("recurring", "/recurring".into()),
        ("calculations", "/calculations".into()),
        ("calculations-project", "/calculations/7/2".into()),
        ("calculations-key", "/calculations/7/2/job-skills/python?interval=weeks".into()),
        ("recommender", "/recommender".into()),
        ("recommender-user", "/recommender/7".into()),
        ("keys", "/keys".into()),
        ("family", "/keys/jobs.bee.job".into()),
        ("key", format!("/key?name=bee:h:jobs:{job}")),
        ("lint", "/lint".into()),
        ("api", "/docs".into()),
        ("api-jobs", "/docs/jobs".into()),
        ("error", "/nothing".into()),
    ];
    // Before the page that is not there, after which nothing else is opened.
    let at = tour.len() - 1;
    tour.splice(at..at, services::tour());
    tour
}

/// Where pictures go: below the folder of build results, which is never committed.
pub(crate) fn pictures() -> PathBuf {
    let results = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    results.parent().expect("the folder of results").join("pictures")
}

impl Site {
    /// Fills a queue with jobs that have failed.
    async fn fail_many(&self, queue: &str, n: usize) {
        self.fail_with(queue, n, |_| "it broke").await;
    }

    /// Fills a queue with jobs that have failed, each for a reason.
    pub(crate) async fn fail_with(
        &self,
        queue: &str,
        n: usize,
        reason: impl Fn(usize) -> &'static str,
    ) {
        let jobs: Vec<_> = (0..n).map(|i| json!({"data": [i], "retries": 0})).collect();
        for jobs in jobs.chunks(2_000) {
            let answer = self.post(&format!("/api/1/queues/{queue}/jobs"), json!(jobs)).await;
            assert_eq!(answer.status, 201, "{answer:?}");
        }
        let queue = QueueName::new(queue).expect("a queue");
        let worker = WorkerId::new(format!("host:1:hive:{queue}:w")).expect("a worker");
        let (mut failed, mut claimed) = (0, Claimed::default());
        while failed < n {
            let outcomes = claimed.jobs.iter().enumerate().map(|(at, job)| {
                Outcome::of(job, End::Failed(Failure::fatal(reason(failed + at))))
            });
            let outcomes: Vec<Outcome> = outcomes.collect();
            failed += outcomes.len();
            let settled = self.hive.settle(&queue, &worker, &outcomes, 100, LOCK).await;
            claimed = settled.expect("settled").claimed;
        }
    }

    async fn fail(&self, job: &serde_json::Value, worker: &str, error: &str) {
        let jid = job["jid"].as_str().expect("an id");
        let outcome =
            json!({"worker": worker, "attempt": job["attempt"], "message": error, "retry": false});
        let answer = self.post(&format!("/api/1/jobs/{jid}/fail"), outcome).await;
        assert!(answer.status < 300, "{answer:?}");
    }

    /// Something of everything to look at; returns the job with most around it.
    pub(crate) async fn furnish(&self) -> String {
        self.furnish_services().await;
        calculations_pages::furnish(self).await;
        recommendations::furnish(self).await;
        for (i, queue) in ["emails", "video/transcode", "reports"].iter().enumerate() {
            let coded = queue.replace('/', "%2F");
            for n in 0..(6 * (i + 1)) {
                let to = format!("user{n}@example.com");
                let job = json!({"data": [to, {"subject": "Your weekly report", "n": n}], "tags": ["weekly", "batch-7"], "retries": 0});
                self.submit(&coded, job).await;
            }
        }
        for job in self.claim("emails", "worker-a", 4).await {
            self.fail(&job, "worker-a", "SMTP 550: no such mailbox\n  at deliver (mail.js:12)")
                .await;
        }
        self.claim("reports", "worker-b", 3).await;
        let middle = self.submit("emails", json!({"data": ["digest"]})).await.to_string();
        let first = self.submit("emails", json!({"data": ["first"]})).await.to_string();
        let job = json!({"data": [{"to": "alice@example.com", "body": "<b>Hello</b>", "n": 12_345_678_901_234_567_890_u64}],
            "dependencies": [middle, first], "tags": ["welcome", "vip"], "tenant": "acme", "delay": 3_600_000});
        let job = self.submit("emails", job).await.to_string();
        for name in ["resize", "thumbnail", "notify"] {
            self.submit("emails", json!({"data": [name], "parent": job})).await;
        }
        self.submit("emails", json!({"data": ["later"], "dependencies": [job]})).await;
        job
    }
}
