//! Alerts that somebody has acknowledged or muted.

use keyrack_identity::{ALERT_MUTE_S_MAX, ALERT_MUTES_MAX, AlertMute, AlertMuteKind, Identity};
use keyrack_testkit::on_every_store_at;

use crate::world::{NOW_MS, assert_clean};

fn mute(alert: &str, kind: AlertMuteKind, for_ms: u64) -> AlertMute {
    let (reason, actor) = ("moved to video".to_owned(), "ada".to_owned());
    AlertMute { alert: alert.into(), kind, reason, actor, at: 0, until: NOW_MS + for_ms }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alert_is_muted_until_its_end_or_until_it_is_taken_back_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let identity = Identity::new(store.clone());
        let (first, second) = (
            mute("no-worker mail", AlertMuteKind::Muted, 60_000),
            mute("paused", AlertMuteKind::Acknowledged, 5_000),
        );
        identity.mute_alert(first.clone()).await.expect("muted");
        identity.mute_alert(second.clone()).await.expect("acknowledged");
        let at_first = |mute: &AlertMute| AlertMute { at: NOW_MS, ..mute.clone() };
        let mutes = identity.alert_mutes().await.expect("mutes");
        assert_eq!(mutes, [at_first(&second), at_first(&first)]);
        clock.advance_ms(5_000);
        assert_eq!(identity.alert_mutes().await.expect("mutes"), [at_first(&first)]);
        // What has ended makes room when another comes, and the same again replaces what was said.
        let longer = mute("no-worker mail", AlertMuteKind::Acknowledged, 90_000);
        identity.mute_alert(longer.clone()).await.expect("changed");
        let mutes = identity.alert_mutes().await.expect("mutes");
        assert_eq!(mutes, [AlertMute { at: NOW_MS + 5_000, ..longer }]);
        assert_clean(&store).await;
        assert!(identity.unmute_alert("no-worker mail").await.expect("taken back"));
        assert!(!identity.unmute_alert("no-worker mail").await.expect("gone already"));
        assert!(!identity.unmute_alert("paused").await.expect("ended"));
        assert_eq!(identity.alert_mutes().await.expect("mutes"), []);
    })
    .await;
}

#[tokio::test]
async fn a_mute_has_a_reason_and_an_end_and_there_are_not_too_many() {
    let (store, _clock) = keyrack_testkit::simulated_store(NOW_MS, 1).await;
    let identity = Identity::new(store);
    let good = mute("paused mail", AlertMuteKind::Muted, 1_000);
    for (wrong, field) in [
        (AlertMute { alert: String::new(), ..good.clone() }, "alert: 0 bytes"),
        (AlertMute { alert: "x".repeat(601), ..good.clone() }, "alert: 601 bytes"),
        (AlertMute { reason: " ".into(), ..good.clone() }, "reason: 0 characters"),
        (AlertMute { reason: "x".repeat(301), ..good.clone() }, "reason: 301 characters"),
        (AlertMute { until: NOW_MS, ..good.clone() }, "until: "),
        (AlertMute { until: NOW_MS + ALERT_MUTE_S_MAX * 1_000 + 1, ..good.clone() }, "until: "),
    ] {
        let told = identity.mute_alert(wrong).await.expect_err("refused").to_string();
        assert!(told.starts_with(field), "{field}: {told}");
    }
    assert_eq!(identity.alert_mutes().await.expect("mutes"), []);
    for n in 0..ALERT_MUTES_MAX {
        let one = mute(&format!("paused q{n}"), AlertMuteKind::Muted, 1_000);
        identity.mute_alert(one).await.expect("muted");
    }
    let told = identity.mute_alert(good).await.expect_err("full").to_string();
    assert!(told.contains("take one back"), "{told}");
    let again = mute("paused q7", AlertMuteKind::Acknowledged, 2_000);
    identity.mute_alert(again).await.expect("one that is there already");
}
