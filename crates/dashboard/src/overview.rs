//! The first page: what needs attention, then how each service is doing.

mod services;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, http::StatusCode, response::Response};
use keyrack_format as format;
use keyrack_services::alerts::AlertFacts;
use keyrack_store::{Info, Kind};
use keyrack_web::Problem;
use tokio::time::MissedTickBehavior;

pub(crate) use self::services::ServiceSummaries;
use self::services::{Service, ServiceSummary, services};
use super::{
    Frame, Visit,
    alerts::AlertRow,
    assets,
    chart::Spark,
    live::{View, live_page, show},
    sampler::APART,
};
use crate::Site;

#[derive(Template)]
#[template(path = "overview.html", blocks = ["live"])]
pub(super) struct OverviewPage {
    frame: Frame,
    alerts: Vec<AlertRow>,
    /// How many alerts are not shown.
    more_alerts: usize,
    /// Alerts that somebody has muted.
    muted: Vec<AlertRow>,
    kind: Kind,
    url: String,
    /// What the store runs; empty when it does not tell.
    runs: String,
    health: Result<String, String>,
    cards: Vec<Card>,
    services: Vec<Service>,
}
live_page!(OverviewPage);

/// A number to know, and a word on it.
struct Card {
    name: &'static str,
    value: String,
    note: String,
    spark: Option<Spark>,
}

/// What the page shows.
struct Overview {
    /// Whether somebody follows it, who has numbers to look at already.
    is_followed: bool,
}

impl View for Overview {
    type Page = OverviewPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<OverviewPage, Problem> {
        let ping = site.app.probe().await;
        if let (Err(reason), true) = (&ping, self.is_followed) {
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable")
                .detail(format!("The store does not answer: {reason}")));
        }
        // A store that does not answer a PING would only hold up the rest.
        let (info, mut facts, glance) = match &ping {
            Ok(_) => {
                let info = async { site.services.store.info().await.ok() };
                tokio::join!(info, AlertFacts::read(&site.services), ServiceSummary::take(site))
            }
            Err(reason) => {
                let store_error = Some(reason.clone());
                (None, AlertFacts { store_error, ..AlertFacts::default() }, Arc::default())
            }
        };
        facts.lint_problems = site.lint.problems();
        let counts = ping.as_ref().ok().and_then(|_| site.services.census.known());
        let (alerts, more_alerts) = AlertRow::all(&facts, &frame.zone);
        let muted = AlertRow::muted(&facts, &frame.zone);
        Ok(OverviewPage {
            frame,
            alerts,
            more_alerts,
            muted,
            kind: site.services.store.kind(),
            url: site.services.store.to_string(),
            runs: info.as_ref().map(|info| info.version.clone()).unwrap_or_default(),
            health: ping.map(|ping| format!("{:.2}\u{a0}ms", ping.as_secs_f64() * 1000.0)),
            cards: cards(site, info.as_ref()),
            services: services(site, &facts, &glance, counts.as_deref(), facts.now_ms),
        })
    }
}

/// `GET /`
pub(crate) async fn overview(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    let is_followed = visit.is_stream;
    show(site, visit, Overview { is_followed }).await
}

/// Samples the store for the lines of this page, whether or not somebody looks at it, for as long as it is polled.
pub async fn take_pulse(site: &Site) {
    let mut moments = tokio::time::interval(APART);
    moments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        moments.tick().await;
        // Keys are counted only for somebody who looks, because all of them have to be walked.
        if let Ok(info) = site.services.store.info().await {
            // So that nobody who opens a page waits for what thousands of queues hold.
            let _ = site.services.queue_counts().await;
            let (glance, counts) = (ServiceSummary::take(site).await, site.services.census.known());
            site.sampler.note(&info, counts.as_deref(), glance.levels());
        }
    }
}

fn cards(site: &Site, info: Option<&Info>) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(info) = info {
        let rates = site.sampler.commands_per_second();
        let now =
            rates.last().map_or_else(|| "…".into(), |rate| format::count(rate.round() as u64));
        cards.push(Card {
            name: "Commands a second",
            value: now,
            note: format!("{} since its start", format::count(info.commands)),
            spark: Some(Spark::of(&rates, true, "commands a second in the last minutes")),
        });
        let note = databases(info);
        cards.push(Card { name: "Keys", value: format::count(info.keys()), note, spark: None });
        let log = info.log_bytes.map(|bytes| format!("log on disk: {}", format::bytes(bytes)));
        let note = log.unwrap_or_else(|| "no log on disk".into());
        let value = format::bytes(info.memory_bytes);
        cards.push(Card { name: "Memory", value, note, spark: None });
    }
    let note = concat!("keyrack ", env!("CARGO_PKG_VERSION")).into();
    let value = format::duration_s(site.app.uptime().as_secs());
    cards.push(Card { name: "Up for", value, note, spark: None });
    cards
}

/// Where the keys are; calculations have a database for each account, so only the first few are named.
fn databases(info: &Info) -> String {
    const NAMED_MAX: usize = 3;
    let named = info.databases.iter().take(NAMED_MAX);
    let named =
        named.map(|database| format!("{} in db {}", format::count(database.keys), database.db));
    match info.databases.len() {
        0 => "nothing stored yet".into(),
        n if n <= NAMED_MAX => named.collect::<Vec<_>>().join(", "),
        n => {
            format!("{} and more in {} others", named.collect::<Vec<_>>().join(", "), n - NAMED_MAX)
        }
    }
}
