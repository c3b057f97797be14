use axum::{http::header, response::IntoResponse as _};
use keyrack_jobs::bee::keys::QueueName;

use keyrack_jobs::{Error, recurring};
use keyrack_recommender as recommender;
use keyrack_store as store;

use super::*;

/// What a client gets: status, type, field and the seconds to wait.
#[track_caller]
fn check(problem: impl Into<Problem>, expected: (u16, &str, Option<&str>, Option<u32>)) {
    let problem = problem.into();
    let body = serde_json::to_value(problem.body()).expect("JSON");
    let response = problem.into_response();
    let wait = response.headers().get(header::RETRY_AFTER);
    let wait = wait.map(|wait| wait.to_str().expect("text").parse().expect("a number"));
    let told = (
        response.status().as_u16(),
        body["type"].as_str().expect("a type"),
        body["field"].as_str(),
        wait,
    );
    assert_eq!(told, expected, "{body}");
    assert_eq!(body["status"], expected.0);
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
}

fn jid() -> String {
    "j".into()
}

fn unreachable() -> store::Error {
    store::Error::Unreachable { target: "the store".into(), reason: "refused".into() }
}

fn answered(code: &'static str) -> store::Error {
    let reply = format!("-{code} what happened\r\n");
    let value = redis::parse_redis_value(reply.as_bytes()).and_then(redis::Value::extract_error);
    value.expect_err("an error").into()
}

#[test]
fn a_bad_name_is_422() {
    check(Error::Part(QueueName::new("").expect_err("empty")), (422, "bad_name", None, None));
}

#[test]
fn a_bad_value_is_422_and_names_its_field() {
    let error = Error::Invalid { field: "delay", reason: "-1".into() };
    check(error, (422, "invalid", Some("delay"), None));
}

#[test]
fn a_missing_job_is_404() {
    check(Error::NoSuchJob { jid: jid() }, (404, "job_not_found", None, None));
}

#[test]
fn a_missing_queue_is_404() {
    check(
        Error::NoSuchQueue { queue: "q".into(), similar: None },
        (404, "queue_not_found", None, None),
    );
}

#[test]
fn a_missing_group_of_failures_is_404() {
    let error = Error::NoSuchErrorGroup { queue: "q".into(), group: "g".into() };
    check(error, (404, "error_group_not_found", None, None));
}

#[test]
fn a_job_that_exists_is_409() {
    check(Error::Exists { jid: jid() }, (409, "job_exists", None, None));
}

#[test]
fn a_canceled_parent_is_409() {
    check(Error::ParentCanceled { parent: jid() }, (409, "parent_canceled", None, None));
}

#[test]
fn a_job_in_another_state_is_409() {
    let error = Error::Conflict { jid: jid(), status: "queued".into(), hint: "wait" };
    check(error, (409, "job_conflict", None, None));
}

#[test]
fn a_queue_with_jobs_is_409() {
    check(
        Error::QueueNotEmpty { queue: "q".into(), left: 1 },
        (409, "queue_not_empty", None, None),
    );
}

#[test]
fn a_store_that_is_away_is_503_with_a_time_to_come_back() {
    check(Error::Store(unreachable()), (503, "store_unavailable", None, Some(2)));
    check(Error::Store(answered("LOADING")), (503, "store_unavailable", None, Some(2)));
}

#[test]
fn every_reply_that_says_not_now_is_503_with_a_time_to_come_back() {
    for code in [
        "MOVED",
        "ASK",
        "TRYAGAIN",
        "CLUSTERDOWN",
        "READONLY",
        "LOADING",
        "OOM",
        "MISCONF",
        "NOREPLICAS",
        "MASTERDOWN",
        "BUSY",
    ] {
        check(Error::Store(answered(code)), (503, "store_unavailable", None, Some(2)));
    }
    let aborted = "EXECABORT Transaction discarded because of: OOM";
    check(Error::Store(answered(aborted)), (503, "store_unavailable", None, Some(2)));
}

#[test]
fn a_store_that_does_not_let_the_server_in_is_503_by_another_name() {
    check(Error::Store(answered("NOAUTH")), (503, "store_denied", None, Some(2)));
    check(Error::Store(answered("WRONGPASS")), (503, "store_denied", None, Some(2)));
}

#[test]
fn a_write_that_too_few_replicas_have_is_503_by_another_name() {
    let behind = store::Error::NotReplicated { acknowledged: 0, wanted: 1 };
    check(Error::Store(behind), (503, "not_replicated", None, Some(2)));
}

#[test]
fn a_store_that_refuses_is_500_and_its_words_are_kept_back() {
    let problem = Problem::from(Error::Store(answered("NOPERM")));
    let body = serde_json::to_string(&problem.body()).expect("JSON");
    assert!(!body.contains("what happened"), "{body}");
    check(problem, (500, "store_failed", None, None));
}

#[test]
fn a_missing_recurring_job_is_404() {
    let error = recurring::Error::NoSuchJob { name: "n".into() };
    check(error, (404, "recurring_job_not_found", None, None));
}

#[test]
fn another_list_of_recurring_jobs_is_409() {
    let error = recurring::Error::OtherList { found: "a".into(), ours: "b".into() };
    check(error, (409, "other_list", None, None));
    let error = recurring::Error::NewerList { found: 2, ours: 1 };
    check(error, (409, "other_list", None, None));
}

#[test]
fn changes_of_recurring_jobs_that_cannot_be_made_are_409_and_422() {
    use recurring::{DefinitionError, Error};
    let name = || "n".to_owned();
    let fixed = Error::InList { name: name(), origin: name() };
    check(fixed, (409, "recurring_job_fixed", None, None));
    check(Error::Exists { name: name(), version: 1 }, (409, "recurring_job_exists", None, None));
    let other = Error::OtherVersion { name: name(), given: 1, found: 2 };
    check(other, (409, "other_version", None, None));
    check(Error::TooMany { max: 1 }, (409, "too_many_recurring_jobs", None, None));
    let reason = DefinitionError::NoZone;
    check(Error::Definition { name: name(), reason }, (422, "invalid", Some("zone"), None));
}

#[test]
fn what_befalls_the_queue_of_a_recurring_job_is_told_as_for_any_job() {
    let source = Error::Store(unreachable());
    let error = recurring::Error::Bee { queue: "q".into(), source };
    check(error, (503, "store_unavailable", None, Some(2)));
    check(recurring::Error::Store(unreachable()), (503, "store_unavailable", None, Some(2)));
}

#[test]
fn a_recurring_job_that_cannot_be_made_is_500() {
    let error = recurring::Error::NobodyKnows { names: vec!["n".into()] };
    check(error, (500, "store_failed", None, None));
}

#[test]
fn a_problem_in_a_list_names_its_place() {
    let problem = invalid("delay", "-1").within(3);
    check(problem, (422, "invalid", Some("[3].delay"), None));
    check(
        bad_name(&QueueName::new("").expect_err("empty")).within(0),
        (422, "bad_name", Some("[0]"), None),
    );
}

#[test]
fn a_post_that_cannot_be_recommended_is_404() {
    check(recommender::Error::NoSuchPost { post: 7 }, (404, "post_not_found", None, None));
}

#[test]
fn a_bad_wish_for_recommendations_is_422() {
    let error = recommender::Error::Invalid { what: "no such cursor".into() };
    check(error, (422, "invalid", None, None));
    let error = recommender::user_id("").expect_err("empty");
    check(error, (422, "bad_name", None, None));
}

#[test]
fn a_load_beside_another_is_409_and_one_without_tables_or_cut_off_is_503() {
    check(recommender::Error::Busy, (409, "busy", None, None));
    let error = recommender::Error::Source { table: "post".into(), reason: "gone".into() };
    check(error, (503, "tables_unavailable", None, Some(15)));
    check(recommender::Error::Stopped, (503, "stopped", None, Some(1)));
    check(recommender::Error::Store(unreachable()), (503, "store_unavailable", None, Some(2)));
}
