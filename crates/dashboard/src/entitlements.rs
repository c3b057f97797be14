//! The page of what users have paid for: somebody looked up, whether the source is asked, and checkouts that are open.

use std::{collections::BTreeSet, sync::Arc};

use askama::Template;
use axum::{body::Bytes, extract::State, response::Response};
use keyrack_entitlements::{
    BreakerReport, Counts, ERRORS_MAX, ERRORS_WINDOW_S, Entitlement, Entitlements, OpenCheckout,
    State as Breaker, UserOverview,
};
use keyrack_format as format;
use keyrack_keys::UserSub;
use keyrack_web::Problem;
use serde::Deserialize;

use super::{
    Frame, Visit, assets, form,
    frame::go_and_tell,
    link,
    live::{View, live_page, show},
    plot::ms,
    progress::user_sub,
};
use crate::Site;

/// The most open checkouts on the page.
const CHECKOUTS_MAX: usize = 30;

#[derive(Template)]
#[template(path = "entitlements.html", blocks = ["live"])]
pub(super) struct EntitlementsPage {
    frame: Frame,
    wanted: String,
    /// Whether this server asks anybody.
    is_asking: bool,
    looked_up: Option<LookedUp>,
    breaker: BreakerView,
    counts: Vec<(&'static str, String)>,
    checkouts: Vec<CheckoutRow>,
    checkouts_count: String,
}
live_page!(EntitlementsPage);

/// What is known about a user.
struct LookedUp {
    user: String,
    rows: Vec<Row>,
    /// For how long the store holds it.
    held_for: String,
    checkouts: Vec<CheckoutRow>,
}

/// An entitlement.
struct Row {
    name: String,
    state: &'static str,
    until: String,
    checked: String,
    /// Who would answer a read.
    tier: &'static str,
}

struct CheckoutRow {
    user: String,
    user_link: String,
    started: String,
    due: String,
    expires: String,
}

/// Whether the source is asked, with the failures on a line of time.
pub(super) struct BreakerView {
    pub(super) word: &'static str,
    text: String,
    failures: String,
    marks: Vec<f64>,
}

impl BreakerView {
    const WIDTH: f64 = 300.0;

    fn of(report: &BreakerReport, now: f64) -> BreakerView {
        let (word, text) = match report.state {
            Breaker::Closed => ("closed", "Requests to the source go through.".to_owned()),
            Breaker::HalfOpen => {
                let next = report.next_trial_at.map(|at| format::relative(ms(at), ms(now)));
                let next = next.unwrap_or_else(|| "soon".into());
                ("half open", format!("One request finds out whether it is back: {next}."))
            }
            Breaker::Open => {
                let until = report.open_until().map(|at| format::relative(ms(at), ms(now)));
                let until = until.unwrap_or_else(|| "soon".into());
                (
                    "open",
                    format!(
                        "The billing provider is failing; cached entitlements are used. Next try {until}."
                    ),
                )
            }
        };
        let x = |at: &f64| {
            let age = (now - at).clamp(0.0, ERRORS_WINDOW_S);
            Self::WIDTH - Self::WIDTH * age / ERRORS_WINDOW_S
        };
        BreakerView {
            word,
            text,
            failures: format!(
                "{} in the last {:.0} minutes; {ERRORS_MAX} stop it",
                format::counted(report.failures.len() as u64, "failure"),
                ERRORS_WINDOW_S / 60.0
            ),
            marks: report.failures.iter().map(x).collect(),
        }
    }

    /// Its word in the stylesheet.
    fn class(&self) -> &'static str {
        match self.word {
            "closed" => "completed",
            "open" => "failed",
            _ => "paused",
        }
    }
}

/// Whom to look up, as it stands in the address.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct EntitlementsQuery {
    user: String,
}

struct LookUp {
    user: Option<UserSub>,
}

impl View for LookUp {
    type Page = EntitlementsPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<EntitlementsPage, Problem> {
        let entitlements = site.services.entitlements()?;
        let now = site.services.store.now_ms();
        let (report, (count, checkouts)) = tokio::try_join!(
            entitlements.breaker_report(),
            entitlements.open_checkouts(CHECKOUTS_MAX)
        )?;
        let looked_up = match &self.user {
            Some(user) => Some(look_up(entitlements, user, now).await?),
            None => None,
        };
        Ok(EntitlementsPage {
            frame,
            wanted: self.user.as_ref().map(ToString::to_string).unwrap_or_default(),
            is_asking: site.services.billing.is_some(),
            looked_up,
            breaker: BreakerView::of(&report, now as f64 / 1000.0),
            counts: counts(&entitlements.counts()),
            checkouts: checkouts.iter().map(|checkout| CheckoutRow::of(checkout, now)).collect(),
            checkouts_count: format::count(count),
        })
    }
}

/// `GET /entitlements`
pub(crate) async fn page(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let wanted = visit.query::<EntitlementsQuery>().and_then(|wanted| match wanted.user.trim() {
        "" => Ok(LookUp { user: None }),
        user => Ok(LookUp { user: Some(user_sub(user)?) }),
    });
    match wanted {
        Ok(wanted) => show(site, visit, wanted).await,
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

/// `POST /entitlements/purge`
pub(crate) async fn purge(State(site): State<Arc<Site>>, visit: Visit, body: Bytes) -> Response {
    let purged = async {
        let user = user_sub(form::read::<EntitlementsQuery>(&body)?.user.trim())?;
        site.services.entitlements()?.purge(&user).await?;
        Ok::<_, Problem>(user)
    };
    match purged.await {
        Ok(user) => go_and_tell(
            &user_link(user.as_str()),
            true,
            "Forgotten: the next read asks the source.",
        ),
        Err(problem) => problem.for_reader(&visit.headers),
    }
}

async fn look_up(
    entitlements: &Entitlements,
    user: &UserSub,
    now: u64,
) -> Result<LookedUp, Problem> {
    let (known, checkouts) =
        tokio::try_join!(entitlements.known(user), entitlements.checkouts_of(user))?;
    let names: BTreeSet<&String> = known.remembered.keys().chain(known.stored.keys()).collect();
    Ok(LookedUp {
        user: user.to_string(),
        rows: names.into_iter().map(|name| Row::of(name, &known, now)).collect(),
        held_for: if known.stored.is_empty() {
            String::new()
        } else {
            format::duration_s(known.stored_for_ms / 1000)
        },
        checkouts: checkouts.iter().map(|checkout| CheckoutRow::of(checkout, now)).collect(),
    })
}

impl Row {
    fn of(name: &str, known: &UserOverview, now: u64) -> Row {
        let remembered = known.remembered.get(name);
        let stored = known.stored.get(name).copied();
        let value = remembered.copied().or(stored).unwrap_or(Entitlement::inactive(0.0));
        let is_stale = value.is_stale(now as f64 / 1000.0);
        Row {
            name: name.to_owned(),
            state: match (value.is_active, value.is_assumed()) {
                _ if is_stale => "assumed, and over",
                (true, true) => "assumed",
                (true, false) => "active",
                (false, _) => "inactive",
            },
            until: value.expires_at.map_or_else(
                || if value.is_active { "for good".into() } else { String::new() },
                |at| format!("{} ({})", format::utc(ms(at)), format::relative(ms(at), now)),
            ),
            checked: format::relative(ms(value.checked_at), now),
            tier: match (remembered, is_stale) {
                (_, true) => "the source",
                (Some(_), _) => "memory of this process",
                (None, _) => "the store",
            },
        }
    }

    /// Its word in the stylesheet.
    fn class(&self) -> &'static str {
        match self.state {
            "active" => "completed",
            "inactive" => "",
            _ => "paused",
        }
    }
}

impl CheckoutRow {
    fn of(checkout: &OpenCheckout, now: u64) -> CheckoutRow {
        let told = |at: f64| format::relative(ms(at), now);
        CheckoutRow {
            user: checkout.user_sub.clone(),
            user_link: user_link(&checkout.user_sub),
            started: told(checkout.created_at),
            due: told(checkout.due_at),
            expires: told(checkout.expires_at),
        }
    }
}

fn user_link(user: &str) -> String {
    link::with_query("/entitlements", &[("user", user)])
}

/// What this process has answered with since its start.
fn counts(counts: &Counts) -> Vec<(&'static str, String)> {
    let all = [
        ("from memory", counts.local),
        ("from the store", counts.store),
        ("from the source", counts.source),
        ("last known", counts.last_known),
        ("assumed", counts.assumed),
        ("requests to the source", counts.requests),
        ("failed", counts.failures),
        ("held back", counts.held_back),
    ];
    all.map(|(name, n)| (name, format::count(n))).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaker_is_told_with_its_failures_on_a_line() {
        let report = BreakerReport {
            state: Breaker::Open,
            failures: (0..10).map(|n| 700.0 + f64::from(n) * 30.0).collect(),
            next_trial_at: None,
        };
        let view = BreakerView::of(&report, 1_000.0);
        assert_eq!((view.word, view.marks.len(), view.marks[0]), ("open", 10, 0.0));
        assert_eq!(view.failures, "10 failures in the last 5 minutes; 10 stop it");
        let calm = BreakerReport { state: Breaker::Closed, failures: vec![], next_trial_at: None };
        assert_eq!(BreakerView::of(&calm, 1_000.0).text, "Requests to the source go through.");
    }

    #[test]
    fn state_of_an_entitlement_says_who_would_answer() {
        let mut known = UserOverview::default();
        let active = Entitlement { is_active: true, expires_at: None, checked_at: 10.0 };
        known.stored.insert("pro".into(), active);
        known.stored.insert("old".into(), Entitlement::assumed(0.0));
        let told = |known: &UserOverview, name| {
            let row = Row::of(name, known, 1_000_000);
            (row.state, row.tier)
        };
        assert_eq!(told(&known, "pro"), ("active", "the store"));
        assert_eq!(told(&known, "old"), ("assumed, and over", "the source"));
        known.remembered.insert("pro".into(), active);
        assert_eq!(told(&known, "pro"), ("active", "memory of this process"));
    }
}
