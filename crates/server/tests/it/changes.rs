//! Jobs that wait are changed on pages, one by one or all that match, and submitted with every option.

use keyrack_identity::Role;
use serde_json::json;

use crate::{
    browser::{ENTER, Visitor},
    site::Site,
};

impl Site {
    /// What the audit log says that was done, and to what; the newest first.
    async fn audited(&self) -> Vec<(String, String)> {
        let admin = self.token_of("auditor", Role::Admin).await;
        let log = self.send_as(&admin, "GET", "/api/1/audit", json!({})).await.ok();
        let text = |entry: &serde_json::Value, name: &str| {
            entry[name].as_str().unwrap_or_default().to_owned()
        };
        let entries = log["changes"].as_array().expect("a list").iter();
        entries.map(|entry| (text(entry, "action"), text(entry, "subject"))).collect()
    }

    pub(crate) async fn assert_audited(&self, action: &str, subject: &str) {
        let told = self.audited().await;
        let wanted = (action.to_owned(), subject.to_owned());
        assert!(told.contains(&wanted), "{wanted:?} in {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_gets_other_arguments_options_and_queue() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    site.submit("letters", json!({})).await;
    let job = json!({"data": ["alice", {"n": 1}], "delay": 3_600_000, "timeout": 5000});
    let jid = site.submit("mail", job).await;
    visitor.open(&format!("/jobs/{jid}")).await;
    browser.click("a[href$='/change']").await;
    visitor.is_at(&format!("/jobs/{jid}/change")).await;
    // What holds now is shown, so that nobody has to remember it.
    let before = browser.evaluate("document.querySelector('[name=data]').value").await;
    assert!(before.as_str().is_some_and(|text| text.contains("\"alice\"")), "{before}");
    let limit = browser.evaluate("document.querySelector('[name=timeout_s]').placeholder").await;
    assert_eq!(limit, "now 5");

    // A wrong value is told, and nothing that was typed is lost.
    browser.fill("[name=data]", "[\"bob\", {\"n\": 2}]").await;
    browser.fill("[name=retries]", "9").await;
    browser.fill("[name=timeout_s]", "soon").await;
    browser.click("form.fields button.main").await;
    visitor.shows("time limit: \"soon\"").await;
    let job = site.get(&format!("/api/1/jobs/{jid}")).await.ok();
    assert_eq!((&job["data"], &job["queue"]), (&json!(["alice", {"n": 1}]), &json!("mail")));

    browser.fill("[name=timeout_s]", "none").await;
    browser.evaluate("(document.querySelector('[name=backoff]').value = 'exponential')").await;
    browser.fill("[name=retry_delay_s]", "2").await;
    browser.fill("[name=retry_delay_max_s]", "60").await;
    browser.fill("[name=ttl_s]", "90").await;
    browser.fill("[name=move_to]", "letters").await;
    browser.fill("[name=start_within_s]", "7200").await;
    browser.click("form.fields button.main").await;
    visitor.shows("Changed.").await;
    let job = site.get(&format!("/api/1/jobs/{jid}")).await.ok();
    assert_eq!((&job["data"], &job["queue"]), (&json!(["bob", {"n": 2}]), &json!("letters")));
    let options = &job["options"];
    let told = ["retries", "backoff", "retryDelay", "retryDelayMax", "ttl"];
    let told = told.map(|name| options[name].clone());
    assert_eq!(told, [json!(9), json!("exponential"), json!(2000), json!(60_000), json!(90_000)]);
    assert_eq!((options.get("timeout"), options["startBy"].is_u64()), (None, true));
    site.assert_audited("job_changed", jid.as_str()).await;

    // A job that a worker has is left alone.
    site.form(&format!("/jobs/{jid}/change"), "run_now=1").await;
    assert_eq!(site.claim("letters", "w", 5).await.len(), 2);
    let late = site.form(&format!("/jobs/{jid}/change"), "priority=1").await;
    assert!(site.follow(&late).await.contains("only a job that waits can be changed"));
    let form = site.get(&format!("/jobs/{jid}/change")).await;
    assert!(site.follow(&form).await.contains("It is running"));
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_jobs_that_match_are_changed_after_their_number_was_shown() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    for n in 0..12 {
        let tags = if n < 7 { json!(["vip"]) } else { json!([]) };
        site.submit("mail", json!({"data": [n], "tags": tags, "delay": 3_600_000})).await;
    }
    visitor.open("/find?queue=mail&place=delayed&tag=vip").await;
    browser.click(".actions a[href*='what=change']").await;
    visitor.is_at("/bulk").await;
    assert_eq!(browser.text("#count").await, "7 jobs");
    browser.click(".sure button").await;
    visitor.shows("nothing is given that is to be different").await;
    browser.fill("[name=move_to]", "nowhere").await;
    browser.click(".sure button").await;
    visitor.shows("no queue \"nowhere\"").await;
    browser.fill("[name=move_to]", "").await;
    browser.fill("[name=priority]", "4").await;
    browser.click(".sure [name=run_now]").await;
    // By keyboard from here.
    browser.evaluate("(document.querySelector('.sure button').focus(), 1)").await;
    browser.press(ENTER).await;
    visitor.shows("7 of 7 gone through, 7 changed").await;
    let jobs = site.get("/api/1/queues/mail/jobs?place=queued").await.ok();
    let jobs = jobs["jobs"].as_array().expect("a list");
    let priorities: Vec<_> = jobs.iter().map(|job| &job["options"]["priority"]).collect();
    assert_eq!(priorities, vec![&json!(4); 7], "{jobs:?}");
    let stats = site.get("/api/1/queues/mail").await.ok();
    assert_eq!((&stats["queued"], &stats["delayed"]), (&json!(7), &json!(5)));
    site.assert_audited("bulk_started", "Change delayed mail tag=vip: runNow, priority").await;
    // What has ended cannot be changed.
    let wrong = site.get("/bulk?what=change&queue=mail&place=failed").await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_a_thousand_jobs_are_changed_by_typing_how_many() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let jobs: Vec<_> = (0..1_200).map(|n| json!({"data": [n]})).collect();
    assert_eq!(site.post("/api/1/queues/mail/jobs", json!(jobs)).await.status, 201);
    site.submit("letters", json!({})).await;
    visitor.open("/bulk?what=change&queue=mail&place=queued").await;
    assert_eq!(browser.text("#count").await, "1,200 jobs");
    browser.fill("[name=move_to]", "letters").await;
    browser.fill("[name=typed]", "12").await;
    browser.click(".sure button").await;
    visitor.shows("Type the number of jobs").await;
    let kept = browser.evaluate("document.querySelector('[name=move_to]').value").await;
    assert_eq!(kept, "letters");
    browser.fill("[name=typed]", "1200").await;
    browser.click(".sure button").await;
    visitor.shows("1,200 of 1,200 gone through, 1,200 changed").await;
    let stats = site.get("/api/1/queues/letters").await.ok();
    assert_eq!(stats["queued"], 1_201, "{stats}");
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_with_backoff_and_debounce_and_an_equal_one_is_told() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let fill = async |data: &str| {
        visitor.open("/submit?queue=mail").await;
        browser.fill("[name=data]", data).await;
        for (name, value) in
            [("backoff", "exponential"), ("unique_by", "key"), ("unique_scope", "debounce")]
        {
            let choose = format!("(document.querySelector('[name={name}]').value = '{value}')");
            browser.evaluate(&choose).await;
        }
        for (name, value) in [
            ("retry_delay_s", "1.5"),
            ("retry_delay_max_s", "60"),
            ("retry_jitter", "0.5"),
            ("ttl_s", "90"),
            ("failed_ttl_s", "86400"),
            ("unique_key", "user:42"),
            ("unique_s", "600"),
        ] {
            browser.fill(&format!("[name={name}]"), value).await;
        }
        browser.click("form.fields button.main").await;
    };
    fill("[1]").await;
    visitor.shows("Submitted.").await;
    fill("[2]").await;
    visitor.shows("This job stands for it, with the arguments of this one.").await;
    let jobs = site.get("/api/1/queues/mail/jobs?place=delayed").await.ok();
    let [job] = &jobs["jobs"].as_array().expect("a list")[..] else { panic!("one job: {jobs}") };
    assert_eq!(job["data"], json!([2]));
    let told = ["backoff", "retryDelay", "retryDelayMax", "retryJitter", "ttl", "failedTtl"];
    let told = told.map(|name| job["options"][name].clone());
    let wanted = [
        json!("exponential"),
        json!(1500),
        json!(60_000),
        json!(0.5),
        json!(90_000),
        json!(86_400_000),
    ];
    assert_eq!(told, wanted);
    // A throttle drops the second.
    let throttled = "queue=video&data=%5B1%5D&unique_by=args&unique_scope=throttle&unique_s=600";
    assert!(site.follow(&site.form("/submit", throttled).await).await.contains("Submitted."));
    let second = site.follow(&site.form("/submit", throttled).await).await;
    assert!(second.contains("This job stands for it: it was submitted before."), "{second}");
    assert_eq!(site.get("/api/1/queues/video").await.ok()["queued"], 1);
    visitor.ends_well().await;
}
