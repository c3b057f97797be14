//! Alerts that somebody acknowledges or mutes, pages while the store is away, and what the audit log leads to.

use keyrack_testkit::{Browser, RedisServer};
use serde_json::{Value as Json, json};

use crate::{
    browser::{ENTER, TAB, Visitor},
    site::Site,
};

const HOUR_MS: u64 = 3_600_000;

impl Site {
    /// A queue that holds failed jobs: one alert, because two failures do not make a queue that fails.
    async fn with_failed_jobs(&self, queue: &str) {
        self.fail_with(queue, 2, |_| "it broke").await;
    }

    /// What `GET /alerts` lists under this name: which alerts, and who has said something about them.
    async fn alerts_in(&self, list: &str) -> Vec<(String, Json)> {
        let told = self.get("/api/1/alerts").await.ok();
        let alerts = told[list].as_array().expect("a list").iter();
        let name = |alert: &Json| alert["alert"].as_str().expect("a name").to_owned();
        alerts.map(|alert| (name(alert), alert["mute"]["kind"].clone())).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_muted_by_keyboard_and_unmuted_again() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    site.with_failed_jobs("mail").await;
    visitor.open("/").await;
    visitor.shows("failed jobs held").await;
    visitor.is_at("/").await;
    // From the row of the alert on to its button.
    browser.press("j").await;
    browser.wait_until("document.activeElement.matches('.alerts [data-row]')").await;
    for _ in 0..3 {
        browser.press(TAB).await;
        let there = "document.activeElement.matches('a[href^=\"/alerts/mute\"]')";
        if browser.evaluate(there).await == true {
            break;
        }
    }
    browser.press(ENTER).await;
    visitor.is_at("/alerts/mute").await;
    browser.wait_until("document.activeElement.name === 'kind'").await;
    browser.press("m").await;
    browser.wait_until("document.querySelector('[name=kind]').value === 'muted'").await;
    browser.press(TAB).await;
    browser.press("2h").await;
    browser.press(TAB).await;
    browser.press("moving to video").await;
    browser.press(ENTER).await;
    visitor.shows("Muted until").await;
    visitor.is_at("/").await;
    visitor.shows("1 muted").await;
    let row = "document.querySelectorAll('section > .alerts [data-row]').length";
    assert_eq!(browser.evaluate(row).await, 0, "it is not among the alerts");
    assert_eq!(site.alerts_in("muted").await, [("failed-held mail".into(), json!("muted"))]);

    browser.click("details.muted summary").await;
    visitor.shows("muted by local until").await;
    visitor.shows("moving to video").await;
    browser.click("details.muted form button").await;
    visitor.shows("It is among the alerts again.").await;
    assert_eq!(site.alerts_in("alerts").await, [("failed-held mail".into(), Json::Null)]);
    visitor.ends_well().await;
}

#[tokio::test]
async fn an_acknowledged_alert_stays_behind_the_others_with_its_reason() {
    let site = Site::start().await;
    for queue in ["mail", "video"] {
        site.with_failed_jobs(queue).await;
    }
    let form = "alert=failed-held+mail&kind=acknowledged&reason=ada+is+on+it&time=1h";
    let page = site.follow(&site.form("/alerts/mute", form).await).await;
    for part in ["Acknowledged until", "acknowledged by local until", "ada is on it", "Take back"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let expected = [
        ("failed-held video".into(), Json::Null),
        ("failed-held mail".into(), json!("acknowledged")),
    ];
    assert_eq!(site.alerts_in("alerts").await, expected);

    for (form, told) in [
        ("alert=failed-held+mail&kind=muted&reason=&time=1h", "reason: 0 characters"),
        ("alert=failed-held+mail&kind=muted&reason=x&time=soon", "time: &#34;soon&#34;"),
        ("alert=failed-held+mail&kind=muted&reason=x&time=31d", "until: "),
        ("alert=failed-held+mail&kind=gone&reason=x&time=1h", "kind: &#34;gone&#34;"),
        ("alert=nothing&kind=muted&reason=x&time=1h", "it begins with one of no-worker"),
    ] {
        let refused = site.form("/alerts/mute", form).await;
        assert_eq!(refused.status, 422, "{form}: {refused:?}");
        assert!(refused.body.contains(told), "{told}: {refused:?}");
    }
    assert_eq!(site.alerts_in("alerts").await, expected, "nothing of that is stored");
}

#[tokio::test]
async fn alerts_are_muted_over_http_one_by_one_and_by_kind() {
    let site = Site::start().await;
    for queue in ["mail", "video", "sms"] {
        site.with_failed_jobs(queue).await;
    }
    // Three of a kind are one row, with something to do about it.
    assert_eq!(site.alerts_in("alerts").await, [("failed-held".into(), Json::Null)]);
    let page = site.page("/").await;
    assert!(page.contains("3 queues") && page.contains("Show causes"), "{page}");
    let until = site.hive.now_ms() + HOUR_MS;
    let all = json!({"alert": "failed-held", "kind": "muted", "reason": "known", "until": until});
    let muted = site.post("/api/1/alerts/mute", all).await.ok();
    assert_eq!((&muted["reason"], &muted["until"]), (&json!("known"), &json!(until)));
    assert_eq!(site.alerts_in("alerts").await, []);
    assert_eq!(site.alerts_in("muted").await, [("failed-held".into(), json!("muted"))]);
    for (body, field) in [
        (json!({"alert": "failed-held", "kind": "x", "reason": "r", "until": until}), "kind"),
        (json!({"alert": "x", "kind": "muted", "reason": "r", "until": until}), "alert"),
        (json!({"alert": "paused", "kind": "muted", "reason": "", "until": until}), "reason"),
        (json!({"alert": "paused", "kind": "muted", "reason": "r", "until": 5}), "until"),
    ] {
        let refused = site.post("/api/1/alerts/mute", body).await;
        assert_eq!((refused.status, refused.field().as_deref()), (422, Some(field)));
    }
    let back = json!({"alert": "failed-held"});
    assert_eq!(site.post("/api/1/alerts/unmute", back.clone()).await.status, 204);
    site.post("/api/1/alerts/unmute", back).await.problem(404, "alert_not_muted");
    assert_eq!(site.alerts_in("alerts").await, [("failed-held".into(), Json::Null)]);
    site.assert_audited("alert_muted", "failed-held: known").await;
    site.assert_audited("alert_unmuted", "failed-held").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_grey_out_while_the_store_is_away_and_the_badge_says_so() {
    let mut server = RedisServer::builder().append_only().start();
    let site = Site::on(&server.url(), Vec::new()).await;
    let visitor = Visitor { site, browser: Browser::start().await };
    let browser = &visitor.browser;
    for _ in 0..7 {
        visitor.site.submit("mail", json!({})).await;
    }
    for path in ["/queues/mail", "/"] {
        visitor.open(path).await;
        let is_live = "document.getElementById('pause').dataset.state === 'live' \
            && !document.querySelector('#live.stale')";
        browser.wait_until(is_live).await;
        visitor.shows("7").await;
        server.kill();
        let is_away = "document.getElementById('pause').dataset.state === 'store away' \
            && document.querySelector('#live.stale[aria-busy=true]')";
        browser.wait_until(is_away).await;
        visitor.shows("Trying again every second.").await;
        let told = browser.text("#live").await;
        assert!(told.contains('7'), "the numbers of before are there: {told}");
        server.restart();
        browser.wait_until(is_live).await;
        browser.wait_until("document.getElementById('trouble').hidden").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_the_audit_log_lead_to_what_they_changed() {
    let visitor = Visitor::new().await;
    let (site, browser) = (&visitor.site, &visitor.browser);
    let jid = site.submit("mail", json!({"delay": 60_000})).await;
    site.form(&format!("/jobs/{jid}/change"), "priority=3").await;
    site.form("/queues/mail/pause", "").await;
    visitor.open("/audit").await;
    browser.click("a[href='/queues/mail']").await;
    visitor.is_at("/queues/mail").await;
    visitor.open("/audit").await;
    browser.click(&format!("a[href='/jobs/{jid}']")).await;
    visitor.is_at(&format!("/jobs/{jid}")).await;
    visitor.ends_well().await;
}
