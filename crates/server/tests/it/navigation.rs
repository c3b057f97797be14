//! Getting about: the groups of pages, the palette, lists as files, and pages on paper and on screens of any width.

use serde_json::{Value as Json, json};

use crate::{
    browser::{ENTER, Visitor, tour},
    site::{Answer, Site},
};

/// The key that is held for chords.
const CONTROL: char = '\u{e009}';
const DOWN: &str = "\u{e015}";
const ESCAPE: &str = "\u{e00c}";

/// Widths of screens from a small phone to a large desk.
const WIDTHS: [u32; 8] = [360, 480, 700, 834, 1_024, 1_280, 1_920, 2_560];

/// What the palette lists.
const LISTED: &str = "[...document.querySelectorAll('#palette li')].map((item) => item.innerText)";

impl Visitor {
    /// Opens the palette and types.
    async fn look_up(&self, text: &str) {
        let is_open = "document.activeElement.matches('#palette[open] input')";
        self.browser.chord(CONTROL, 'k').await;
        self.browser.wait_until(is_open).await;
        self.browser.press(text).await;
    }

    async fn is_listed(&self, text: &str) {
        let is_there = format!("{LISTED}.some((item) => item.includes({}))", json!(text));
        self.browser.wait_until(&is_there).await;
    }

    /// What is chosen, as screen readers tell it.
    async fn chosen(&self) -> String {
        let chosen = "document.getElementById(document.querySelector('#palette input')\
            .getAttribute('aria-activedescendant')).innerText";
        self.browser.evaluate(chosen).await.as_str().unwrap_or_default().to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_queues_jobs_keys_and_actions_are_found_by_keyboard() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let jid = site.submit("mail%2Fsend", json!({"delay": 3_600_000})).await;
    site.submit("video", json!({})).await;
    visitor.open("/").await;
    visitor.is_at("/").await;

    visitor.look_up("l/se").await;
    visitor.is_listed("mail/send").await;
    assert!(!visitor.browser.evaluate(LISTED).await.to_string().contains("video"));
    let barriers = browser.barriers().await;
    assert!(barriers.is_empty(), "{barriers:#?}");
    browser.press(ENTER).await;
    visitor.is_at("/queues/mail%2Fsend").await;

    visitor.look_up(jid.as_str()).await;
    visitor.is_listed("of mail/send").await;
    browser.press(ENTER).await;
    visitor.is_at(&format!("/jobs/{jid}")).await;

    // A page, and not the first that matches.
    visitor.look_up("re").await;
    visitor.is_listed("Recurring").await;
    while !visitor.chosen().await.starts_with("Recommender") {
        browser.press(DOWN).await;
    }
    browser.press(ENTER).await;
    visitor.is_at("/recommender").await;

    // A key that is there, by its whole name.
    let key = format!("bee:h:jobs:{jid}");
    visitor.look_up(&key).await;
    visitor.is_listed(&key).await;
    browser.press(ENTER).await;
    visitor.is_at("/key").await;

    // A button of the page.
    visitor.open("/queues/video").await;
    visitor.is_at("/queues/video").await;
    visitor.look_up("Pause").await;
    visitor.is_listed("Pause").await;
    while !visitor.chosen().await.starts_with("Pause action") {
        browser.press(DOWN).await;
    }
    browser.press(ENTER).await;
    visitor.shows("Paused: jobs that run go on").await;

    visitor.is_at("/queues/video").await;
    visitor.look_up("no such thing").await;
    visitor.shows("Nothing is called that.").await;
    browser.press(ESCAPE).await;
    browser.wait_until("!document.getElementById('palette').open").await;
    visitor.ends_well().await;
}

/// A body that came in parts: each stands after a line with its length in hex.
fn whole(answer: &Answer) -> String {
    if answer.header("transfer-encoding") != Some("chunked") {
        return answer.body.clone();
    }
    let (mut rest, mut whole) = (answer.body.as_str(), String::new());
    loop {
        let (length, after) = rest.split_once("\r\n").expect("a length");
        let length = usize::from_str_radix(length, 16).expect("a number");
        if length == 0 {
            return whole;
        }
        whole.push_str(&after[..length]);
        rest = after[length..].strip_prefix("\r\n").expect("the end of a part");
    }
}

#[tokio::test]
async fn lists_are_had_as_csv_and_as_json_lines() {
    const JOBS: usize = 120;
    let site = Site::start().await;
    let broke = |n: usize| if n.is_multiple_of(2) { "it broke, \"badly\"" } else { "=1+1" };
    site.fail_with("mail", JOBS, broke).await;
    site.submit(
        "video",
        json!({"data": [1.5, {"n": 12_345_678_901_234_567_890_u64}], "tags": ["a", "b"]}),
    )
    .await;

    // More than are on a page, and each once.
    let csv = site.get("/export/jobs/csv?queue=mail&place=failed").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"jobs.csv\""));
    assert_eq!(csv.header("transfer-encoding"), Some("chunked"), "it is read while it is sent");
    let text = whole(&csv);
    let lines: Vec<&str> = text.split("\r\n").filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 1 + JOBS, "{csv:?}");
    assert!(lines[0].starts_with("jid,queue,status,submitted,"), "{}", lines[0]);
    assert!(text.contains("\"it broke, \"\"badly\"\"\""), "{csv:?}");
    assert!(text.contains(",'=1+1,"), "no cell is a formula: {csv:?}");

    let json_lines = async |path: &str| -> Vec<Json> {
        let answer = site.get(path).await;
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{answer:?}");
        whole(&answer).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let jobs = json_lines("/export/jobs/ndjson?queue=mail").await;
    let ids: std::collections::HashSet<_> = jobs.iter().map(|job| job["jid"].as_str()).collect();
    assert_eq!((jobs.len(), ids.len()), (JOBS, JOBS));
    let raw = whole(&site.get("/export/jobs/ndjson?queue=video").await);
    assert!(raw.contains("\"data\":[1.5,{\"n\":12345678901234567890}]"), "{raw}");

    let queues = json_lines("/export/queues/ndjson?sort=-failed").await;
    assert_eq!((&queues[0]["queue"], &queues[0]["failed"]), (&json!("mail"), &json!(JOBS)));
    assert_eq!((queues.len(), &queues[1]["paused"]), (2, &json!(false)));
    let errors = json_lines("/export/errors/ndjson?queue=mail").await;
    assert_eq!((errors.len(), &errors[0]["failed"]), (2, &json!(JOBS / 2)));

    for path in ["/export/jobs/xls", "/export/jobs/csv?place=x", "/export/queues/csv?sort=x"] {
        assert_eq!(site.get(path).await.status, 422, "{path}");
    }
    for (page, path) in [
        ("/find?queue=mail", "/export/jobs/csv?queue=mail"),
        ("/jobs?state=failed", "/export/queues/csv?state=failed"),
        ("/errors?text=broke", "/export/errors/ndjson?text=broke"),
    ] {
        let told = site.page(page).await;
        assert!(told.contains(&format!("href=\"{path}\"")), "{path}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_is_wider_than_any_screen() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let job = visitor.site.furnish().await;
    let mut found = Vec::new();
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        for width in WIDTHS {
            browser.resize(width, 900).await;
            let wide = browser.evaluate("document.documentElement.scrollWidth").await;
            if wide.as_u64() > Some(width.into()) {
                found.push(format!("{name} is {wide} wide on {width}"));
            }
            // And nothing of the way to other pages is cut off.
            let cut = "[...document.querySelectorAll('header a, header button')]\
                .filter((one) => one.offsetParent !== null)\
                .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5)\
                .map((one) => one.innerText)";
            let cut = browser.evaluate(cut).await;
            if cut != json!([]) {
                found.push(format!("{name} cuts {cut} on {width}"));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_on_paper_is_what_it_says_without_what_is_for_screens() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    visitor.site.submit("mail", json!({})).await;
    visitor.open("/queues/mail").await;
    let shown = |what: &str| format!("document.querySelector('{what}').offsetParent !== null");
    assert_eq!(browser.evaluate(&shown("main form")).await, true);
    browser.print().await;
    for what in ["header nav", "footer a", "main form"] {
        assert_eq!(browser.evaluate(&shown(what)).await, false, "{what}");
    }
    assert_eq!(browser.evaluate(&shown("h1")).await, true);
}
