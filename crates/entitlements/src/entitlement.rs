//! What is known about one entitlement of one user.

use serde::{Deserialize, Serialize};

use crate::python;

/// For how long somebody is taken to be entitled when the source of truth cannot be asked, in seconds.
pub const ASSUMED_S: f64 = 600.0;

/// Times are written with at most microseconds, so a life that differs by less is the same.
const SAME_S: f64 = 1e-3;

/// Whether a user may use something, as it was last found out. Times are unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Entitlement {
    /// Whether the user is entitled. Nothing else decides, not even an `expires_at` that has passed.
    pub is_active: bool,
    /// When it ends unless renewed; `None` if it does not, or is not active.
    pub expires_at: Option<f64>,
    /// When this was found out.
    pub checked_at: f64,
}

impl Entitlement {
    /// Not entitled.
    pub fn inactive(checked_at: f64) -> Entitlement {
        Entitlement { is_active: false, expires_at: None, checked_at }
    }

    /// Taken to be entitled for a while, because the source of truth cannot be asked.
    pub fn assumed(now: f64) -> Entitlement {
        Entitlement { is_active: true, expires_at: Some(now + ASSUMED_S), checked_at: now }
    }

    /// Whether this was assumed and not found out.
    ///
    /// Assumptions have no mark of their own, because their documented form has none; their length gives them away, also
    /// where another program made them. A real entitlement of exactly this length is merely checked again a little earlier.
    pub fn is_assumed(&self) -> bool {
        let length = self.expires_at.map(|expires_at| expires_at - self.checked_at);
        self.is_active && length.is_some_and(|length| (length - ASSUMED_S).abs() < SAME_S)
    }

    /// Whether it may no longer be used: an assumption whose time is over.
    pub fn is_stale(&self, now: f64) -> bool {
        self.is_assumed() && self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// As it is stored.
    pub(crate) fn to_json(self) -> String {
        python::json(&self)
    }

    /// As it was stored; what cannot be read is as good as absent.
    pub(crate) fn from_json(text: &[u8]) -> Option<Entitlement> {
        let read: Entitlement = serde_json::from_slice(text).ok()?;
        let times = [Some(read.checked_at), read.expires_at];
        times.into_iter().flatten().all(f64::is_finite).then_some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_python_writes_them() {
        let active = Entitlement {
            is_active: true,
            expires_at: Some(1_700_000_000.0),
            checked_at: 1_669_852_800.123_456,
        };
        let text =
            r#"{"is_active": true, "expires_at": 1700000000.0, "checked_at": 1669852800.123456}"#;
        assert_eq!(active.to_json(), text);
        let inactive = r#"{"is_active": false, "expires_at": null, "checked_at": 1669852800.5}"#;
        assert_eq!(Entitlement::inactive(1_669_852_800.5).to_json(), inactive);
        for value in [active, Entitlement::inactive(0.25), Entitlement::assumed(1.5)] {
            assert_eq!(Entitlement::from_json(value.to_json().as_bytes()), Some(value));
        }
    }

    #[test]
    fn what_others_wrote_is_read_and_what_is_none_is_absent() {
        let spare = br#"{"checked_at":1,"is_active":true,"expires_at":null,"more":[1]}"#;
        let read = Entitlement::from_json(spare).expect("an entitlement");
        assert_eq!((read.is_active, read.expires_at, read.checked_at), (true, None, 1.0));
        for wrong in ["", "1", "null", "{}", r#"{"is_active": 1, "checked_at": 1}"#, "\u{0}"] {
            assert_eq!(Entitlement::from_json(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn assumptions_are_known_by_their_length_and_stale_when_it_is_over() {
        for now in [0.0, 1_669_852_800.123_456, 1_794_709_387.25, 99_999_999_999.875] {
            let assumed = Entitlement::assumed(now);
            assert!(assumed.is_assumed() && !assumed.is_stale(now + 599.9), "{now}");
            assert!(assumed.is_stale(now + 600.0), "{now}");
        }
        let real = Entitlement { is_active: true, expires_at: Some(601.0), checked_at: 0.0 };
        assert!(!real.is_assumed() && !real.is_stale(1e9));
        assert!(!Entitlement::inactive(0.0).is_stale(1e9));
    }
}
