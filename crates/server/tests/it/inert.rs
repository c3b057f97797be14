//! Text that looks like markup or script stays text, in every field and wherever it is shown.

use serde_json::json;

use crate::{
    browser::{Visitor, tour},
    site::Site,
};

/// What would run if a page took it for its own, in a form that a name of anything may have.
const BAD: &str = "<script>window.broken=1</script><img/src=x/onerror=window.broken=1>";

/// The name of a worker has no such letters as would end it.
const BAD_WORKER: &str = "<img/src=x/onerror=window.broken=1>";

/// Whether something has run, or has become part of the page without running.
const IS_BROKEN: &str =
    "window.broken === 1 || document.querySelector('body script, img[src=x]') !== null";

/// How many forms of a page somebody can type into.
const FORMS: &str = "[...document.forms].filter((form) => fields(form).length > 0)";
const FIELDS: &str = "const fields = (form) => [...form.querySelectorAll('input:not([type=hidden], [type=checkbox], [type=number], [type=password]), textarea')]";

#[tokio::test(flavor = "multi_thread")]
async fn script_in_any_field_of_any_form_stays_inert() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let job = visitor.site.furnish().await;
    let mut sent = 0;
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        let count = format!("(() => {{ {FIELDS}; return {FORMS}.length; }})()");
        let forms = browser.evaluate(&count).await.as_u64().expect("a number");
        for form in 0..forms {
            visitor.open(&path).await;
            browser.evaluate(&fill_and_send(form)).await;
            browser.wait_until("window.filled !== 1 && document.readyState === 'complete'").await;
            assert_eq!(browser.evaluate(IS_BROKEN).await, false, "{name}, form {form}");
            sent += 1;
        }
    }
    assert!(sent >= 5, "{sent} forms");
    // And wherever what was sent is shown by now.
    for (name, path) in tour(&job) {
        visitor.open(&path).await;
        assert_eq!(browser.evaluate(IS_BROKEN).await, false, "{name}");
    }
}

/// Types into all fields of a form, whatever they ask for, and sends it.
fn fill_and_send(form: u64) -> String {
    let bad = json!(BAD);
    format!(
        "(() => {{ {FIELDS}; const form = {FORMS}[{form}]; fields(form).forEach((field) => (field.value = {bad})); \
         window.filled = 1; form.submit(); }})()"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn script_in_a_job_stays_inert_on_live_pages() {
    let visitor = Visitor::new().await;
    let browser = &visitor.browser;
    let queue = BAD.replace('<', "%3C").replace('>', "%3E").replace('/', "%2F");
    let job = json!({"data": [BAD], "tags": [BAD], "tenant": BAD, "retries": 0});
    let jid = visitor.site.submit(&queue, job).await;
    let [claimed] = &visitor.site.claim(&queue, BAD_WORKER, 1).await[..] else { panic!("one job") };
    let outcome = json!({"worker": BAD_WORKER, "attempt": claimed["attempt"], "message": BAD, "retry": false});
    let answer = visitor.site.post(&format!("/api/1/jobs/{jid}/fail"), outcome).await;
    assert!(answer.status < 300, "{answer:?}");
    for path in ["/".to_owned(), "/jobs".into(), format!("/jobs/{jid}"), format!("/queues/{queue}")]
    {
        visitor.open(&path).await;
        // What comes over the stream is put into the page by the script.
        browser.wait_until("document.getElementById('pause').dataset.state === 'live'").await;
        assert_eq!(browser.evaluate(IS_BROKEN).await, false, "{path}");
    }
    for path in [format!("/find?queue={queue}"), format!("/key?name=bee:h:jobs:{jid}")] {
        visitor.open(&path).await;
        visitor.shows(BAD).await;
        assert_eq!(browser.evaluate(IS_BROKEN).await, false, "{path}");
    }
    visitor.ends_well().await;
}

#[tokio::test]
async fn pages_allow_no_script_or_style_that_stands_in_them_and_have_none() {
    let site = Site::start().await;
    let job = site.furnish().await;
    for (name, path) in tour(&job) {
        let page = site.send("GET", &path, &[("Accept", "text/html")], "").await;
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'"), "{name}: {policy}");
        assert!(!policy.contains("unsafe"), "{name}: {policy}");
        for part in ["<style", " style=\"", "javascript:", "<script>"] {
            assert!(!page.body.contains(part), "{name} has {part}");
        }
        let has_handler = page.body.split('<').any(|tag| {
            let tag = tag.split('>').next().unwrap_or_default();
            tag.split(' ').skip(1).any(|word| word.starts_with("on") && word.contains("=\""))
        });
        assert!(!has_handler, "{name}");
    }
}
