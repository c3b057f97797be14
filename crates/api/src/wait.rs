//! Requests that wait: for how long they may, and how many of them.

use std::time::Duration;

use keyrack_web::{Problem, error::invalid};

/// The longest wait: proxies hang up on requests that take longer.
pub(super) const WAIT_S_MAX: f64 = 60.0;

/// The time that a request is willing to wait.
pub(super) fn time(wait_s: Option<f64>) -> Result<Duration, Problem> {
    let seconds = wait_s.unwrap_or(0.0);
    if !(0.0..=WAIT_S_MAX).contains(&seconds) {
        return Err(invalid("wait_s", format!("{seconds}; give 0 to {WAIT_S_MAX} seconds")));
    }
    Ok(Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use axum::{
        http::{StatusCode, header},
        response::IntoResponse as _,
    };

    use std::sync::Arc;

    use keyrack_web::{App, WAITING_MAX};

    use super::*;

    #[tokio::test]
    async fn who_finds_no_place_is_told_when_to_come_back() {
        let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
        let services = keyrack_services::Services::new(store, Default::default());
        let app = App::new(Arc::new(services), Default::default());
        let others = app.waiting.try_acquire_many(WAITING_MAX as u32).expect("all places");
        let refused = app.permit_to_wait().expect_err("no place").into_response();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
        drop(others);
        assert!(app.permit_to_wait().is_ok());
    }

    #[test]
    fn nobody_waits_for_longer_than_a_minute() {
        assert_eq!(time(None).expect("no wait"), Duration::ZERO);
        assert_eq!(time(Some(0.5)).expect("a wait"), Duration::from_millis(500));
        for wrong in [-0.1, 60.1, f64::NAN, f64::INFINITY] {
            time(Some(wrong)).expect_err("no time");
        }
    }
}
