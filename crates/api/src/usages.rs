//! How much users use, and what that would cost by the published prices. Nothing is charged for and nothing refused.

use std::sync::Arc;

use axum::{Json, extract::State};
use keyrack_progress::Usage;
use keyrack_web::{App, Problem, extract::Body};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    auth::Viewer, listing::Column, listing::Listing, listing::Page, listing::Search, listing::Value,
};

/// How far back usage is told.
const MONTHS_MAX: u32 = 24;

/// How many traces one unit of a tier is.
const UNIT_TRACES: u64 = 1000;

/// One stretch of the price list.
struct TierPrice {
    uid: &'static str,
    /// How many units it has; the last has no end.
    units: Option<u64>,
    cents: u64,
}

const PRICES: [TierPrice; 5] = [
    TierPrice { uid: "ep_ppt_public_1", units: Some(5), cents: 0 },
    TierPrice { uid: "ep_ppt_public_2", units: Some(95), cents: 75 },
    TierPrice { uid: "ep_ppt_public_3", units: Some(900), cents: 50 },
    TierPrice { uid: "ep_ppt_public_4", units: Some(9000), cents: 25 },
    TierPrice { uid: "ep_ppt_public_5", units: None, cents: 10 },
];

/// What so many traces of a month cost, in cents. Units that are not full are free.
fn cost_cents(traces: u64) -> u64 {
    let mut left = traces;
    let mut cents = 0;
    for tier in &PRICES {
        let here = tier.units.map_or(left, |units| left.min(units * UNIT_TRACES));
        cents += here / UNIT_TRACES * tier.cents;
        left -= here;
    }
    cents
}

/// How many traces the caller has created this month.
#[utoipa::path(get, path = "/user_usages/get_current", tag = "users", operation_id = "currentUsage",
    responses((status = OK, body = Usage)))]
pub(super) async fn current(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
) -> Result<Json<Usage>, Problem> {
    Ok(Json(app.services.progress.usage(&sub).await?))
}

/// What a user used in a past month.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UserUsage {
    user_sub: String,
    uid: String,
    /// Always null: no invoices are written here.
    hosted_invoice_url: Option<String>,
    /// In unix seconds.
    period_started_at: f64,
    /// In unix seconds.
    period_ended_at: f64,
    traces: u64,
    /// In cents.
    cost: f64,
}

const USAGES: Listing<UserUsage> = Listing {
    columns: &[
        Column::text("uid", |usage: &UserUsage| Value::Text(&usage.uid)).sorts(),
        Column::number("period_started_at", |usage: &UserUsage| {
            Value::Number(usage.period_started_at)
        })
        .sorts(),
        Column::number("period_ended_at", |usage: &UserUsage| Value::Number(usage.period_ended_at)),
        Column::integer("traces", |usage: &UserUsage| Value::Number(usage.traces as f64)).sorts(),
        Column::number("cost", |usage: &UserUsage| Value::Number(usage.cost)).sorts(),
    ],
    limit_max: 100,
};

/// Searches what the caller used in past months, up to two years back.
#[utoipa::path(post, path = "/user_usages/search", tag = "users", operation_id = "searchUsages",
    request_body = Search, responses((status = OK, body = Page<UserUsage>)))]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<UserUsage>>, Problem> {
    let months = app.services.progress.past_usage(&sub, MONTHS_MAX).await?;
    let rows = months.into_iter().map(|month| UserUsage {
        user_sub: sub.to_string(),
        uid: format!("ep_uu_{}", month.period_start_at),
        hosted_invoice_url: None,
        period_started_at: month.period_start_at,
        period_ended_at: month.period_end_at,
        traces: month.traces,
        cost: cost_cents(month.traces) as f64,
    });
    USAGES.page(search, rows.collect(), |usage| usage).map(Json)
}

/// One stretch of the price list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PricingTier {
    user_sub: String,
    uid: String,
    /// From 0.
    position: u64,
    /// How many units it has; null for the last.
    units: Option<u64>,
    /// How many traces a unit is.
    unit_amount: u64,
    unit_price_cents: u64,
}

const TIERS: Listing<PricingTier> = Listing {
    columns: &[
        Column::text("uid", |tier: &PricingTier| Value::Text(&tier.uid)).sorts(),
        Column::integer("position", |tier: &PricingTier| Value::Number(tier.position as f64))
            .sorts(),
        Column::integer("units", |tier: &PricingTier| {
            Value::or_null(tier.units.map(|units| units as f64))
        })
        .or_null()
        .sorts(),
        Column::integer("unit_price_cents", |tier: &PricingTier| {
            Value::Number(tier.unit_price_cents as f64)
        })
        .sorts(),
    ],
    limit_max: 100,
};

/// Searches the price list.
#[utoipa::path(post, path = "/users/pricing_plans/tiers/search", tag = "users", operation_id = "searchTiers",
    request_body = Search, responses((status = OK, body = Page<PricingTier>)))]
pub(super) async fn search_tiers(
    Viewer(sub): Viewer,
    Body(search): Body<Search>,
) -> Result<Json<Page<PricingTier>>, Problem> {
    let rows = PRICES.iter().zip(0..).map(|(tier, position)| PricingTier {
        user_sub: sub.to_string(),
        uid: tier.uid.to_owned(),
        position,
        units: tier.units,
        unit_amount: UNIT_TRACES,
        unit_price_cents: tier.cents,
    });
    TIERS.page(search, rows.collect(), |tier| tier).map(Json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_units_cost_what_their_tier_says() {
        for (traces, cents) in [
            (0, 0),
            (5_000, 0),
            (5_999, 0),
            (6_000, 75),
            (100_000, 95 * 75),
            (101_000, 95 * 75 + 50),
            (1_000_000, 95 * 75 + 900 * 50),
            (10_000_000, 95 * 75 + 900 * 50 + 9000 * 25),
            (10_001_999, 95 * 75 + 900 * 50 + 9000 * 25 + 10),
        ] {
            assert_eq!(cost_cents(traces), cents, "{traces}");
        }
        cost_cents(u64::MAX);
    }
}
