//! Who guesses passwords is made to wait, by the address the guesses come from.
//!
//! The first few wrong ones cost nothing: people mistype, and programs start with an old setting. From then on an address
//! has one try at a time, further and further apart up to `auth-delay-max`. Only connections that have not given
//! the password are affected, and nobody is refused for good.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Wrong passwords that an address may give before it has to wait.
const FREE: u32 = 5;
/// The first wait; each following one is twice as long.
const DELAY_MIN: Duration = Duration::from_millis(50);
/// An address that has been quiet for so long starts afresh.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Addresses to remember; beyond that, those whose turn comes first are forgotten.
const ADDRESSES_MAX: usize = 10_000;

/// Who has guessed wrong.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    guessers: Mutex<HashMap<IpAddr, Guesser>>,
}

#[derive(Debug)]
struct Guesser {
    /// Tries that were wrong, or are not known yet to have been right.
    n_wrong: u32,
    /// When the next one may be made.
    next_at: Instant,
}

impl Guesses {
    /// Asks for a try at `now`; otherwise tells when to ask again.
    pub(super) fn ask(
        &self,
        from: IpAddr,
        now: Instant,
        delay_max: Duration,
    ) -> Result<(), Instant> {
        if delay_max.is_zero() {
            return Ok(());
        }
        let mut guessers = self.guessers.lock();
        let from = network(from);
        if guessers.len() >= ADDRESSES_MAX && !guessers.contains_key(&from) {
            make_room(&mut guessers, now);
        }
        let guesser = guessers.entry(from).or_insert(Guesser { n_wrong: 0, next_at: now });
        if now.saturating_duration_since(guesser.next_at) >= FORGET_AFTER {
            guesser.n_wrong = 0;
        }
        if guesser.next_at > now {
            return Err(guesser.next_at);
        }
        // Counted as wrong until it is known to be right, so that many tries at once gain nothing.
        guesser.n_wrong = guesser.n_wrong.saturating_add(1);
        guesser.next_at = now + delay(guesser.n_wrong).min(delay_max);
        Ok(())
    }

    /// Notes that a try was right. The address may be that of many, so what others got wrong still counts.
    pub(super) fn note_right(&self, from: IpAddr) {
        let mut guessers = self.guessers.lock();
        let from = network(from);
        if let Some(guesser) = guessers.get_mut(&from) {
            guesser.n_wrong = guesser.n_wrong.saturating_sub(1);
            if guesser.n_wrong == 0 {
                guessers.remove(&from);
            }
        }
    }
}

/// How long to wait after so many wrong ones.
fn delay(n_wrong: u32) -> Duration {
    match n_wrong.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(doublings) => DELAY_MIN.saturating_mul(1 << doublings.min(16)),
    }
}

/// What one guesser has at hand: an IPv6 network has more addresses than a table can hold.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn make_room(guessers: &mut HashMap<IpAddr, Guesser>, now: Instant) {
    guessers.retain(|_, guesser| now.saturating_duration_since(guesser.next_at) < FORGET_AFTER);
    if guessers.len() >= ADDRESSES_MAX {
        let mut next_at: Vec<Instant> = guessers.values().map(|guesser| guesser.next_at).collect();
        let (_, &mut median, _) = next_at.select_nth_unstable(ADDRESSES_MAX / 2);
        guessers.retain(|_, guesser| guesser.next_at > median);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::IpAddr,
        time::{Duration, Instant},
    };

    use super::{ADDRESSES_MAX, FORGET_AFTER, FREE, Guesses};

    const DELAY_MAX: Duration = Duration::from_secs(1);

    fn address(n: usize) -> IpAddr {
        IpAddr::from((n as u32).to_be_bytes())
    }

    /// How many tries an address gets in a minute, if it takes every one it can get.
    fn tries_in_a_minute(guesses: &Guesses, from: IpAddr, start: Instant) -> usize {
        let (mut n, mut now) = (0, start);
        while now < start + Duration::from_secs(60) {
            match guesses.ask(from, now, DELAY_MAX) {
                Ok(()) => n += 1,
                Err(next_at) => now = next_at,
            }
        }
        n
    }

    #[test]
    fn an_address_gets_a_few_tries_and_then_about_one_in_the_longest_delay() {
        let guesses = Guesses::default();
        let start = Instant::now();
        for _ in 0..FREE {
            assert_eq!(guesses.ask(address(1), start, DELAY_MAX), Ok(()));
        }
        let tries = tries_in_a_minute(&guesses, address(1), start);
        assert!((60..=70).contains(&tries), "{tries}");
        // Another one is not affected, and this one is forgiven in the end.
        assert_eq!(guesses.ask(address(2), start, DELAY_MAX), Ok(()));
        let later = start + Duration::from_secs(60) + DELAY_MAX + FORGET_AFTER;
        for _ in 0..FREE {
            assert_eq!(guesses.ask(address(1), later, DELAY_MAX), Ok(()));
        }
    }

    #[test]
    fn who_knows_the_password_never_waits_for_itself() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(guesses.ask(address(1), now, DELAY_MAX), Ok(()));
            guesses.note_right(address(1));
        }
        assert!(guesses.guessers.lock().is_empty());
    }

    #[test]
    fn no_delay_means_no_table() {
        let guesses = Guesses::default();
        for _ in 0..100 {
            assert_eq!(guesses.ask(address(1), Instant::now(), Duration::ZERO), Ok(()));
        }
        assert!(guesses.guessers.lock().is_empty());
    }

    #[test]
    fn the_table_stays_small_and_a_network_counts_as_one() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for n in 0..3 * ADDRESSES_MAX {
            assert_eq!(guesses.ask(address(n), now, DELAY_MAX), Ok(()));
            assert!(guesses.guessers.lock().len() <= ADDRESSES_MAX);
        }
        let guesses = Guesses::default();
        for n in 0..1000u32 {
            let address: IpAddr = format!("2001:db8::{n:x}").parse().expect("an address");
            let _ = guesses.ask(address, now, DELAY_MAX);
        }
        assert_eq!(guesses.guessers.lock().len(), 1);
    }
}
