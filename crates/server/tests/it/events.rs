//! What happens to jobs, as a stream.

use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn the_life_of_a_job_is_streamed() {
    let site = Site::start().await;
    let mut events = site.stream("/api/1/jobs/events?queue=emails", &[]).await;
    let jid = site.submit("emails", json!({"data": ["a"]})).await;
    let new = events.next().await;
    assert_eq!((new.kind.as_str(), &new.data["jid"]), ("new", &jid.as_str().into()));
    assert_eq!((&new.data["type"], &new.data["queue"]), (&"new".into(), &"emails".into()));
    site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
    let canceled = events.next().await;
    assert_eq!(canceled.kind, "canceled");
    assert_eq!(canceled.data["job"]["data"], json!(["a"]));
    assert!(!new.id.is_empty() && new.id != canceled.id);
}

#[tokio::test]
async fn a_client_that_comes_back_is_told_of_the_gap() {
    let site = Site::start().await;
    let mut events =
        site.stream("/api/1/jobs/events?queue=emails", &[("Last-Event-ID", "7-1")]).await;
    let gap = events.next().await;
    assert_eq!((gap.kind.as_str(), gap.data), ("gap", json!({})));
    site.submit("emails", json!({})).await;
    assert_eq!(events.next().await.kind, "new");
}

#[tokio::test]
async fn events_are_chosen_by_kind_job_and_queue() {
    let site = Site::start().await;
    let path =
        "/api/1/jobs/events?queue=emails&queue=mail%2Fsend&type=canceled&type=resumed&job=false";
    let mut ends = site.stream(path, &[]).await;
    let first = site.submit("emails", json!({})).await;
    let mut about = site.stream(&format!("/api/1/jobs/events?queue=emails&jid={first}"), &[]).await;
    let second = site.submit("mail%2Fsend", json!({})).await;
    site.submit("other", json!({})).await;
    for jid in [&second, &first] {
        site.delete(&format!("/api/1/jobs/{jid}")).await.ok();
        let event = ends.next().await;
        assert_eq!((event.kind.as_str(), &event.data["jid"]), ("canceled", &jid.as_str().into()));
        assert_eq!(event.data.get("job"), None);
    }
    assert_eq!(about.next().await.data["jid"], first.as_str());
    for bad in ["type=nothing-known", "queue=", "jib=x"] {
        let answer = site.get(&format!("/api/1/jobs/events?{bad}")).await;
        assert_eq!(answer.status, 422, "{bad}: {answer:?}");
    }
}

#[tokio::test]
async fn queues_that_come_later_are_followed_too() {
    let site = Site::start().await;
    let mut events = site.stream("/api/1/jobs/events", &[]).await;
    site.submit("emails", json!({})).await;
    // Its first event may have come too early, which the gap admits.
    assert_eq!(events.next().await.kind, "gap");
    let jid = site.submit("emails", json!({})).await;
    assert_eq!(events.next().await.data["jid"], jid.as_str());
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_is_kept_alive() {
    let site = Site::start().await;
    let began = tokio::time::Instant::now();
    let mut events = site.stream("/api/1/jobs/events?queue=emails", &[]).await;
    events.comment().await;
    events.comment().await;
    let seconds = began.elapsed().as_secs();
    assert!((29..=60).contains(&seconds), "two comments within {seconds} s");
}
