//! The pages of errors and of a queue's history: finding a cause, acting on it, and seeing how long things took.

use keyrack_jobs::bee::{
    Submission,
    keys::{self, QueueName},
};
use keyrack_testkit::{Browser, wait_until_async};
use serde_json::{Value as Json, json};

use crate::{
    browser::{ENTER, TAB, Visitor},
    site::Site,
};

/// Three kinds of failures: 218, 144 and 72 of 434.
fn reason(n: usize) -> &'static str {
    match n % 6 {
        0..=2 => "TimeoutError: no answer from mx7.example.com after 30 s",
        3 | 4 => "ValueError: no such mailbox",
        _ => "KeyError: 'subject'",
    }
}

const JOBS: usize = 434;
const TIMEOUTS: usize = 218;

impl Site {
    async fn failed_and_queued(&self, queue: &str) -> (u64, u64) {
        let stats = self.get(&format!("/api/1/queues/{queue}")).await.ok();
        let number = |name: &str| stats[name].as_u64().expect("a number");
        (number("failed"), number("queued"))
    }

    /// The id of the group of failures with this in its text.
    async fn group_with(&self, queue: &str, text: &str) -> String {
        let errors = self.get(&format!("/api/1/queues/{queue}/errors?text={text}")).await.ok();
        let [group] = &errors["groups"].as_array().expect("a list")[..] else {
            panic!("one group: {errors}")
        };
        group["id"].as_str().expect("an id").to_owned()
    }
}

/// What the rows of the page say, so that a test sees the cause that somebody would see.
const ROWS: &str =
    "[...document.querySelectorAll('.failures tbody tr')].map((row) => row.innerText)";

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_causes_is_found_and_retried_in_three_clicks() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.fail_with("mail", JOBS, reason).await;
    visitor.open("/").await;
    visitor.shows("434 failed jobs held").await;

    browser.click("header nav a[href='/errors']").await;
    visitor.shows("3 groups with 434 jobs failed for good").await;
    let rows = browser.evaluate(ROWS).await;
    let rows = rows.as_array().expect("rows");
    let has = |row: usize, text: &str| rows[row].as_str().is_some_and(|told| told.contains(text));
    assert_eq!(rows.len(), 3, "{rows:?}");
    let timeouts = (0..3).find(|row| has(*row, "TimeoutError")).expect("a row");
    assert!(has(timeouts, "218") && has(timeouts, "mail"), "{rows:?}");

    browser.click(&format!(".failures tbody tr:nth-child({}) .button", timeouts + 1)).await;
    assert_eq!(browser.text("#count").await, "218 jobs");
    browser.click(".sure button").await;
    visitor.shows("218 of 218 gone through, 218 changed").await;
    let left = (JOBS - TIMEOUTS) as u64;
    assert_eq!(visitor.site.failed_and_queued("mail").await, (left, TIMEOUTS as u64));
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_causes_is_found_and_retried_by_keyboard() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.fail_with("mail", JOBS, reason).await;
    visitor.open("/").await;
    visitor.is_at("/").await;
    browser.press("gx").await;
    visitor.is_at("/errors").await;
    browser.press("/").await;
    browser.wait_until("document.activeElement.name === 'text'").await;
    browser.press("timeout").await;
    browser.press(ENTER).await;
    visitor.shows("1 group with 218 jobs failed for good").await;
    visitor.is_at("/errors").await;
    browser.press("j").await;
    browser.wait_until("document.activeElement.matches('[data-row]')").await;
    browser.press(ENTER).await;
    visitor.shows("no answer from mx7.example.com").await;
    let group = visitor.site.group_with("mail", "timeout").await;
    visitor.is_at(&format!("/queues/mail/errors/{group}")).await;
    browser.press("r").await;
    visitor.is_at("/bulk").await;
    browser.wait_until("document.activeElement.matches('.sure button')").await;
    browser.press(ENTER).await;
    visitor.shows("218 of 218 gone through, 218 changed").await;
    assert_eq!(visitor.site.failed_and_queued("mail").await.1, TIMEOUTS as u64);
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_jobs_are_canceled_by_typing_how_many_and_stopped_half_way() {
    const MANY: usize = 100_000;
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let jobs: Vec<_> = (0..5_000).map(|n| json!({"data": [n]})).collect();
    for _ in 0..MANY / 5_000 {
        let answer = visitor.site.post("/api/1/queues/mail/jobs", json!(jobs)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    visitor.open("/bulk?what=cancel&queue=mail&place=queued").await;
    assert_eq!(browser.text("#count").await, "100,000 jobs");
    // By keyboard: nothing happens until the number is there, and "No" is not on the way.
    browser.wait_until("document.activeElement.name === 'typed'").await;
    browser.press("100000").await;
    browser.press(TAB).await;
    browser.wait_until("document.activeElement.matches('button.danger')").await;
    browser.press(ENTER).await;
    browser.find("form[action$='/stop'] button").await;
    browser.click("form[action$='/stop'] button").await;
    visitor.shows("Stopped: what was changed stays changed.").await;
    let (_, queued) = visitor.site.failed_and_queued("mail").await;
    assert!((1..MANY as u64).contains(&queued), "{queued} are left");
    visitor.ends_well().await;
}

#[tokio::test]
async fn a_probe_runs_ten_and_a_mute_ends_when_it_is_told_to() {
    let site = Site::start().await;
    site.fail_with("mail", 60, reason).await;
    let group = site.group_with("mail", "timeout").await;
    let path = format!("/queues/mail/errors/{group}");
    let page = site.page(&path).await;
    for part in ["TimeoutError", "no answer from mx7.example.com after 30 s", "Retry 10 as a probe"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let probed = site.form(&format!("{path}/retry"), "").await;
    assert!(site.follow(&probed).await.contains("10 jobs of this group"));
    assert_eq!(site.failed_and_queued("mail").await, (50, 10));

    let wrong = site.form(&format!("{path}/mute"), "time=soon").await;
    assert!(site.follow(&wrong).await.contains("write a number and a unit"));
    let none = site.form(&format!("{path}/mute"), "time=&version=").await;
    assert!(site.follow(&none).await.contains("give a time, a version or both"));
    let muted = site.form(&format!("{path}/mute"), "time=1d&version=2.0").await;
    let page = site.follow(&muted).await;
    assert!(page.contains("or version 2.0") && page.contains("Unmute"), "{page}");
    assert!(!site.page("/errors?muted=hide").await.contains(&path));
    assert!(site.page("/errors").await.contains(&path));
    let unmuted = site.form(&format!("{path}/unmute"), "").await;
    assert!(site.follow(&unmuted).await.contains("It raises alerts again."));
    assert!(site.page("/errors?muted=hide").await.contains(&path));

    assert_eq!(site.get("/queues/mail/errors/none").await.status, 404);
    let gone = site.form("/queues/mail/errors/none/retry", "").await;
    assert_eq!(gone.header("location"), Some("/queues/mail/errors/none"));
}

#[tokio::test]
async fn the_reason_stands_in_lists_of_failed_jobs_and_leads_to_its_cause() {
    let site = Site::start().await;
    site.fail_with("mail", 12, reason).await;
    let group = site.group_with("mail", "mailbox").await;
    let page = site.page("/find?queue=mail&place=failed").await;
    assert!(page.contains("ValueError: no such mailbox"), "{page}");
    assert!(page.contains(&format!("href=\"/queues/mail/errors/{group}\"")), "{page}");
    let page = site.page(&format!("/find?queue=mail&place=failed&error={group}")).await;
    assert!(page.contains("no such mailbox") && !page.contains("KeyError"), "{page}");
    // And what is changed at once is what is shown.
    assert!(page.contains(&format!("place=failed&#38;error={group}&#38;what=retry")), "{page}");
    let page = site.page("/queues/mail").await;
    assert!(page.contains("Why jobs failed") && page.contains("no such mailbox"), "{page}");
}

#[tokio::test]
async fn errors_of_all_queues_are_searched_sorted_and_paged() {
    let site = Site::start().await;
    for queue in ["mail", "video"] {
        site.fail_with(queue, 6, reason).await;
    }
    let rows = |page: &str| page.matches("data-row").count();
    assert_eq!(rows(&site.page("/errors").await), 6);
    assert_eq!(rows(&site.page("/errors?queue=video").await), 3);
    assert_eq!(rows(&site.page("/errors?text=MAILBOX").await), 2);
    assert_eq!(rows(&site.page("/errors?text=nothing").await), 0);
    let sorted = site.page("/errors?queue=mail&sort=failed").await;
    let at = |text: &str| sorted.find(text).expect("a row");
    assert!(at("TimeoutError") < at("ValueError") && at("ValueError") < at("KeyError"));
    assert_eq!(rows(&site.page("/errors?page=2").await), 0);
    assert_eq!(site.get("/errors?sort=size").await.status, 422);
    assert_eq!(site.get("/errors?queue=none").await.status, 404);
}

/// Writes an hour's record, as the sweep does.
async fn record(site: &Site, queue: &str, hour: u64, stored: &str) {
    let queue = QueueName::new(queue).expect("a queue");
    let key = keys::times_hours(&queue, &queue.group());
    let mut cmd = redis::cmd("HSET");
    cmd.arg(&*site.store.place(&key)).arg(hour).arg(stored);
    let () = cmd.query_async(&mut site.store.connection()).await.expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn yesterdays_wait_p95_of_a_queue_is_seen_and_downloaded() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    site.submit("mail", json!({})).await;
    let hour = site.hive.now_ms() / 3_600_000 - 24;
    // Ninety waited for up to 1 s and ten for up to 32 s.
    let stored = r#"{"submitted":100,"started":100,"completed":98,"failed":2,"w20":90,"w30":10,"wait_ms":300000,"r10":100,"run_ms":3000}"#;
    record(site, "mail", hour, stored).await;
    visitor.open("/queues/mail").await;
    browser.click("a[href='/queues/mail?range=7d#history']").await;
    browser.wait_until("document.querySelectorAll('#history .axes').length === 3").await;
    let titles =
        "[...document.querySelectorAll('#history .slot title')].map((one) => one.textContent)";
    let told = browser.evaluate(titles).await;
    let told = told.as_array().expect("titles").iter().filter_map(|one| one.as_str());
    let of_that_hour: Vec<&str> = told.filter(|one| one.contains("p95")).collect();
    let [wait, run] = &of_that_hour[..] else { panic!("two charts: {of_that_hour:?}") };
    assert!(wait.contains("p95 27.") && run.contains("p95 32 ms"), "{wait}; {run}");

    browser.click("#history a[href='/queues/mail/history?range=7d']").await;
    visitor.shows("One row per hour").await;
    visitor.shows("27.").await;
    let csv = site.get("/queues/mail/history.csv?range=7d").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let line = csv.body.lines().find(|line| line.contains(",100,100,98,2,")).expect("that hour");
    assert_eq!(line.split(',').count(), 14, "{line}");
    assert_eq!(csv.body.lines().count(), 1 + 7 * 24);
    assert_eq!(site.get("/queues/mail/history.csv?range=1y").await.status, 422);
    assert_eq!(site.get("/queues/none/history").await.status, 404);
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_slowest_job_of_the_last_hour_is_found() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let queue = QueueName::new("mail").expect("a queue");
    let jid = site.submit("mail", json!({})).await;
    let hour = site.hive.now_ms() / 3_600_000;
    let key = keys::slowest(&queue, &queue.group());
    let slow = json!({"jobs": [{"jid": jid.as_str(), "run_ms": 754_000, "at": site.hive.now_ms() - 1_000}]});
    let mut cmd = redis::cmd("HSET");
    cmd.arg(&*site.store.place(&key)).arg(hour).arg(slow.to_string());
    let () = cmd.query_async(&mut site.store.connection()).await.expect("written");
    visitor.open("/jobs").await;
    browser.click("a[href='/queues/mail']").await;
    visitor.shows("12 min 34 s").await;
    browser.click(".slowest a").await;
    visitor.is_at(&format!("/jobs/{jid}")).await;
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queues_history_and_its_slowest_job_are_found_by_keyboard() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let queue = QueueName::new("mail").expect("a queue");
    let jid = site.submit("mail", json!({})).await;
    let now = site.hive.now_ms();
    let stored = r#"{"submitted":100,"started":100,"completed":98,"failed":2,"w20":90,"w30":10,"wait_ms":300000,"r10":100,"run_ms":3000}"#;
    record(site, "mail", now / 3_600_000 - 24, stored).await;
    let slow = json!({"jobs": [{"jid": jid.as_str(), "run_ms": 754_000, "at": now - 1_000}]});
    let mut cmd = redis::cmd("HSET");
    let key = keys::slowest(&queue, &queue.group());
    cmd.arg(&*site.store.place(&key)).arg(now / 3_600_000).arg(slow.to_string());
    let () = cmd.query_async(&mut site.store.connection()).await.expect("written");

    visitor.open("/").await;
    visitor.is_at("/").await;
    browser.press("gj").await;
    visitor.is_at("/jobs").await;
    browser.press("j").await;
    browser.wait_until("document.activeElement.matches('[data-row]')").await;
    browser.press(ENTER).await;
    visitor.is_at("/queues/mail").await;
    tab_to(browser, "a[href$='range=7d#history']").await;
    browser.press(ENTER).await;
    browser.wait_until("location.search === '?range=7d'").await;
    visitor.is_at("/queues/mail").await;
    tab_to(browser, "a[href='/queues/mail/history?range=7d']").await;
    browser.press(ENTER).await;
    visitor.is_at("/queues/mail/history").await;
    // The wait p95 of that hour.
    visitor.shows("27.").await;

    visitor.open("/queues/mail").await;
    visitor.is_at("/queues/mail").await;
    tab_to(browser, ".slowest a").await;
    browser.press(ENTER).await;
    visitor.is_at(&format!("/jobs/{jid}")).await;
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_many_jobs_is_stopped_by_keyboard() {
    const MANY: usize = 30_000;
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let jobs: Vec<_> = (0..5_000).map(|n| json!({"data": [n]})).collect();
    for _ in 0..MANY / 5_000 {
        let answer = visitor.site.post("/api/1/queues/mail/jobs", json!(jobs)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    visitor.open("/bulk?what=cancel&queue=mail&place=queued").await;
    browser.wait_until("document.activeElement.name === 'typed'").await;
    browser.press("30000").await;
    browser.press(ENTER).await;
    browser.find("form[action$='/stop'] button").await;
    browser.press("s").await;
    visitor.shows("Stopped: what was changed stays changed.").await;
    let (_, queued) = visitor.site.failed_and_queued("mail").await;
    assert!((1..MANY as u64).contains(&queued), "{queued} are left");
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_whose_rows_are_ticked_are_retried_and_cancelled() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    site.fail_with("mail", 3, |_| "it broke").await;
    visitor.open("/find?queue=mail&place=failed").await;
    visitor.is_at("/find").await;
    browser.press("jxjx").await;
    let ticked = "[...document.querySelectorAll('[name=jid]:checked')].map((box) => box.value)";
    let ids = browser.evaluate(ticked).await;
    assert_eq!(ids.as_array().map(Vec::len), Some(2), "{ids}");
    let barriers = browser.barriers().await;
    assert!(barriers.is_empty(), "{barriers:#?}");
    browser.click("button[value=retry]").await;
    visitor.shows("2 jobs run again.").await;
    assert_eq!(site.failed_and_queued("mail").await, (1, 2));
    let mut names: Vec<&str> =
        ids.as_array().into_iter().flatten().flat_map(Json::as_str).collect();
    names.sort_unstable();
    let told = format!("Retry 2 jobs: {}", names.join(" "));
    site.assert_audited("chosen_jobs_changed", &told).await;

    // All of them; whoever asks for what cannot be undone is asked, and Enter says no.
    visitor.open("/find?queue=mail&place=queued").await;
    visitor.is_at("/find").await;
    browser.click("#every-row").await;
    browser.click(".confirm summary").await;
    browser.wait_until("document.activeElement.matches('[data-no]')").await;
    browser.press(ENTER).await;
    browser.wait_until("!document.querySelector('.confirm').open").await;
    browser.click(".confirm summary").await;
    browser.click("button[value=cancel]").await;
    visitor.shows("2 jobs canceled.").await;
    assert_eq!(site.failed_and_queued("mail").await, (1, 0));
    visitor.ends_well().await;
}

#[tokio::test]
async fn what_cannot_be_done_to_ticked_jobs_is_told() {
    let site = Site::start().await;
    let jid = site.submit("mail", json!({})).await.to_string();
    let post = async |form: String| {
        let kind = [("Content-Type", "application/x-www-form-urlencoded")];
        let answer = site.send("POST", "/find/chosen", &kind, &form).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/find?queue=mail")));
        answer.header("set-cookie").expect("what came of it").to_owned()
    };
    let back = "back=%2Ffind%3Fqueue%3Dmail";
    for (form, told) in [
        (format!("what=retry&{back}"), "-jobs%3A+tick+some+rows+first"),
        (format!("what=eat&{back}&jid={jid}"), "use+cancel+or+retry"),
        // It waits: there is nothing to retry. The other is not there.
        (format!("what=retry&{back}&jid={jid}&jid=none&jid=none"), "0+of+2+jobs+run+again"),
        (format!("what=retry&{back}{}", "&jid=a".repeat(3)), "0+of+1+job+run"),
    ] {
        let cookie = post(form).await;
        assert!(cookie.contains(told), "{cookie}");
    }
    let many: String = (0..501).map(|n| format!("&jid=j{n}")).collect();
    assert!(post(format!("what=cancel&{back}{many}")).await.contains("at+most+500+at+once"));
    assert_eq!(site.failed_and_queued("mail").await, (0, 1));
}

/// Goes on from one thing to the next until it is there.
async fn tab_to(browser: &Browser, selector: &str) {
    const STEPS_MAX: usize = 200;
    let is_there = format!("document.activeElement.matches({})", json!(selector));
    for _ in 0..STEPS_MAX {
        if browser.evaluate(&is_there).await == true {
            return;
        }
        browser.press(TAB).await;
    }
    panic!("{selector} is not reached by keyboard");
}

#[tokio::test]
async fn ten_thousand_queues_are_filtered_sorted_and_paged() {
    const QUEUES: usize = 10_000;
    let site = Site::start().await;
    let names: Vec<QueueName> =
        (0..QUEUES).map(|n| QueueName::new(format!("q{n:05}")).expect("a name")).collect();
    let submitting = names.iter().map(|name| Submission::to(name.clone()));
    for chunk in submitting.collect::<Vec<_>>().chunks(1_000) {
        site.hive.submit_many(chunk.to_vec()).await.expect("submitted");
    }
    for _ in 0..3 {
        site.submit("q07777", json!({})).await;
    }
    // What is known of so many queues is some seconds old.
    wait_until_async("the longest queue is the first of all", async || {
        let page = site.page("/jobs?sort=-queued").await;
        let first = page.split("data-row").next().expect("a row");
        page.contains("10,000 queues, 1 to 50 shown") && first.ends_with("href=\"/queues/q07777\" ")
    })
    .await;
    let page = site.page("/jobs").await;
    assert!(page.contains("/queues/q00000\"") && !page.contains("/queues/q00050\""), "{page}");
    assert!(site.page("/jobs?page=200").await.contains("/queues/q09999\""));
    let page = site.page("/jobs?name=7777").await;
    assert!(page.contains("1 of 10,000 queues") && page.contains("/queues/q07777\""), "{page}");
    assert!(site.page("/jobs?state=paused").await.contains("No queue matches"));
    for wrong in ["state=x", "sort=x", "page=x"] {
        assert_eq!(site.get(&format!("/jobs?{wrong}")).await.status, 422, "{wrong}");
    }
    // What was read of so many queues is shared: nobody waits for it twice.
    let mut times = Vec::new();
    for n in 0..20 {
        let began = std::time::Instant::now();
        site.page(&format!("/jobs?page={}", n + 1)).await;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    // An unoptimised build has five times as long.
    let most = std::time::Duration::from_millis(if cfg!(debug_assertions) { 1_500 } else { 300 });
    assert!(times[18] < most, "{times:?}");
}
