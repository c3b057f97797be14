//! What each service is doing, at a glance: a few counts that the store has at hand, read once for all who watch.

use std::{collections::HashMap, sync::Arc, time::Duration};

use keyrack_entitlements::{BreakerReport, State};
use keyrack_format as format;
use keyrack_jobs::bee::{QueueCounts, Stats};
use keyrack_services::{
    Cache,
    alerts::{AlertFacts, FileFacts},
    census::Counts,
};
use keyrack_updates::{Updates, keys::Repo};

use crate::{
    Site,
    chart::{Spark, completed_by_minute},
    plot::ms,
};

/// How old what is known may be.
const AGE: Duration = Duration::from_secs(1);
/// Of how many of the newest journeys it is looked whether something happens.
const JOURNEYS_LOOK: usize = 10;
/// For how long a journey counts as live after an event.
const LIVE_MS: u64 = 60_000;

/// The services, and in a few words what they do.
pub(super) const SERVICES: [(&str, &str); 10] = [
    ("jobs", "queued work"),
    ("progress", "bars that know how long things take"),
    ("calculations", "rollups of event values"),
    ("entitlements", "who may do what"),
    ("files", "clean-up of stored files"),
    ("journeys", "live events and totals"),
    ("recommender", "what to show to whom"),
    ("updates", "deploys under way"),
    ("webhooks", "events sent to other servers"),
    ("identity", "users, tokens and sign-in"),
];

/// A service and how it is doing.
pub(super) struct Service {
    pub(super) name: &'static str,
    pub(super) link: String,
    pub(super) value: String,
    pub(super) note: String,
    pub(super) spark: Spark,
}

/// What was read a moment ago.
#[derive(Debug)]
pub(crate) struct ServiceSummaries(Cache<(), Arc<ServiceSummary>>);

impl Default for ServiceSummaries {
    fn default() -> ServiceSummaries {
        ServiceSummaries(Cache::new(AGE))
    }
}

/// What the services are doing; what could not be read is left out, and the page is shown without.
#[derive(Debug, Default)]
pub(super) struct ServiceSummary {
    running: Option<u64>,
    breaker: Option<BreakerReport>,
    lookups: Option<u64>,
    files: Option<Arc<FileFacts>>,
    journeys: Option<Travel>,
    updates: Option<Vec<(Repo, f64)>>,
}

/// Journeys: how many there are, are live, and are watched.
#[derive(Debug)]
struct Travel {
    all: u64,
    live: u64,
    watched: usize,
}

impl ServiceSummary {
    pub(super) async fn take(site: &Site) -> Arc<ServiceSummary> {
        let read =
            async { Ok::<_, std::convert::Infallible>(Arc::new(ServiceSummary::read(site).await)) };
        site.summaries.0.get((), read).await.unwrap_or_default()
    }

    async fn read(site: &Site) -> ServiceSummary {
        let updates = Updates::new(site.services.store.clone());
        let breaker = async {
            let entitlements = site.services.entitlements().ok()?;
            Some((entitlements.breaker_report().await.ok()?, entitlements.counts()))
        };
        let (running, breaker, files, journeys, updates) = tokio::join!(
            site.services.progress.running_count(),
            breaker,
            site.services.file_facts(),
            Travel::read(site),
            updates.repos()
        );
        let (breaker, counts) = breaker.unzip();
        ServiceSummary {
            running: running.ok(),
            breaker,
            lookups: counts.map(|counts| {
                counts.local + counts.store + counts.source + counts.last_known + counts.assumed
            }),
            files,
            journeys,
            updates: updates.ok(),
        }
    }

    /// What is drawn as a line for each service.
    pub(super) fn levels(&self) -> HashMap<&'static str, f64> {
        let levels = [
            ("progress", self.running),
            ("entitlements", self.lookups),
            ("files", self.files.as_ref().map(|files| files.waiting)),
            ("journeys", self.journeys.as_ref().map(|journeys| journeys.live)),
        ];
        levels.into_iter().filter_map(|(name, level)| Some((name, level? as f64))).collect()
    }

    /// The figure of a service, what it counts, and what its line shows; none where its keys are all that is counted.
    fn figure(&self, name: &str, now: u64) -> Option<(String, String, String)> {
        let told = |value: String, note: String, line: &str| Some((value, note, line.to_owned()));
        match name {
            "progress" => {
                told(format::count(self.running?), "traces under way".into(), "traces under way")
            }
            "entitlements" => {
                let word = match self.breaker.as_ref()?.state {
                    State::Closed => "closed",
                    State::HalfOpen => "half open",
                    State::Open => "open",
                };
                let reads = format::count(self.lookups?);
                let note = format!("breaker · {reads} reads by this server");
                told(word.into(), note, "reads a second")
            }
            "files" => {
                let files = self.files.as_ref()?;
                let (due, failing) = (format::count(files.due), format::count(files.failing));
                let note = format!("files to delete · {due} due, {failing} failing");
                told(format::count(files.waiting), note, "files to delete")
            }
            "journeys" => {
                let journeys = self.journeys.as_ref()?;
                let note = format!(
                    "live · {} in all, {} watched",
                    format::count(journeys.all),
                    journeys.watched
                );
                told(format::count(journeys.live), note, "live journeys")
            }
            "updates" => {
                let repos = self.updates.as_ref()?;
                let last = repos
                    .first()
                    .map(|(repo, at)| format!(" · {repo} {}", format::relative(ms(*at), now)));
                let noun = if repos.len() == 1 { "repository" } else { "repositories" };
                let note = format!("{noun}{}", last.unwrap_or_default());
                told(repos.len().to_string(), note, "keys")
            }
            _ => None,
        }
    }
}

impl Travel {
    async fn read(site: &Site) -> Option<Travel> {
        let (all, newest) = tokio::try_join!(
            site.services.journeys.count(),
            site.services.journeys.glances(0, JOURNEYS_LOOK)
        )
        .ok()?;
        let now = site.services.store.now_ms();
        let happened = newest.iter().filter_map(|glance| glance.last_event_at);
        let live = happened.filter(|at| now.saturating_sub(ms(*at)) < LIVE_MS).count() as u64;
        Some(Travel { all, live, watched: site.services.live.rooms() })
    }
}

/// A card for each service.
pub(super) fn services(
    site: &Site,
    facts: &AlertFacts,
    glance: &ServiceSummary,
    counts: Option<&Counts>,
    now: u64,
) -> Vec<Service> {
    let others = SERVICES.iter().skip(1).map(|(name, what)| {
        let keys = keys_of(name, counts);
        let (value, note, line) = match glance.figure(name, now) {
            Some((value, note, line)) => (value, format!("{note} · keys: {keys}"), line),
            None => (keys, format!("keys · {what}"), "keys".to_owned()),
        };
        let sampler = &site.sampler;
        let levels = match line.as_str() {
            "keys" => sampler.keys(name),
            "reads a second" => sampler.rates(name),
            _ => sampler.levels(name),
        };
        let label = format!("{line} of {name} in the last minutes");
        Service {
            name,
            link: link(name),
            value,
            note,
            spark: Spark::of(&levels, line != "keys", label),
        }
    });
    std::iter::once(jobs(facts, now)).chain(others).collect()
}

/// The page of a service.
fn link(name: &str) -> String {
    let path = format!("/{name}");
    let has_page = crate::sections().any(|(section, ..)| section == path);
    if has_page { path } else { format!("/keys#{name}") }
}

fn jobs(facts: &AlertFacts, now: u64) -> Service {
    let sum = |of: fn(&Stats) -> u64, or: fn(&QueueCounts) -> u64| {
        facts.queues.iter().map(of).chain(facts.other_queues.iter().map(or)).sum::<u64>()
    };
    let minutes: Vec<_> = facts.queues.iter().flat_map(|stats| stats.minutes.clone()).collect();
    let completed = completed_by_minute(&minutes, now);
    let total: f64 = completed.iter().sum();
    let queues = (facts.queues.len() + facts.other_queues.len()) as u64;
    Service {
        name: "jobs",
        link: "/jobs".into(),
        value: format::count(sum(|stats| stats.queued, |counts| counts.queued)),
        note: format!(
            "queued · {} running, {} failed, {}",
            format::count(sum(|stats| stats.running, |counts| counts.running)),
            format::count(sum(|stats| stats.failed, |counts| counts.failed)),
            format::counted(queues, "queue"),
        ),
        spark: Spark::of(
            &completed,
            true,
            format!("{} completed in the last hour", format::counted(total as u64, "job")),
        ),
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
    fn every_owner_of_keys_has_a_card_but_the_demo() {
        let owners = keyrack_contract::registry().all().map(|family| family.owner_crate());
        // What the demo drives are the services that have one, and the store's own key is no service.
        let owners: BTreeSet<&str> =
            owners.filter(|owner| !["demo", "store"].contains(owner)).collect();
        let shown: BTreeSet<&str> = SERVICES.iter().map(|(name, _)| *name).collect();
        assert_eq!(shown, owners);
    }

    #[test]
    fn services_with_a_page_are_linked_to_it() {
        assert_eq!([link("files"), link("identity")], ["/files", "/keys#identity"]);
    }

    #[test]
    fn what_could_not_be_read_leaves_the_count_of_keys() {
        assert!(
            SERVICES.iter().all(|(name, _)| ServiceSummary::default().figure(name, 0).is_none())
        );
    }
}
