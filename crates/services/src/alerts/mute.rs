//! Which alerts somebody has acknowledged or muted.

use std::collections::HashMap;

use keyrack_identity::{AlertMute, AlertMuteKind, Error};

use super::{Alert, AlertFacts, AlertKind, single_alerts};
use crate::Services;

const KINDS: [AlertKind; 9] = [
    AlertKind::NoWorker,
    AlertKind::Failing,
    AlertKind::LostWorker,
    AlertKind::Behind,
    AlertKind::Dropped,
    AlertKind::Paused,
    AlertKind::FailedHeld,
    AlertKind::Poison,
    AlertKind::Single,
];

impl Services {
    /// Acknowledges or mutes an alert, or all of a kind, whether or not there is one now.
    ///
    /// # Errors
    /// When there is no such kind, and as [`keyrack_identity::Identity::mute_alert`].
    pub async fn mute_alert(&self, mute: AlertMute) -> Result<AlertMute, Error> {
        let kind = mute.alert.split(' ').next().unwrap_or_default();
        if !KINDS.iter().any(|known| known.word() == kind) {
            let words = KINDS.map(AlertKind::word).join(", ");
            let reason = format!("\"{}\"; it begins with one of {words}", mute.alert);
            return Err(Error::Invalid { field: "alert", reason });
        }
        self.identity.mute_alert(mute).await
    }
}

impl Alert {
    /// What says in a mute that it is about this alert: its kind and what it is about, or its kind alone if it stands for several.
    pub fn mute_key(&self) -> String {
        match self.members.is_empty() {
            true => self.key(),
            false => self.kind.word().to_owned(),
        }
    }
}

/// Alerts that nobody looks after, those that are acknowledged, and those that are muted.
pub(super) fn sorted_out(facts: &AlertFacts) -> [Vec<Alert>; 3] {
    let in_force = facts.mutes.iter().filter(|mute| mute.until > facts.now_ms);
    let mutes: HashMap<&str, &AlertMute> =
        in_force.map(|mute| (mute.alert.as_str(), mute)).collect();
    let [mut open, mut acknowledged, mut muted] = [const { Vec::new() }; 3];
    for mut alert in single_alerts(facts) {
        // What is said about one alert counts more than what is said about all of its kind.
        let mute = mutes.get(alert.key().as_str()).or_else(|| mutes.get(alert.kind.word()));
        alert.mute = mute.map(|mute| (*mute).clone());
        match mute.map(|mute| mute.kind) {
            None => open.push(alert),
            Some(AlertMuteKind::Acknowledged) => acknowledged.push(alert),
            Some(AlertMuteKind::Muted) => muted.push(alert),
        }
    }
    [open, acknowledged, muted]
}
