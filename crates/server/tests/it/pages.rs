//! The dashboard as any client sees it, without running its script.

use futures_util::StreamExt as _;
use keyrack_jobs::bee::{WorkerTimeouts, keys::QueueName};
use keyrack_store::Store;
use serde_json::json;

use crate::site::{Answer, Site};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

impl Site {
    /// Sends a form as a page of this site would.
    pub(crate) async fn form(&self, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.addr);
        self.send("POST", path, &[FORM, ("Origin", &origin)], body).await
    }

    /// Follows the redirect that a form was answered with, and returns the page.
    pub(crate) async fn follow(&self, answer: &Answer) -> String {
        assert_eq!(answer.status, 303, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap_or_default();
        let pair = cookie.split(';').next().unwrap_or_default();
        let page = self
            .send("GET", answer.header("location").expect("a place"), &[("Cookie", pair)], "")
            .await;
        assert_eq!(page.status, 200, "{page:?}");
        page.body
    }

    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    }
}

fn job_of(answer: &Answer) -> String {
    let place = answer.header("location").expect("a place");
    place.strip_prefix("/jobs/").expect("a job's page").to_owned()
}

#[tokio::test]
async fn job_lives_its_whole_life_through_forms() {
    let site = Site::start().await;
    let submitted =
        site.form("/submit", "queue=mail%2Fsend&data=%5B%22x%22%5D&tags=a+b&priority=2").await;
    let page = site.follow(&submitted).await;
    for part in ["Submitted.", "mail/send", "queued", "Why it does not run", "&#34;x&#34;"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let jid = job_of(&submitted);
    let changed = site.form(&format!("/jobs/{jid}/change"), "priority=5&delay_s=60").await;
    let page = site.follow(&changed).await;
    assert!(page.contains("Changed.") && page.contains("Run now"), "{page}");
    let empty = site.form(&format!("/jobs/{jid}/change"), "priority=").await;
    assert_eq!(empty.status, 422, "{empty:?}");
    assert!(empty.body.contains("nothing is given"), "{empty:?}");
    let canceled = site.form(&format!("/jobs/{jid}/cancel"), "").await;
    assert!(site.follow(&canceled).await.contains("Canceled."));
    let retried = site.form(&format!("/jobs/{jid}/retry"), "").await;
    assert!(site.follow(&retried).await.contains("It runs again"));
    // What cannot be done is told on the same page, and changes nothing.
    let again = site.form(&format!("/jobs/{jid}/retry"), "").await;
    assert!(site.follow(&again).await.contains("only a failed, canceled or expired job"));
}

#[tokio::test]
async fn page_of_a_job_tells_which_submissions_it_stands_for() {
    let site = Site::start().await;
    let form =
        "queue=q&data=%5B1%5D&unique_by=key&unique_key=user%3A42&unique_scope=for&unique_s=90";
    let page = site.follow(&site.form("/submit", form).await).await;
    let told = "submissions with the key &#34;user:42&#34;, for 1 min 30 s after its submission";
    assert!(page.contains("Stands for") && page.contains(told), "{page}");
    let plain = site.follow(&site.form("/submit", "queue=q&data=%5B2%5D").await).await;
    assert!(!plain.contains("Stands for"), "{plain}");
}

#[tokio::test]
async fn form_that_makes_no_sense_comes_back_with_what_was_typed() {
    let site = Site::start().await;
    for (form, told) in [
        ("queue=&data=%5B%5D", "queue"),
        ("queue=a&data=%7B", "data"),
        ("queue=a&priority=x", "priority"),
        ("queue=a&delay_s=-1", "delay"),
        ("queue=a&retries=-1", "retries"),
        ("queue=a&backoff=slow", "backoff: &#34;slow&#34; is no backoff"),
        ("queue=a&retry_delay_s=60&retry_delay_max_s=5", "retryDelayMax"),
        ("queue=a&retry_jitter=2", "retryJitter"),
        ("queue=a&ttl_s=long", "result kept for: &#34;long&#34;"),
        ("queue=a&unique_scope=for&unique_s=5", "say what equal submissions have in common"),
        ("queue=a&unique_by=args&unique_scope=debounce", "time: empty"),
        ("queue=a&unique_by=args&unique_s=5", "time: given without"),
        ("queue=a&unique_by=name", "&#34;name&#34;; use args, key or id"),
        ("queue=a&unique_by=key", "unique.key: 0 bytes"),
    ] {
        let answer = site.form("/submit", &format!("{form}&tenant=typed")).await;
        assert_eq!(answer.status, 422, "{form}: {answer:?}");
        assert!(answer.body.contains(told), "{form}: {answer:?}");
        assert!(answer.body.contains("value=\"typed\""), "{form}: {answer:?}");
    }
    assert!(site.hive.queues().await.expect("queues").is_empty());
}

#[tokio::test]
async fn queue_is_paused_resumed_and_limited_by_forms() {
    let site = Site::start().await;
    site.submit("mail", json!({})).await;
    let paused = site.form("/queues/mail/pause", "").await;
    assert!(site.follow(&paused).await.contains("Resume</button>"));
    let resumed = site.form("/queues/mail/resume", "").await;
    assert!(site.follow(&resumed).await.contains("Pause</button>"));
    let form = "concurrency=3&rate_max=10&rate_s=0.5&tenant_concurrency=";
    let limited = site.form("/queues/mail/limits", form).await;
    assert!(site.follow(&limited).await.contains("value=\"3\""));
    let limits = site.get("/api/1/queues/mail/limits").await.ok();
    assert_eq!((&limits["concurrency"], &limits["rate"]["per_ms"]), (&3.into(), &500.into()));
    // What a form does not name stays, and what it leaves empty has its default again.
    let defaults = "retries=2&backoff=exponential&retry_delay_s=1.5&retry_delay_max_s=60&retry_jitter=0.5\
        &timeout_s=9&failed_ttl_s=86400&wait_target_s=5&tenant_rate_max=4&tenant_rate_s=2";
    let set = site.form("/queues/mail/limits", defaults).await;
    let page = site.follow(&set).await;
    for part in
        ["value=\"86400\"", "value=\"exponential\" selected", "At most this many run at once"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let limits = site.get("/api/1/queues/mail/limits").await.ok();
    let backoff =
        json!({"kind": "exponential", "delay_ms": 1500.0, "max_ms": 60000.0, "jitter": 0.5});
    assert_eq!((&limits["concurrency"], &limits["backoff"]), (&3.into(), &backoff));
    let told =
        ["retries", "timeout_ms", "failed_ttl_ms", "wait_target_ms"].map(|name| &limits[name]);
    assert_eq!(told, [&json!(2), &json!(9000), &json!(86_400_000), &json!(5000)]);
    assert_eq!(limits["tenant_rate"], json!({"max": 4, "per_ms": 2000}));
    let unset = site.form("/queues/mail/limits", "retries=&timeout_s=").await;
    site.follow(&unset).await;
    let limits = site.get("/api/1/queues/mail/limits").await.ok();
    assert_eq!((&limits["retries"], &limits["timeout_ms"]), (&json!(null), &json!(null)));
    assert_eq!(limits["backoff"], backoff);
    let wrong = site.form("/queues/mail/limits", "rate_max=10").await;
    assert!(site.follow(&wrong).await.contains("give both numbers"));
    assert_eq!(site.get("/api/1/queues/mail/limits").await.ok(), limits);
}

#[tokio::test]
async fn one_tenant_and_one_named_limit_are_set_by_forms() {
    let site = Site::start().await;
    site.submit("mail", json!({})).await;
    site.form("/queues/mail/limits", "concurrency=3").await;
    let form = "name=acme&concurrency=2&rate_max=5&rate_s=1&weight=3&paused=yes";
    let set = site.form("/queues/mail/tenant", form).await;
    let page = site.follow(&set).await;
    for line in ["acme: 2 at once", "acme: 5 starts per 1 s", "acme: 3 turns", "acme: paused"] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let set = site.form("/queues/mail/named-limit", "name=gpu&concurrency=1").await;
    assert!(site.follow(&set).await.contains("gpu: 1 at once"));
    let limits = site.get("/api/1/queues/mail/limits").await.ok();
    assert_eq!(limits["concurrency"], 3, "what the forms do not show stays");
    assert_eq!(limits["paused_tenants"], json!(["acme"]));
    assert_eq!(limits["named"], json!({"gpu": {"concurrency": 1, "rate": null}}));
    for (path, form, expected) in [
        ("tenant", "name=acme&weight=101", "tenant_weights: 101 for &#34;acme&#34;; give 1 to 100"),
        ("tenant", "name=acme&concurrency=0", "tenants: 0 for &#34;acme&#34;; give at least 1"),
        ("tenant", "name=+&weight=2", "name: it is empty"),
        ("named-limit", "name=gpu&rate_max=1", "give both numbers"),
        ("named-limit", "name=gpu&concurrency=0", "named.concurrency: 0"),
    ] {
        let wrong = site.form(&format!("/queues/mail/{path}"), form).await;
        let page = site.follow(&wrong).await;
        assert!(page.contains(expected), "{expected}: {page}");
        assert_eq!(site.get("/api/1/queues/mail/limits").await.ok(), limits, "{form}");
    }
    site.form("/queues/mail/tenant", "name=acme").await;
    site.form("/queues/mail/named-limit", "name=gpu").await;
    let limits = site.get("/api/1/queues/mail/limits").await.ok();
    assert_eq!((&limits["tenants"], &limits["named"]), (&json!({}), &json!({})));
    assert_eq!((&limits["tenant_weights"], &limits["paused_tenants"]), (&json!({}), &json!([])));
}

#[tokio::test]
async fn queue_is_deleted_by_a_form_once_it_is_empty() {
    let site = Site::start().await;
    let jid = site.submit("mail", json!({})).await;
    let refused = site.form("/queues/mail/delete", "").await;
    assert!(site.follow(&refused).await.contains("still holds 1 jobs"));
    assert_eq!(site.get("/api/1/queues/mail").await.ok()["queued"], 1);
    site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
    let deleted = site.form("/queues/mail/delete", "").await;
    assert_eq!(deleted.header("location"), Some("/jobs"));
    assert!(site.follow(&deleted).await.contains("Queue &#34;mail&#34; deleted."));
    site.get("/api/1/queues/mail").await.problem(404, "queue_not_found");
    assert_eq!(site.get("/queues/mail").await.status, 404);
}

#[tokio::test]
async fn pages_of_other_sites_can_send_no_form() {
    let site = Site::start().await;
    let jid = site.submit("mail", json!({})).await;
    for path in [
        "/submit".to_owned(),
        format!("/jobs/{jid}/cancel"),
        format!("/jobs/{jid}/retry"),
        format!("/jobs/{jid}/change"),
        "/queues/mail/pause".into(),
        "/queues/mail/resume".into(),
        "/queues/mail/limits".into(),
        "/queues/mail/tenant".into(),
        "/queues/mail/named-limit".into(),
        "/queues/mail/delete".into(),
        "/queues/mail/errors/e1/retry".into(),
        "/queues/mail/errors/e1/mute".into(),
        "/queues/mail/errors/e1/unmute".into(),
        "/bulk".into(),
        "/bulk/1/stop".into(),
        "/alerts/mute".into(),
        "/alerts/unmute".into(),
        "/recurring/new".into(),
        "/recurring/x/change".into(),
        "/recurring/x/delete".into(),
        "/recurring/x/run".into(),
        "/recurring/x/pause".into(),
        "/recurring/x/resume".into(),
        "/lint".into(),
        "/theme".into(),
    ] {
        for origin in ["https://example.com", "null"] {
            let headers = [FORM, ("Origin", origin)];
            let answer = site.send("POST", &path, &headers, "queue=mail").await;
            answer.problem(403, "foreign_page");
        }
    }
    assert_eq!(site.get(&format!("/api/1/jobs/{jid}")).await.ok()["status"], "queued");
}

#[tokio::test]
async fn theme_is_chosen_by_a_form_and_leads_back_to_this_site_only() {
    let site = Site::start().await;
    let chosen = site.form("/theme", "theme=dark&back=%2Fjobs%3Fa%3D1").await;
    assert_eq!(chosen.header("location"), Some("/jobs?a=1"));
    assert!(site.follow(&chosen).await.contains("data-theme=\"dark\""));
    let elsewhere = site.form("/theme", "theme=dark&back=%2F%2Fexample.com").await;
    assert_eq!(elsewhere.header("location"), Some("/"));
}

#[tokio::test]
async fn filter_in_the_address_finds_the_jobs_it_names() {
    let site = Site::start().await;
    let one = site.submit("mail", json!({"data": ["needle & co"], "tags": ["red"]})).await;
    let two = site.submit("mail", json!({"data": ["hay"], "tags": ["red", "blue"]})).await;
    let three = site.submit("video", json!({"data": ["needle"], "delay": 60_000})).await;
    for (filter, expected) in [
        ("", vec![&one, &two, &three]),
        ("queue=mail", vec![&one, &two]),
        ("place=delayed", vec![&three]),
        ("text=needle", vec![&one, &three]),
        ("text=needle+%26+co", vec![&one]),
        ("tag=red", vec![&one, &two]),
        ("tag=red&text=hay", vec![&two]),
        ("tag=blue&queue=video", vec![]),
        ("queue=none", vec![]),
        ("queue=mail&place=failed", vec![]),
    ] {
        let page = site.page(&format!("/find?{filter}")).await;
        for jid in [&one, &two, &three] {
            let is_shown = page.contains(&format!("/jobs/{jid}"));
            assert_eq!(is_shown, expected.contains(&jid), "{filter}: {jid}");
        }
    }
    let by_id = site.get(&format!("/find?text={two}")).await;
    assert_eq!(by_id.header("location"), Some(format!("/jobs/{two}").as_str()));
    for wrong in ["place=nowhere", "tag=red&cursor=x"] {
        assert_eq!(site.get(&format!("/find?{wrong}")).await.status, 422, "{wrong}");
    }
}

#[tokio::test]
async fn going_on_shows_every_job_once() {
    let site = Site::start().await;
    let jobs: Vec<_> = (0..120).map(|i| json!({"data": [i], "tags": ["all"]})).collect();
    let answer = site.post("/api/1/queues/mail/jobs", json!(jobs)).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    for filter in ["queue=mail", "text=%5B", "tag=all"] {
        let (mut path, mut seen) = (format!("/find?{filter}"), Vec::new());
        loop {
            let page = site.page(&path).await;
            let links = page.split("href=\"/jobs/").skip(1);
            seen.extend(links.map(|rest| rest.split('"').next().expect("a link").to_owned()));
            let Some(rest) =
                page.split("\" rel=\"next\"").next().filter(|head| head.len() < page.len())
            else {
                break;
            };
            let link = rest.rsplit("href=\"").next().expect("a link");
            path = link.replace("&#38;", "&");
        }
        let n = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((n, seen.len()), (120, 120), "{filter}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_of_thousands_of_queues_is_bounded_and_shared() {
    const QUEUES: usize = 2_000;
    let site = Site::start().await;
    let submit = async |n: usize| {
        let path = format!("/api/1/queues/q{n}/jobs");
        assert_eq!(site.post(&path, json!({"data": ["hay"]})).await.status, 201);
    };
    let submitting = futures_util::stream::iter(0..QUEUES).for_each_concurrent(16, submit);
    submitting.await;
    let commands = async || {
        let mut cmd = redis::cmd("INFO");
        let told: String =
            cmd.arg("stats").query_async(&mut site.store.connection()).await.expect("statistics");
        let line = told.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.and_then(|number| number.trim().parse::<usize>().ok()).expect("a number")
    };
    let before = commands().await;
    site.page("/find?text=nobody").await;
    let by_one = commands().await - before;
    let before = commands().await;
    let started = std::time::Instant::now();
    let looks = (0..20).map(|_| site.page("/find?text=nowhere"));
    futures_util::future::join_all(looks).await;
    // It looks for 0.6 s; the rest is a machine that has other things to do.
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
    let asked = commands().await - before;
    // How far one gets in its time differs.
    assert!(asked < 5 * by_one.max(QUEUES), "20 cost {asked} commands, one {by_one}");
}

#[tokio::test]
async fn many_jobs_are_counted_first_and_then_changed() {
    let site = Site::start().await;
    let jobs: Vec<_> =
        (0..250).map(|i| json!({"data": [if i % 2 == 0 { "even" } else { "odd" }]})).collect();
    site.post("/api/1/queues/mail/jobs", json!(jobs)).await;
    let page = site.page("/bulk?what=cancel&queue=mail&place=queued").await;
    assert!(page.contains("250 jobs"), "{page}");
    let page = site.page("/bulk?what=cancel&queue=mail&place=queued&text=odd").await;
    assert!(page.contains("125 jobs"), "{page}");
    assert_eq!(
        site.get("/api/1/queues/mail").await.ok()["queued"],
        250,
        "counting changes nothing"
    );

    let started = site.form("/bulk", "what=cancel&queue=mail&place=queued").await;
    let place = started.header("location").expect("a page").to_owned();
    let mut events = site.stream_of(&place).await;
    while !events.next_text().await.contains("250 of 250 gone through, 250 changed. <strong") {}
    assert_eq!(site.get("/api/1/queues/mail").await.ok()["queued"], 0);

    for wrong in ["what=retry&queue=mail&place=queued", "what=x&queue=mail&place=failed"] {
        assert_eq!(site.form("/bulk", wrong).await.status, 422, "{wrong}");
    }
    assert_eq!(site.get("/bulk/999").await.status, 404);
}

impl Site {
    /// Opens the stream of a page.
    async fn stream_of(&self, path: &str) -> crate::site::Events {
        self.stream(path, &[("Accept", "text/event-stream")]).await
    }
}

#[tokio::test]
async fn stream_of_a_page_sends_what_has_changed() {
    let site = Site::start().await;
    let jid = site.submit("mail", json!({})).await;
    let mut events = site.stream_of(&format!("/jobs/{jid}")).await;
    let first = events.next_text().await;
    assert!(first.contains("class=\"status queued\"") && !first.contains("<html"), "{first}");
    site.claim("mail", "w", 1).await;
    while !events.next_text().await.contains("class=\"status running\"") {}
    site.stop().await;
    events.ends().await;
}

#[tokio::test]
async fn job_that_goes_while_it_is_watched_is_told_as_trouble() {
    let site = Site::start().await;
    let mut events = site.stream_of("/jobs/00000000-0000-4000-8000-000000000000").await;
    assert!(events.next_text().await.contains("there is no job"));
}

#[tokio::test]
async fn key_is_shown_in_its_declared_meaning() {
    let site = Site::start().await;
    let jid = site.submit("mail", json!({"data": ["x"]})).await;
    let page = site.page(&format!("/key?name=bee:h:jobs:{jid}")).await;
    for part in ["jobs.bee.job", "submitted", "UTC", "hash"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let page = site.page("/key?name=bee:ss:queue:mail").await;
    assert!(page.contains(&format!("href=\"/key?name=bee%3Ah%3Ajobs%3A{jid}\"")), "{page}");
    assert!(site.page("/keys/jobs.bee.job").await.contains(jid.as_str()));
    assert!(site.page("/key?name=bee:ss:queue:other").await.contains("There is no such key"));
    let unknown = site.get("/key?name=whatever").await;
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.contains("No declared family"));
}

#[tokio::test]
async fn lint_from_the_dashboard_reports_what_it_finds() {
    let site = Site::start().await;
    let store: &Store = &site.store;
    let mut cmd = redis::cmd("SET");
    cmd.arg("nobody:knows").arg("<b>this</b>");
    let () = cmd.query_async(&mut store.connection()).await.expect("written");
    site.form("/lint", "").await;
    let mut events = site.stream_of("/lint").await;
    let report = loop {
        let text = events.next_text().await;
        if text.contains("found") {
            break text;
        }
    };
    assert!(report.contains("nobody:knows"), "{report}");
}

#[tokio::test]
async fn what_looks_like_markup_is_shown_as_text() {
    let site = Site::start().await;
    let bad = "<script>alert(1)</script>";
    let coded = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let job = json!({"data": [bad], "tags": [bad], "tenant": bad});
    let jid = site.submit(coded, job).await;
    for path in [
        "/".to_owned(),
        "/jobs".into(),
        format!("/jobs/{jid}"),
        format!("/queues/{coded}"),
        format!("/find?tag={coded}"),
        format!("/find?text={coded}&queue={coded}"),
        format!("/submit?queue={coded}&data={coded}&tags={coded}&jid={coded}"),
        format!("/bulk?what=cancel&queue={coded}&place=queued&text={coded}"),
        format!("/key?name={coded}"),
        format!("/keys/{coded}"),
        format!("/{coded}"),
    ] {
        let headers = [("Accept", "text/html")];
        let page = site.send("GET", &path, &headers, "").await;
        assert!(page.status < 500, "{path}: {page:?}");
        assert!(!page.body.contains("<script>alert"), "{path}");
    }
}

#[tokio::test]
async fn nothing_that_is_asked_breaks_a_page() {
    let site = Site::start().await;
    for path in [
        "/jobs/%00",
        "/jobs/%FF",
        "/queues/..",
        "/find?cursor=%7B%7D",
        "/find?queue=a&queue=b",
        "/bulk",
        "/bulk/-1",
        "/bulk/99999999999999999999",
        "/key",
        "/key?name=",
        "/key?name=a&db=999999",
        "/key?name=a&db=x",
        "/keys/%FF",
    ] {
        let answer = site.get(path).await;
        assert!(answer.status < 500, "{path}: {answer:?}");
    }
    for path in ["/submit", "/bulk", "/theme", "/queues/a/limits"] {
        let answer = site.form(path, "%FF=%00&&&==").await;
        assert!(answer.status < 500, "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn queue_says_when_it_has_deleted_ended_jobs_before_their_time() {
    let site = Site::start().await;
    for _ in 0..3 {
        site.submit("mail", json!({})).await;
    }
    for job in site.claim("mail", "mailer", 3).await {
        let path = format!("/api/1/jobs/{}/complete", job["jid"].as_str().expect("an id"));
        site.post(&path, json!({"worker": "mailer", "attempt": 1, "result": 7})).await.ok();
    }
    site.put("/api/1/queues/mail/limits", json!({"completed_max": 1})).await.ok();
    assert_eq!(site.get("/api/1/queues/mail").await.ok()["dropped"], 0);
    let queue = QueueName::new("mail").expect("a queue");
    site.hive.sweep(&queue, &WorkerTimeouts::default(), "", &[]).await.expect("swept");
    let page = site.page("/queues/mail").await;
    assert!(page.contains("2 ended jobs deleted before their time in the last hour"), "{page}");
    assert_eq!(site.get("/api/1/queues/mail").await.ok()["dropped"], 2);
}
