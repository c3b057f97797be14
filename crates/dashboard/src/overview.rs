//! The first page: what needs attention, then how each service is doing.

mod services;
mod spoken;

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_format as format;
use keyrack_jobs::bee::{Filter, Hive, Place, Stats};
use keyrack_store::{Info, Kind};
use keyrack_web::Problem;
use tokio::time::MissedTickBehavior;

use self::services::{Glance, Service, services};
pub(crate) use self::{services::Glances, spoken::Spoken};
use super::{
    Frame, Visit, assets,
    attention::{Concern, Other, concerns},
    chart::Spark,
    live::{View, live_page, show},
    pulse::APART,
    queues::all_stats,
};
use crate::Site;

/// How many of the latest failed jobs of a queue are looked at for those that kill workers.
const FAILED_LOOK: usize = 20;
/// Of how many queues.
const FAILED_QUEUES: usize = 20;

#[derive(Template)]
#[template(path = "overview.html", blocks = ["live"])]
pub(super) struct OverviewPage {
    frame: Frame,
    concerns: Vec<Concern>,
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
struct Overview;

impl View for Overview {
    type Page = OverviewPage;

    async fn look(&self, site: &Site, frame: Frame) -> Result<OverviewPage, Problem> {
        let ping = site.app.probe().await;
        // A store that does not answer a PING would only hold up the rest.
        let (info, counts, queues, glance, spoken) = match &ping {
            Ok(_) => {
                let info = async { site.services.store.info().await.ok() };
                let (glance, spoken) = (Glance::take(site), Spoken::lately(site));
                tokio::join!(info, site.services.census.latest(), queues(site), glance, spoken)
            }
            Err(_) => (None, None, Queues::default(), Arc::default(), Arc::default()),
        };
        let counts = counts.as_deref();
        let other = Other {
            store_trouble: ping.as_ref().err().cloned(),
            undeclared: counts.map_or(0, |counts| counts.undeclared),
            lint_problems: site.check.problems(),
            poisonous: queues.poisonous,
            spoken: spoken.to_vec(),
            breaker: glance.breaker.clone(),
            failing_files: glance.files.as_ref().map_or(0, |files| files.failing),
            worst_file: glance.files.as_ref().and_then(|files| files.worst.clone()),
        };
        let now = queues.now;
        Ok(OverviewPage {
            frame,
            concerns: concerns(&queues.stats, &other, now),
            kind: site.services.store.kind(),
            url: site.services.store.to_string(),
            runs: info.as_ref().map(|info| info.version.clone()).unwrap_or_default(),
            health: ping.map(|ping| format!("{:.2}\u{a0}ms", ping.as_secs_f64() * 1000.0)),
            cards: cards(site, info.as_ref()),
            services: services(site, &queues.stats, &glance, counts, now),
        })
    }
}

/// `GET /`
pub(crate) async fn overview(State(site): State<Arc<Site>>, visit: Visit) -> Response {
    show(site, visit, Overview).await
}

/// Takes the pulse of the store for the lines of this page, whether or not somebody looks at it, for as long as it is polled.
pub async fn take_pulse(site: &Site) {
    let mut moments = tokio::time::interval(APART);
    moments.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        moments.tick().await;
        // Keys are counted only for somebody who looks, because all of them have to be walked.
        if let Ok(info) = site.services.store.info().await {
            let (glance, counts) = (Glance::take(site).await, site.services.census.known());
            site.pulse.note(&info, counts.as_deref(), glance.levels());
        }
    }
}

/// What is known about the queues.
#[derive(Default)]
struct Queues {
    stats: Vec<Stats>,
    poisonous: Vec<(String, u64)>,
    now: u64,
}

/// A page without them is better than no page.
async fn queues(site: &Site) -> Queues {
    let (Ok((stats, _)), Ok(jobs)) = (all_stats(site).await, site.services.jobs().await) else {
        return Queues::default();
    };
    let poisonous = poisonous(&jobs.hive, &stats).await.unwrap_or_default();
    Queues { stats, poisonous, now: jobs.hive.now_ms() }
}

/// Jobs that failed lately and took workers with them.
async fn poisonous(
    hive: &Hive,
    stats: &[Stats],
) -> Result<Vec<(String, u64)>, keyrack_jobs::Error> {
    let filter = Filter::at(Place::Failed);
    let failing = stats.iter().filter(|stats| stats.failed > 0).take(FAILED_QUEUES);
    let names = failing.filter_map(|stats| super::queue::queue_name(stats.queue.as_str()).ok());
    let looks = names.map(async |name| hive.list(&name, &filter, None, FAILED_LOOK).await);
    let pages = try_join_all(looks).await?;
    let jobs = pages.iter().flat_map(|page| &page.jobs).filter(|job| job.deaths() > 0);
    Ok(jobs.map(|job| (job.jid().to_owned(), job.deaths())).collect())
}

fn cards(site: &Site, info: Option<&Info>) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(info) = info {
        let rates = site.pulse.commands_per_second();
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
