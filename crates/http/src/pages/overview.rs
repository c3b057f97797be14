//! The first page: what needs attention, then how each service is doing.

use std::sync::Arc;

use askama::Template;
use axum::{extract::State, response::Response};
use futures_util::future::try_join_all;
use keyrack_jobs::bee::{Filter, Hive, Place, Stats};
use keyrack_store::{Info, Kind};

use super::{
    Frame, Visit, assets,
    attention::{Concern, Other, concerns},
    chart::{Spark, completed_by_minute},
    live::{View, live_page, show},
    queues::all_stats,
};
use crate::{app::App, census::Counts, human, problem::Problem};

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

/// A service and how it is doing.
struct Service {
    name: &'static str,
    link: String,
    value: String,
    note: String,
    spark: Spark,
}

/// The services, and in a few words what they do.
const SERVICES: [(&str, &str); 9] = [
    ("jobs", "queued work"),
    ("progress", "bars that know how long things take"),
    ("calculations", "rollups of event values"),
    ("entitlements", "who may do what"),
    ("files", "clean-up of stored files"),
    ("journeys", "live events and totals"),
    ("recommender", "what to show to whom"),
    ("updates", "deploys under way"),
    ("identity", "users, tokens and sign-in"),
];

/// What the page shows.
struct Overview;

impl View for Overview {
    type Page = OverviewPage;

    async fn look(&self, app: &App, frame: Frame) -> Result<OverviewPage, Problem> {
        let ping = app.ping().await;
        // A store that does not answer a PING would only hold up the rest.
        let (info, counts, queues) = match &ping {
            Ok(_) => {
                let info = async { app.store.info().await.ok() };
                tokio::join!(info, app.census.latest(), queues(app))
            }
            Err(_) => (None, None, Queues::default()),
        };
        let counts = counts.as_deref();
        if let Some(info) = &info {
            app.dashboard.pulse.note(info, counts);
        }
        let other = Other {
            store_trouble: ping.as_ref().err().cloned(),
            undeclared: counts.map_or(0, |counts| counts.undeclared),
            lint_problems: app.dashboard.check.problems(),
            poisonous: queues.poisonous,
        };
        let now = queues.now;
        Ok(OverviewPage {
            frame,
            concerns: concerns(&queues.stats, &other, now),
            kind: app.store.kind(),
            url: app.store.to_string(),
            runs: info.as_ref().map(|info| info.version.clone()).unwrap_or_default(),
            health: ping.map(|ping| format!("{:.2}\u{a0}ms", ping.as_secs_f64() * 1000.0)),
            cards: cards(app, info.as_ref()),
            services: services(app, &queues.stats, counts, now),
        })
    }
}

/// `GET /`
pub(crate) async fn overview(State(app): State<Arc<App>>, visit: Visit) -> Response {
    show(app, visit, Overview).await
}

/// What is known about the queues.
#[derive(Default)]
struct Queues {
    stats: Vec<Stats>,
    poisonous: Vec<(String, u64)>,
    now: u64,
}

/// A page without them is better than no page.
async fn queues(app: &App) -> Queues {
    let (Ok((stats, _)), Ok(jobs)) = (all_stats(app).await, app.jobs().await) else {
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

fn cards(app: &App, info: Option<&Info>) -> Vec<Card> {
    let mut cards = Vec::new();
    if let Some(info) = info {
        let rates = app.dashboard.pulse.commands_per_second();
        let now = rates.last().map_or_else(|| "…".into(), |rate| human::count(rate.round() as u64));
        cards.push(Card {
            name: "Commands a second",
            value: now,
            note: format!("{} since its start", human::count(info.commands)),
            spark: Some(Spark::of(&rates, true, "commands a second while this page was open")),
        });
        let note = databases(info);
        cards.push(Card { name: "Keys", value: human::count(info.keys()), note, spark: None });
        let log = info.log_bytes.map(|bytes| format!("log on disk: {}", human::bytes(bytes)));
        let note = log.unwrap_or_else(|| "no log on disk".into());
        let value = human::bytes(info.memory_bytes);
        cards.push(Card { name: "Memory", value, note, spark: None });
    }
    let note = concat!("keyrack ", env!("CARGO_PKG_VERSION")).into();
    let value = human::duration(app.uptime().as_secs());
    cards.push(Card { name: "Up for", value, note, spark: None });
    cards
}

/// Where the keys are; calculations have a database for each account, so only the first few are named.
fn databases(info: &Info) -> String {
    const NAMED_MAX: usize = 3;
    let named = info.databases.iter().take(NAMED_MAX);
    let named =
        named.map(|database| format!("{} in db {}", human::count(database.keys), database.db));
    match info.databases.len() {
        0 => "nothing stored yet".into(),
        n if n <= NAMED_MAX => named.collect::<Vec<_>>().join(", "),
        n => {
            format!("{} and more in {} others", named.collect::<Vec<_>>().join(", "), n - NAMED_MAX)
        }
    }
}

fn services(app: &App, stats: &[Stats], counts: Option<&Counts>, now: u64) -> Vec<Service> {
    let of_jobs = jobs(stats, now);
    let others = SERVICES.iter().skip(1).map(|(name, what)| {
        let keys = keys_of(name, counts);
        Service {
            name,
            link: format!("/keys#{name}"),
            value: keys,
            note: format!("keys · {what}"),
            spark: Spark::of(
                &app.dashboard.pulse.keys(name),
                false,
                format!("keys of {name} while this page was open"),
            ),
        }
    });
    std::iter::once(of_jobs).chain(others).collect()
}

fn jobs(stats: &[Stats], now: u64) -> Service {
    let sum = |of: fn(&Stats) -> u64| stats.iter().map(of).sum::<u64>();
    let minutes: Vec<_> = stats.iter().flat_map(|stats| stats.minutes.clone()).collect();
    let completed = completed_by_minute(&minutes, now);
    let total: f64 = completed.iter().sum();
    Service {
        name: "jobs",
        link: "/jobs".into(),
        value: human::count(sum(|stats| stats.queued)),
        note: format!(
            "queued · {} running, {} failed, {}",
            human::count(sum(|stats| stats.running)),
            human::count(sum(|stats| stats.failed)),
            human::counted(stats.len() as u64, "queue"),
        ),
        spark: Spark::of(&completed, true, format!("{total} jobs completed in the last hour")),
    }
}

fn keys_of(service: &str, counts: Option<&Counts>) -> String {
    let Some(counts) = counts else { return "…".into() };
    let families =
        keyrack_contract::registry().families().filter(|family| family.owner_crate() == service);
    match families.map(|family| counts.of(family)).sum::<Option<u64>>() {
        Some(n) => counts.in_words(n),
        None => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_owner_of_keys_has_a_card() {
        let owners: BTreeSet<&str> =
            keyrack_contract::registry().all().map(|family| family.owner_crate()).collect();
        let shown: BTreeSet<&str> = SERVICES.iter().map(|(name, _)| *name).collect();
        assert_eq!(shown, owners);
    }
}
