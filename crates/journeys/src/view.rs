//! What one watcher sees: the events near their own time on the journey, and no more than they can take.

use serde::Deserialize;
use tokio::time::{Duration, Instant};

use crate::Error;

/// How long after the end of a journey, beside the lookback, there may still be something to see.
const AFTER_END_S: f64 = 10.0;

/// How long before the beginning and after the end of a journey a watcher's clock may be. No clock is that wrong.
const AROUND_S: f64 = 3_600.0;

/// What a watcher asks for.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct ViewRequest {
    /// The most events per second, from 1 to 5000. What is more is left out.
    pub bandwidth: u32,
    /// How far behind the watcher's own time events may be, from 0 to 10 seconds.
    pub lookback: f64,
    /// How far ahead of it, from 0 to 10 seconds.
    pub lookahead: f64,
}

impl ViewRequest {
    /// Says which value cannot be had, and why.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check(&self) -> Result<(), Error> {
        let invalid = |field, reason| Err(Error::Invalid { field, reason });
        if !(1..=5000).contains(&self.bandwidth) {
            let reason = format!("{}; give 1 to 5000 events per second", self.bandwidth);
            return invalid("bandwidth", reason);
        }
        for (name, seconds) in [("lookback", self.lookback), ("lookahead", self.lookahead)] {
            if !(0.0..=10.0).contains(&seconds) {
                return invalid(name, format!("{seconds}; give 0 to 10 seconds"));
            }
        }
        Ok(())
    }
}

/// How a watcher's clock was found out.
#[derive(Debug, Clone, Copy)]
pub struct Sync {
    /// When the watcher was asked.
    pub sent: Instant,
    /// When the answer came.
    pub received: Instant,
    /// The watcher's time on the journey when the question came, in seconds.
    pub receive_timestamp: f64,
    /// The same when the answer went.
    pub transmit_timestamp: f64,
}

/// One watcher's clock, window and bandwidth.
#[derive(Debug, Clone)]
pub struct View {
    wish: ViewRequest,
    synced_at: Instant,
    journey_time: f64,
    /// Events that may be seen right now, and since when that holds.
    allowance: f64,
    counted_at: Instant,
}

impl View {
    /// Says why a watcher cannot be at that time on a journey of so many seconds: they may come early and stay a little.
    ///
    /// # Errors
    /// In words.
    pub fn check_time(journey_time: f64, duration_seconds: f64) -> Result<(), String> {
        if (-AROUND_S..=duration_seconds + AROUND_S).contains(&journey_time) {
            return Ok(());
        }
        Err(format!("{journey_time}; the journey lasts from 0 to {duration_seconds} seconds"))
    }

    /// A view by a clock that was found out.
    pub fn synced(wish: ViewRequest, sync: Sync) -> View {
        let elapsed = sync.received.saturating_duration_since(sync.sent).as_secs_f64();
        let thinking = sync.transmit_timestamp - sync.receive_timestamp;
        let round_trip = (elapsed - thinking).max(0.0);
        View::at(wish, sync.sent, sync.receive_timestamp + round_trip / 2.0)
    }

    /// A view by a clock that shows `journey_time` at a moment.
    pub fn at(wish: ViewRequest, moment: Instant, journey_time: f64) -> View {
        let allowance = f64::from(wish.bandwidth);
        View { wish, synced_at: moment, journey_time, allowance, counted_at: moment }
    }

    /// The watcher's time on the journey at a moment.
    pub fn journey_time(&self, moment: Instant) -> f64 {
        let since = moment.saturating_duration_since(self.synced_at);
        self.journey_time + since.as_secs_f64()
    }

    /// When nothing is left to be seen of a journey of so many seconds.
    pub fn ends_at(&self, duration_seconds: f64) -> Instant {
        let end = duration_seconds + self.wish.lookback + AFTER_END_S;
        let left = (end - self.journey_time).clamp(0.0, 1e6);
        self.synced_at + Duration::from_secs_f64(left)
    }

    /// Whether an event is seen that came at a moment.
    pub fn sees(&mut self, moment: Instant, journey_time: f64) -> bool {
        let now = self.journey_time(moment);
        let window = now - self.wish.lookback..=now + self.wish.lookahead;
        if !window.contains(&journey_time) {
            return false;
        }
        let since = moment.saturating_duration_since(self.counted_at).as_secs_f64();
        let rate = f64::from(self.wish.bandwidth);
        self.allowance = (self.allowance + since * rate).min(rate);
        self.counted_at = self.counted_at.max(moment);
        let is_allowed = self.allowance >= 1.0;
        if is_allowed {
            self.allowance -= 1.0;
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: ViewRequest = ViewRequest { bandwidth: 10, lookback: 2.0, lookahead: 1.0 };

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn the_clock_takes_half_of_the_way_into_account() {
        let sent = Instant::now();
        let received = sent + seconds(0.3);
        // The watcher took 0.1 s to answer, so that the way there and back took 0.2 s.
        let sync = Sync { sent, received, receive_timestamp: -5.0, transmit_timestamp: -4.9 };
        let view = View::synced(WISH, sync);
        assert!((view.journey_time(received) - (-5.0 + 0.3 + 0.1)).abs() < 1e-6);
        // One who claims to have answered before being asked gains nothing.
        let odd = Sync { transmit_timestamp: 100.0, ..sync };
        assert!((View::synced(WISH, odd).journey_time(sent) + 5.0).abs() < 1e-6);
    }

    #[test]
    fn only_events_in_the_window_are_seen() {
        let start = Instant::now();
        let mut view = View::at(WISH, start, 10.0);
        let seen = [7.9, 8.0, 10.0, 11.0, 11.1].map(|time| view.sees(start, time));
        assert_eq!(seen, [false, true, true, true, false]);
        assert!(view.sees(start + seconds(5.0), 14.0) && !view.sees(start + seconds(5.0), 12.0));
    }

    #[test]
    fn what_is_more_than_the_bandwidth_is_left_out() {
        let start = Instant::now();
        let mut view = View::at(WISH, start, 10.0);
        let mut count =
            |moment: Instant, time: f64| (0..100).filter(|_| view.sees(moment, time)).count();
        assert_eq!(count(start, 10.0), 10);
        assert_eq!(count(start + seconds(0.5), 10.0), 5);
        assert_eq!(count(start + seconds(60.0), 70.0), 10, "what was not used is not saved up");
    }

    #[test]
    fn a_view_ends_with_its_journey() {
        let start = Instant::now();
        let ends_at = View::at(WISH, start, -3.0).ends_at(60.0);
        assert_eq!(ends_at.duration_since(start).as_secs_f64().round(), 75.0);
        assert_eq!(View::at(WISH, start, 100.0).ends_at(60.0), start);
    }

    #[test]
    fn clocks_are_near_their_journey() {
        for time in [-3_600.0, -0.5, 0.0, 60.0, 3_660.0] {
            View::check_time(time, 60.0).expect("a good time");
        }
        for time in [-1e9, -3_601.0, 3_661.0, 1e9, f64::INFINITY, f64::NAN] {
            let refused = View::check_time(time, 60.0).expect_err("no time");
            assert!(refused.ends_with("lasts from 0 to 60 seconds"), "{refused}");
        }
    }

    #[test]
    fn wishes_have_bounds() {
        WISH.check().expect("a good wish");
        for (wish, field) in [
            (ViewRequest { bandwidth: 0, ..WISH }, "bandwidth"),
            (ViewRequest { bandwidth: 5001, ..WISH }, "bandwidth"),
            (ViewRequest { lookback: -0.1, ..WISH }, "lookback"),
            (ViewRequest { lookahead: 10.1, ..WISH }, "lookahead"),
            (ViewRequest { lookahead: f64::NAN, ..WISH }, "lookahead"),
        ] {
            assert!(wish.check().expect_err("no wish").to_string().starts_with(field));
        }
    }
}
