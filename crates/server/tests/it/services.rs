//! The pages of the services, and something of each service to look at.

use std::time::Duration;

use keyrack_entitlements::keys as entitlement_keys;
use keyrack_files::{Buckets, File, Files, Sweep, keys as file_keys};
use keyrack_identity::Role;
use keyrack_journeys::{
    Journeys, NewEvent, Prompt, UserAction, keys as journey_keys, keys::JourneyUid,
};
use keyrack_keys::{Key, UserSub};
use keyrack_progress::{BarSettings, NewTrace, Sampling, StepConfig, Update};
use keyrack_updates::{Updates, keys::Repo};
use serde_json::json;

use crate::{
    browser::Visitor,
    site::{Answer, Site},
};

/// The journey of a furnished site.
const JOURNEY: &str = "oseh_j_q7Jw0aYl3";

/// The pages of the services of a furnished site, with their names.
pub(crate) fn tour() -> Vec<(&'static str, String)> {
    vec![
        ("progress", "/progress".to_owned()),
        ("bar", "/progress/alice/import".into()),
        ("trace", "/progress/alice/import/r-4711".into()),
        ("entitlements", "/entitlements?user=alice".into()),
        ("files", "/files".into()),
        ("journeys", "/journeys".into()),
        ("journey", format!("/journeys/{JOURNEY}")),
        ("updates", "/updates".into()),
    ]
}

/// Text that would do harm if it were taken for markup.
const BAD: &str = "<script>window.broken=1</script>";

fn user(sub: &str) -> UserSub {
    UserSub::new(sub).expect("a user")
}

impl Site {
    async fn shown(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    }

    async fn sends(&self, path: &str, body: &str) -> Answer {
        let origin = format!("http://{}", self.addr);
        let headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", &*origin)];
        self.send("POST", path, &headers, body).await
    }

    /// A command about a key, as another program would send it.
    async fn command(&self, name: &str, key: &Key, args: &[&str]) {
        let mut cmd = redis::cmd(name);
        cmd.arg(&*self.store.place(key)).arg(args);
        cmd.exec_async(&mut self.store.connection()).await.expect(name);
    }

    fn seconds(&self) -> f64 {
        self.store.now_ms() as f64 / 1000.0
    }

    /// Something of every service.
    pub(crate) async fn furnish_services(&self) {
        self.furnish_progress().await;
        self.furnish_files("uploads").await;
        self.furnish_entitlements("alice", 4).await;
        let updates = Updates::new(self.store.clone());
        for repo in ["backend", "backend", "jobs"] {
            updates.announce(&Repo::new(repo).expect("a name")).await.expect("announced");
        }
        let prompt = Prompt::Word {
            text: "What brings you here?".into(),
            options: vec!["calm".into(), "focus".into(), "sleep".into()],
        };
        self.furnish_journey(prompt, "traveller").await;
    }

    /// Runs that are over, and some under way.
    async fn furnish_progress(&self) {
        let progress = self.progress();
        let settings =
            BarSettings { sampling_technique: Sampling::SimpleRandom, ..Default::default() };
        let alice = user("alice");
        progress
            .create_bar(&alice, "import", settings, StepConfig::default())
            .await
            .expect("a bar");
        let begin = self.seconds() - 280.0;
        for n in 0..40_u32 {
            let at = begin + f64::from(n) * 5.0;
            let pace = 1.0 + 0.4 * f64::from((n * 7) % 11) / 11.0;
            self.run_trace("alice", "import", &format!("run{n}"), at, pace).await;
        }
        for n in 0..3_u32 {
            let (bar, at) = ("nightly export", begin + f64::from(n) * 20.0);
            self.run_trace("bob", bar, &format!("export{n}"), at, 2.0 + f64::from(n)).await;
        }
        let now = self.seconds();
        self.begin_trace("alice", "import", "r-4711", now - 9.0).await;
        self.move_trace("alice", "import", "r-4711", 42, now - 1.0).await;
        self.begin_trace("bob", "nightly export", "r-4712", now - 4.0).await;
        self.begin_trace("carol", "first of its kind", "r-4713", now - 2.0).await;
        self.move_trace("carol", "first of its kind", "r-4713", 10, now).await;
    }

    /// A whole run: opened, a hundred rows copied, indexed.
    async fn run_trace(&self, sub: &str, bar: &str, uid: &str, at: f64, pace: f64) {
        self.begin_trace(sub, bar, uid, at).await;
        self.move_trace(sub, bar, uid, 60, at + 3.0 * pace).await;
        let progress = self.progress();
        let index = update(bar, uid, "index", at + 8.0 * pace);
        progress.update_trace(&user(sub), &index).await.expect("indexes");
        let last = Update { done: true, now: at + 10.0 * pace, ..index };
        progress.finish_trace(&user(sub), &last).await.expect("finished");
    }

    async fn begin_trace(&self, sub: &str, bar: &str, uid: &str, now: f64) {
        let new = NewTrace {
            pbar_name: bar.into(),
            uid: uid.into(),
            step_name: "open".into(),
            iterations: None,
            now,
            reports_every: None,
        };
        self.progress().create_trace(&user(sub), &new).await.expect("begun");
        let copy = Update {
            iteration: Some(0),
            iterations: Some(100),
            ..update(bar, uid, "copy", now + 0.5)
        };
        self.progress().update_trace(&user(sub), &copy).await.expect("copies");
    }

    async fn move_trace(&self, sub: &str, bar: &str, uid: &str, iteration: u64, now: f64) {
        let on = Update {
            iteration: Some(iteration),
            iterations: Some(100),
            ..update(bar, uid, "copy", now)
        };
        self.progress().update_trace(&user(sub), &on).await.expect("goes on");
    }

    /// Files to delete: due, later, and two that cannot be.
    async fn furnish_files(&self, bucket: &str) {
        let files = Files::new(self.store.clone());
        let now = self.seconds();
        for member in [
            "no file at all",
            r#"{"bucket": "lost-bucket", "key": "a/b.png", "hint": "avatar upload"}"#,
        ] {
            self.command("ZADD", &file_keys::purgatory(), &[&(now - 90.0).to_string(), member])
                .await;
        }
        let nowhere = Buckets::folder(self.files.path().join("nowhere"));
        let swept = Sweep::new(&files, &nowhere).run().await.expect("swept");
        assert_eq!(swept.failed, 2);
        for n in 0..6_u64 {
            let file = File::new(bucket, format!("videos/{n}/original.mp4")).hint("video upload");
            files.enter(&file, Duration::from_secs(600 * n)).await.expect("entered");
        }
        files
            .request_deletion(bucket, "old/avatar.png", Some("account closed"))
            .await
            .expect("asked");
    }

    /// What is known about somebody, failures of the source, and a checkout.
    async fn furnish_entitlements(&self, sub: &str, failures: u32) {
        let now = self.seconds();
        let value = |is_active: bool, expires_at: Option<f64>| {
            json!({"is_active": is_active, "expires_at": expires_at, "checked_at": now - 120.0})
                .to_string()
        };
        let key = entitlement_keys::entitlements(&user(sub));
        let (pro, plus) = (value(true, Some(now + 864_000.0)), value(false, None));
        self.command("HSET", &key, &["pro", &pro, "plus", &plus]).await;
        self.command("EXPIRE", &key, &["80000"]).await;
        for n in 0..failures {
            let at = now - 250.0 + 20.0 * f64::from(n);
            let args = [&*at.to_string(), &format!("e{n}")];
            self.command("ZADD", &entitlement_keys::revenue_cat_errors(), &args).await;
        }
        let uid =
            entitlement_keys::CheckoutUid::new("oseh_oscs_AAECAwQFBgcICQoLDA0ODw").expect("a uid");
        let (begun, due) = ((now - 60.0).to_string(), (now + 240.0).to_string());
        let fields = [
            "user_sub",
            sub,
            "stripe_session_id",
            "cs_1",
            "created_at",
            &begun,
            "last_checked_at",
            &begun,
            "expires_at",
            &due,
        ];
        self.command("HSET", &entitlement_keys::checkout_session(&uid), &fields).await;
        self.command("ZADD", &entitlement_keys::checkouts_due(), &[&due, uid.as_str()]).await;
        self.command("ZADD", &entitlement_keys::checkouts(&user(sub)), &[&begun, uid.as_str()])
            .await;
    }

    /// A journey on which some answer.
    async fn furnish_journey(&self, prompt: Prompt, who: &str) -> JourneyUid {
        let journeys = Journeys::new(self.store.clone());
        let uid = JourneyUid::new(JOURNEY).expect("a uid");
        let (text, now) = (json!(prompt).to_string(), self.seconds().to_string());
        let fields =
            ["prompt", &text, "style", prompt.style(), "low", "0", "high", "2", "duration", "90"];
        self.command("HSET", &journey_keys::journey(&uid), &fields).await;
        self.command("HSET", &journey_keys::journey(&uid), &["created_at", &now]).await;
        self.command("ZADD", &journey_keys::all(), &[&now, JOURNEY]).await;
        for n in 0..24_u32 {
            let user = user(&format!("{who}{n}"));
            let session = journeys.start_session(&uid, &user).await.expect("a session");
            let mut acts =
                vec![(UserAction::Join, 0.0), (UserAction::Word(n % 3), 2.0 + f64::from(n))];
            acts.extend((n % 2 == 0).then_some((UserAction::Like, 30.0 + f64::from(n))));
            acts.extend((n % 5 == 0).then_some((UserAction::Leave, 60.0)));
            for (act, journey_time) in acts {
                let new =
                    NewEvent { journey: &uid, session: &session, user: &user, act, journey_time };
                journeys.event(new).await.expect("an event");
            }
        }
        uid
    }
}

fn update(bar: &str, uid: &str, step: &str, now: f64) -> Update {
    Update {
        pbar_name: bar.into(),
        trace_uid: uid.into(),
        step_name: step.into(),
        iteration: None,
        iterations: None,
        done: false,
        now,
    }
}

#[track_caller]
fn has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part:?} is not in {page}");
    }
}

#[tokio::test]
async fn empty_pages_say_what_to_type_next() {
    let site = Site::start().await;
    for (path, command) in [
        ("/progress", "keyrack progress run import -- sleep 3"),
        ("/files", "keyrack files rm BUCKET KEY"),
        ("/journeys", "keyrack journeys create"),
        ("/entitlements?user=alice", "keyrack entitlements show alice"),
    ] {
        has(&site.shown(path).await, &[command]);
    }
}

#[tokio::test]
async fn bars_of_all_users_are_shown_and_filtered_by_the_address() {
    let site = Site::start().await;
    site.furnish_progress().await;
    let page = site.shown("/progress").await;
    has(&page, &["/progress/alice/import\"", "/progress/bob/nightly%20export\"", "r-4711"]);
    has(&page, &["copy 42 of 100", "not known yet", "class=\"band\""]);
    let page = site.shown("/progress?user=bob").await;
    assert!(page.contains("nightly export") && !page.contains("/progress/alice/import"));
    let page = site.shown("/progress?bar=impo").await;
    assert!(page.contains("/progress/alice/import") && !page.contains("/progress/bob/nightly"));
    has(&site.shown("/progress?user=nobody").await, &["No bar matches"]);
}

#[tokio::test]
async fn bar_shows_its_steps_and_past_traces_and_each_has_a_page() {
    let site = Site::start().await;
    site.furnish_progress().await;
    let page = site.shown("/progress/alice/import").await;
    has(&page, &["for the next run", "open", "copy", "index", "<circle", "Past traces", "r-4711"]);
    let past = page.split("href=\"/progress/alice/import/ep_").nth(1).expect("a past trace");
    let past = past.split('"').next().expect("its id");
    let page = site.shown(&format!("/progress/alice/import/ep_{past}")).await;
    has(&page, &["class=\"status past\"", "Took", "index"]);
    let page = site.shown("/progress/alice/import/r-4711").await;
    has(&page, &["class=\"status running\"", "42 of 100", "Remaining"]);
    for gone in ["/progress/alice/none", "/progress/nobody/import", "/progress/alice/import/none"] {
        assert_eq!(site.get(gone).await.status, 404, "{gone}");
    }
}

#[tokio::test]
async fn trace_is_followed_to_its_end() {
    let site = Site::start().await;
    let now = site.seconds();
    site.begin_trace("alice", "import", "t1", now).await;
    let mut events =
        site.stream("/progress/alice/import/t1", &[("Accept", "text/event-stream")]).await;
    while !events.next_text().await.contains("0 of 100") {}
    site.move_trace("alice", "import", "t1", 30, now).await;
    while !events.next_text().await.contains("30 of 100") {}
    let last = Update {
        iteration: Some(100),
        iterations: Some(100),
        done: true,
        ..update("import", "t1", "copy", now)
    };
    site.progress().update_trace(&user("alice"), &last).await.expect("done");
    while !events.next_text().await.contains("class=\"status completed\"") {}
}

#[tokio::test]
async fn user_is_looked_up_and_forgotten() {
    let site = Site::start().await;
    site.furnish_entitlements("alice", 3).await;
    let page = site.shown("/entitlements?user=alice").await;
    has(&page, &["<code>pro</code>", "active", "inactive", "2 min ago", "the store", "3 failures"]);
    has(&page, &["Open checkouts of alice", "class=\"status completed\">closed"]);
    let purged = site.sends("/entitlements/purge", "user=alice").await;
    assert_eq!(purged.header("location"), Some("/entitlements?user=alice"), "{purged:?}");
    has(&site.shown("/entitlements?user=alice").await, &["Nothing is known here yet"]);
    assert_eq!(site.sends("/entitlements/purge", "user=").await.status, 422);
}

#[tokio::test]
async fn overview_tells_of_an_open_breaker_and_a_poisoned_file_and_where_to_look() {
    let site = Site::start().await;
    let page = site.shown("/").await;
    has(&page, &["Nothing needs attention", "traces under way", "files to delete"]);
    site.furnish_entitlements("alice", 10).await;
    site.furnish_files("b").await;
    let mut events = site.stream("/", &[("Accept", "text/event-stream")]).await;
    let page = loop {
        let page = events.next_text().await;
        if page.contains("names no file") {
            break page;
        }
    };
    has(&page, &["href=\"/entitlements\"", "the billing provider is failing", "href=\"/files\""]);
}

#[tokio::test]
async fn files_that_fail_come_first_and_can_be_kept_and_the_rest_swept() {
    let site = Site::start().await;
    std::fs::create_dir_all(site.files.path().join("b/old")).expect("a bucket");
    let avatar = site.files.path().join("b/old/avatar.png");
    std::fs::write(&avatar, "picture").expect("a file");
    site.furnish_files("b").await;
    let page = site.shown("/files").await;
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part:?} is not in {page}"));
    assert!(at("no file at all") < at("videos/0/original.mp4"));
    has(&page, &["video upload", "1 time", "in 5", "Sweep now"]);
    let dry = site.shown("/files?due=true").await;
    assert!(dry.contains("old/avatar.png") && !dry.contains("videos/5/original.mp4"));
    assert!(avatar.exists(), "looking deletes nothing");

    let kept = site.sends("/files/keep", "member=no+file+at+all").await;
    assert_eq!(kept.status, 303, "{kept:?}");
    assert!(!site.shown("/files").await.contains("no file at all"));
    assert_eq!(site.sends("/files/sweep", "").await.status, 303);
    let mut events = site.stream("/files", &[("Accept", "text/event-stream")]).await;
    while !events.next_text().await.contains("1 file deleted, 1 gone already, 0 failed") {}
    assert!(!avatar.exists());
}

#[tokio::test]
async fn journey_rains_and_is_counted() {
    let site = Site::start().await;
    let options = vec!["yes".into(), "no".into(), "maybe".into()];
    let uid = site.furnish_journey(Prompt::Word { text: "Well?".into(), options }, "t").await;
    has(&site.shown("/journeys").await, &["Well?", "word", &format!("/journeys/{uid}")]);
    let page = site.shown(&format!("/journeys/{uid}")).await;
    has(&page, &["class=\"like\"", "answers maybe", "on the journey", "65 events", "<td>yes</td>"]);
    assert_eq!(site.get("/journeys/none").await.status, 404);
}

#[tokio::test]
async fn announcements_are_shown_with_their_repository() {
    let site = Site::start().await;
    has(&site.shown("/updates").await, &["backend", "never"]);
    Updates::new(site.store.clone())
        .announce(&Repo::new("backend").expect("a name"))
        .await
        .expect("announced");
    has(&site.shown("/updates").await, &["heard by 0"]);
}

#[tokio::test]
async fn markup_in_names_stays_text_on_all_pages() {
    let site = Site::start().await;
    let now = site.seconds();
    let bar = "<script>window.broken=1</script>/x";
    site.run_trace(BAD, bar, "t1", now - 200.0, 1.0).await;
    site.begin_trace(BAD, bar, "t2", now).await;
    site.furnish_entitlements(BAD, 1).await;
    let files = Files::new(site.store.clone());
    files.enter(&File::new("b", BAD).hint(BAD), Duration::ZERO).await.expect("entered");
    site.command("ZADD", &file_keys::purgatory(), &["1", BAD]).await;
    let sweep = Buckets::folder(site.files.path().join("nowhere"));
    Sweep::new(&files, &sweep).run().await.expect("swept");
    let options = vec![BAD.into(), BAD.into(), BAD.into()];
    let journey = site.furnish_journey(Prompt::Word { text: BAD.into(), options }, BAD).await;
    Updates::new(site.store.clone())
        .announce(&Repo::new(BAD).expect("a name"))
        .await
        .expect("announced");
    let coded = "%3Cscript%3Ewindow.broken%3D1%3C%2Fscript%3E";
    for path in [
        "/".to_owned(),
        "/progress".into(),
        format!("/progress?user={coded}&bar={coded}"),
        format!("/progress/{coded}/{coded}%2Fx"),
        format!("/progress/{coded}/{coded}%2Fx/t2"),
        format!("/entitlements?user={coded}"),
        "/files".into(),
        "/files?due=true".into(),
        "/journeys".into(),
        format!("/journeys/{journey}"),
        format!("/journeys/{coded}"),
        "/updates".into(),
    ] {
        let page = site.send("GET", &path, &[("Accept", "text/html")], "").await;
        assert!(page.status < 500, "{path}: {page:?}");
        assert!(!page.body.contains("<script>window"), "{path}");
    }
    has(&site.shown("/files").await, &["&#60;script&#62;window.broken=1"]);
}

#[tokio::test]
async fn nothing_that_is_asked_breaks_these_pages() {
    let site = Site::start().await;
    for path in [
        "/progress?cursor=x",
        "/progress?cursor=9-9",
        "/progress?user=a&user=b",
        "/progress/%FF/x",
        "/progress/a/%00",
        "/entitlements?user=%00",
        "/files?from=-1",
        "/files?from=99999999999999999999999",
        "/files?from=18446744073709551615",
        "/files?due=x",
        "/journeys?from=18446744073709551615",
        "/journeys/%FF",
    ] {
        let answer = site.get(path).await;
        assert!(answer.status < 500, "{path}: {answer:?}");
    }
    for path in ["/entitlements/purge", "/files/keep"] {
        let answer = site.sends(path, "%FF=%00&&&==").await;
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
    }
}

#[tokio::test]
async fn viewers_see_the_same_without_forms_that_change_things() {
    let site = Site::start().await;
    site.furnish_services().await;
    let viewer = format!("bearer {}", site.token_of("eve", Role::Viewer).await);
    for path in ["/files", "/entitlements?user=alice"] {
        let page = site.send("GET", path, &[("Authorization", &viewer)], "").await;
        assert_eq!(page.status, 200, "{path}: {page:?}");
        for form in ["/files/sweep", "/files/keep", "/entitlements/purge"] {
            assert!(!page.body.contains(form), "{path} has {form}");
        }
    }
    let refused = site.send("POST", "/files/sweep", &[("Authorization", &viewer)], "").await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn live_page_of_bars_does_not_jump() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    site.furnish_progress().await;
    visitor.open("/progress").await;
    browser.wait_until("document.getElementById('pause').dataset.state === 'live'").await;
    let places = "JSON.stringify([...document.querySelectorAll('h1, h2, thead th')].map((it) => { const { x, y, width } = it.getBoundingClientRect(); return [x, y, width]; }))";
    visitor.shows("copy 42 of 100").await;
    let before = browser.evaluate(places).await;
    site.move_trace("alice", "import", "r-4711", 97, site.seconds()).await;
    visitor.shows("copy 97 of 100").await;
    assert_eq!(browser.evaluate(places).await, before);
    visitor.ends_well().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_are_reached_by_keyboard() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.furnish_services().await;
    visitor.open("/").await;
    for (keys, path) in [
        ("gp", "/progress"),
        ("ge", "/entitlements"),
        ("gl", "/files"),
        ("gy", "/journeys"),
        ("gd", "/updates"),
    ] {
        browser.wait_until("document.getElementById('help')?.hidden === false").await;
        browser.press(keys).await;
        browser.wait_until(&format!("location.pathname === '{path}'")).await;
    }
    visitor.open("/progress?user=alice").await;
    visitor.shows("import").await;
    browser.wait_until("document.getElementById('help')?.hidden === false").await;
    browser.press("j").await;
    browser.press("\u{e007}").await;
    browser.wait_until("location.pathname.startsWith('/progress/alice/import')").await;
    visitor.ends_well().await;
}
