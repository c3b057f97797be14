//! What one user may have, over HTTP.

use keyrack_identity::Role;
use keyrack_services::Quotas;
use serde_json::json;

use crate::site::{Answer, Site};

#[tokio::test]
async fn what_a_user_may_have_is_bounded_and_the_answer_says_what_to_do() {
    let progress = keyrack_progress::Quotas { bars: 1, traces: 1 };
    let site = Site::rationed(Quotas { limits: 1, progress, sessions: 1 }).await;
    let (alice, bob) = (site.token("alice").await, site.token("bob").await);
    let admin = site.token_of("root", Role::Admin).await;
    let prompt = json!({"style": "press", "text": "press"});
    let journey = json!({"prompt": prompt, "duration_seconds": 60});
    let journey = site.post_as(&admin, "/api/1/journeys", journey).await.json();
    let uid = journey["uid"].as_str().expect("a uid");
    let ticket = site.post_as(&admin, &format!("/api/1/journeys/{uid}/tickets"), json!({})).await;
    let entry = json!({"journey_jwt": ticket.json()["journey_jwt"]});

    let make = async |token: &str, kind: &str, n: u32| -> Answer {
        let (path, body) = match kind {
            "limits" => {
                let subject = format!("10.0.0.{n}");
                let take = json!({"subject": subject, "max": 1, "period_seconds": 60});
                ("/api/1/limits/search/take".to_owned(), take)
            }
            "progress_bars" => {
                ("/api/1/progress_bars/".to_owned(), json!({"name": format!("bar {n}")}))
            }
            "traces" => {
                let uid = format!("t{n}");
                let new = json!({"pbar_name": "bar 0", "uid": uid, "step_name": "open", "now": 0});
                ("/api/1/progress_bars/traces/".to_owned(), new)
            }
            _ => (format!("/api/1/journeys/{uid}/sessions"), entry.clone()),
        };
        site.post_as(token, &path, body).await
    };
    for (kind, status, setting) in [
        ("limits", 429, "quota-limits"),
        ("progress_bars", 409, "quota-bars"),
        ("traces", 429, "quota-traces"),
        ("sessions", 429, "quota-sessions"),
    ] {
        let first = make(&alice, kind, 0).await;
        assert!(first.status < 300, "{kind}: {first:?}");
        let refused = make(&alice, kind, 1).await;
        let detail = refused.problem(status, &format!("too_many_{kind}"));
        assert!(detail.contains(setting), "{kind}: {detail}");
        assert_eq!(refused.header("retry-after").is_some(), status == 429, "{kind}");
        let of_bob = make(&bob, kind, 1).await;
        assert!(of_bob.status < 300, "{kind}: {of_bob:?}");
    }
}
