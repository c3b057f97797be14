//! Delays between failed authentications, by the address they come from.
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

/// Failed authentications by address.
#[derive(Debug, Default)]
pub(super) struct AuthThrottle {
    by_address: Mutex<HashMap<IpAddr, AddressFailures>>,
}

#[derive(Debug)]
struct AddressFailures {
    /// Tries that were wrong, or are not known yet to have been right.
    n_wrong: u32,
    /// When the next one may be made.
    next_at: Instant,
}

impl AuthThrottle {
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
        let mut by_address = self.by_address.lock();
        let from = network(from);
        if by_address.len() >= ADDRESSES_MAX && !by_address.contains_key(&from) {
            make_room(&mut by_address, now);
        }
        let failures =
            by_address.entry(from).or_insert(AddressFailures { n_wrong: 0, next_at: now });
        if now.saturating_duration_since(failures.next_at) >= FORGET_AFTER {
            failures.n_wrong = 0;
        }
        if failures.next_at > now {
            return Err(failures.next_at);
        }
        // Counted as wrong until it is known to be right, so that many tries at once gain nothing.
        failures.n_wrong = failures.n_wrong.saturating_add(1);
        failures.next_at = now + delay(failures.n_wrong).min(delay_max);
        Ok(())
    }

    /// Notes that a try was right. The address may be that of many, so what others got wrong still counts.
    pub(super) fn note_success(&self, from: IpAddr) {
        let mut by_address = self.by_address.lock();
        let from = network(from);
        if let Some(failures) = by_address.get_mut(&from) {
            failures.n_wrong = failures.n_wrong.saturating_sub(1);
            if failures.n_wrong == 0 {
                by_address.remove(&from);
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

/// What one client can use: an IPv6 network has more addresses than a table can hold.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn make_room(by_address: &mut HashMap<IpAddr, AddressFailures>, now: Instant) {
    by_address.retain(|_, failures| now.saturating_duration_since(failures.next_at) < FORGET_AFTER);
    if by_address.len() >= ADDRESSES_MAX {
        let mut next_at: Vec<Instant> =
            by_address.values().map(|failures| failures.next_at).collect();
        let (_, &mut median, _) = next_at.select_nth_unstable(ADDRESSES_MAX / 2);
        by_address.retain(|_, failures| failures.next_at > median);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::IpAddr,
        time::{Duration, Instant},
    };

    use super::{ADDRESSES_MAX, AuthThrottle, FORGET_AFTER, FREE};

    const DELAY_MAX: Duration = Duration::from_secs(1);

    fn address(n: usize) -> IpAddr {
        IpAddr::from((n as u32).to_be_bytes())
    }

    /// How many tries an address gets in a minute, if it takes every one it can get.
    fn tries_in_a_minute(auth_throttle: &AuthThrottle, from: IpAddr, start: Instant) -> usize {
        let (mut n, mut now) = (0, start);
        while now < start + Duration::from_secs(60) {
            match auth_throttle.ask(from, now, DELAY_MAX) {
                Ok(()) => n += 1,
                Err(next_at) => now = next_at,
            }
        }
        n
    }

    #[test]
    fn an_address_gets_a_few_tries_and_then_about_one_in_the_longest_delay() {
        let auth_throttle = AuthThrottle::default();
        let start = Instant::now();
        for _ in 0..FREE {
            assert_eq!(auth_throttle.ask(address(1), start, DELAY_MAX), Ok(()));
        }
        let tries = tries_in_a_minute(&auth_throttle, address(1), start);
        assert!((60..=70).contains(&tries), "{tries}");
        // Another one is not affected, and this one is forgiven in the end.
        assert_eq!(auth_throttle.ask(address(2), start, DELAY_MAX), Ok(()));
        let later = start + Duration::from_secs(60) + DELAY_MAX + FORGET_AFTER;
        for _ in 0..FREE {
            assert_eq!(auth_throttle.ask(address(1), later, DELAY_MAX), Ok(()));
        }
    }

    #[test]
    fn who_knows_the_password_never_waits_for_itself() {
        let auth_throttle = AuthThrottle::default();
        let now = Instant::now();
        for _ in 0..100 {
            assert_eq!(auth_throttle.ask(address(1), now, DELAY_MAX), Ok(()));
            auth_throttle.note_success(address(1));
        }
        assert!(auth_throttle.by_address.lock().is_empty());
    }

    #[test]
    fn no_delay_means_no_table() {
        let auth_throttle = AuthThrottle::default();
        for _ in 0..100 {
            assert_eq!(auth_throttle.ask(address(1), Instant::now(), Duration::ZERO), Ok(()));
        }
        assert!(auth_throttle.by_address.lock().is_empty());
    }

    #[test]
    fn the_table_stays_small_and_a_network_counts_as_one() {
        let auth_throttle = AuthThrottle::default();
        let now = Instant::now();
        for n in 0..3 * ADDRESSES_MAX {
            assert_eq!(auth_throttle.ask(address(n), now, DELAY_MAX), Ok(()));
            assert!(auth_throttle.by_address.lock().len() <= ADDRESSES_MAX);
        }
        let auth_throttle = AuthThrottle::default();
        for n in 0..1000u32 {
            let address: IpAddr = format!("2001:db8::{n:x}").parse().expect("an address");
            let _ = auth_throttle.ask(address, now, DELAY_MAX);
        }
        assert_eq!(auth_throttle.by_address.lock().len(), 1);
    }
}
