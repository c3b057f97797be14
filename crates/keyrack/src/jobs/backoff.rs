//! How long to wait before retries, as it is typed.

use std::time::Duration;

use keyrack_format as format;
use keyrack_jobs::bee::{Backoff, BackoffKind, BackoffWish};

use super::names;

#[derive(Debug, Clone, clap::Args)]
pub(super) struct BackoffArgs {
    /// Wait TIME before the first retry [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    retry_delay: Option<Duration>,
    /// How the waits grow: fixed, linear (1, 2, 3, … times --retry-delay) or exponential (1, 2, 4, … times) [default: fixed]
    #[arg(long, value_name = "KIND")]
    backoff: Option<BackoffKind>,
    /// Wait at most TIME before a retry
    #[arg(long, value_name = "TIME", value_parser = format::duration::parse, allow_hyphen_values = true)]
    retry_delay_max: Option<Duration>,
    /// Shorten each wait by a random share of up to SHARE, from 0 to 1, so that jobs do not come back together
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = names::share)]
    retry_jitter: Option<f64>,
}

impl BackoffArgs {
    /// What was typed.
    pub(super) fn wish(&self) -> BackoffWish {
        let ms = |time: Option<Duration>| time.map(|time| time.as_millis() as f64);
        BackoffWish {
            kind: self.backoff,
            progressive: false,
            delay: ms(self.retry_delay),
            longest: ms(self.retry_delay_max),
            jitter: self.retry_jitter,
        }
    }

    /// What is typed changes a backoff, and the rest stays.
    pub(super) fn applied_to(&self, backoff: Option<Backoff>) -> Option<Backoff> {
        let wish = self.wish();
        let Ok(Some(typed)) = wish.backoff() else { return backoff };
        let Some(before) = backoff else { return Some(typed) };
        Some(Backoff {
            kind: wish.kind.unwrap_or(before.kind),
            delay_ms: wish.delay.unwrap_or(before.delay_ms),
            max_ms: wish.longest.or(before.max_ms),
            jitter: wish.jitter.or(before.jitter),
        })
    }
}

/// A backoff in words.
pub(super) fn in_words(backoff: &Backoff) -> String {
    let time = |ms: f64| format::duration::typed(Duration::from_millis(ms as u64));
    let mut words = format!("{} waits of {} before retries", backoff.kind, time(backoff.delay_ms));
    if let Some(max_ms) = backoff.max_ms {
        words = format!("{words}, at most {}", time(max_ms));
    }
    if let Some(share) = backoff.jitter {
        words = format!("{words}, {}% of it random", share * 100.0);
    }
    words
}
