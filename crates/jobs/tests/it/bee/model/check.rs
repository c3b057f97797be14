//! Whether the store says what must be true.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use super::{
    facts::{Fact, Facts, Place},
    history,
    seen::{Scores, Seen, SeenJob},
    steps::QUEUES,
};

/// Compares the whole keyspace with the facts.
pub(super) fn check(facts: &Facts, seen: &Seen) -> Result<(), String> {
    let (known, stored): (Vec<_>, Vec<_>) =
        (facts.jobs.keys().collect(), seen.jobs.keys().collect());
    same("the jobs", &known, &stored)?;
    for (jid, job) in &facts.jobs {
        check_job(jid, job, &seen.jobs[jid], facts.now)?;
    }
    for (queue, name) in QUEUES.iter().enumerate() {
        check_queue(facts, seen, queue, name)?;
        let deadlines = (seen.scores("timeouts", name), seen.scores("start_by", name));
        same(&format!("the deadlines in {name}"), &facts.deadlines(queue), &deadlines)?;
        let entries = (seen.map("unique", name), seen.scores("unique_looks", name));
        same(&format!("what stands for others in {name}"), &facts.unique_entries(queue), &entries)?;
        let reserved = seen.map("reserved", name);
        same(&format!("what is reserved in {name}"), &facts.entries(queue), &reserved)?;
        check_tenants(facts, seen, queue, name)?;
    }
    check_relations(facts, seen)
}

/// Says what differs, if something does.
pub(super) fn same<T: PartialEq + Debug>(what: &str, must: &T, is: &T) -> Result<(), String> {
    if must == is {
        return Ok(());
    }
    Err(format!("{what}: must be {must:?}, but the store has {is:?}"))
}

fn check_job(jid: &str, job: &Fact, seen: &SeenJob, now: u64) -> Result<(), String> {
    let what = |field: &str| format!("{field} of {jid}");
    let status = seen.text("status");
    let allowed: &[&str] = match &job.place {
        Place::Waiting | Place::Delayed { retried: false, .. } => &["new"],
        Place::Delayed { retried: true, .. } => &["retried"],
        Place::Ready if job.asked.tenant.is_some() || !job.asked.limits.is_empty() => {
            &["queued", "new"]
        }
        Place::Ready | Place::Reserved { .. } => &["queued"],
        Place::Running { .. } => &["running"],
        Place::Completed => &["completed"],
        Place::Failed => &["failed"],
        Place::Duplicate => &["duplicate"],
        Place::Canceled => &["canceled"],
        Place::Expired => &["expired"],
    };
    if !allowed.contains(&status) {
        return Err(format!("{jid} must be {:?}, but is {status}", job.place));
    }
    if job.dies_at.is_some() && !job.place.has_ended() {
        return Err(format!("{jid} is set to die although it is {:?}", job.place));
    }
    same(&what("the time to live"), &job.dies_at.map(|at| at - now), &seen.pttl)?;
    same(&what("the worker"), &job.worker.as_str(), &seen.text("worker"))?;
    same(&what("the hash"), &job.hash.as_deref().unwrap_or_default(), &seen.text("hash"))?;
    let duplicate = job.duplicate_of.as_deref().unwrap_or_default();
    same(&what("the original"), &duplicate, &seen.text("duplicate"))?;
    let counted = (seen.number("retries"), seen.number("attempts"), seen.number("deaths"));
    same(
        &what("retries, attempts and deaths"),
        &(job.retries, job.attempts, job.deaths),
        &counted,
    )?;
    same(&what("the arguments"), &format!("[{}]", job.asked.data).as_str(), &seen.text("data"))?;
    let tags: BTreeSet<String> = seen.list("tags").into_iter().collect();
    same(&what("the tags"), &job.tags.iter().map(|tag| (*tag).to_owned()).collect(), &tags)?;
    history::check(jid, job, &seen.history)
}

/// Each job stands where its status says, and nowhere else.
fn check_queue(facts: &Facts, seen: &Seen, queue: usize, name: &str) -> Result<(), String> {
    let (mut ready, mut delayed, mut waiting, mut locks, mut expires, mut failed) = (
        BTreeSet::new(),
        Scores::new(),
        BTreeSet::new(),
        Scores::new(),
        Scores::new(),
        BTreeSet::new(),
    );
    for (jid, job) in facts.jobs.iter().filter(|(_, job)| job.asked.queue == queue) {
        let jid = jid.clone();
        if let Some(at) = job.expires_at {
            expires.insert(jid.clone(), at as f64);
        }
        match &job.place {
            Place::Ready => drop(ready.insert(jid)),
            Place::Delayed { due, .. } => drop(delayed.insert(jid, *due as f64)),
            Place::Waiting => drop(waiting.insert(jid)),
            Place::Running { locked_until, .. } => drop(locks.insert(jid, *locked_until as f64)),
            Place::Failed => drop(failed.insert(jid)),
            _ => {}
        }
    }
    let members = |family| -> BTreeSet<String> { seen.scores(family, name).into_keys().collect() };
    let parked = seen.parked(name);
    let mut stand: Vec<String> = members("queue").into_iter().collect();
    stand.extend(parked.values().flatten().cloned());
    let held = facts.held(queue, seen);
    stand.extend(held.keys().cloned());
    stand.sort();
    same(&format!("what is ready in {name}"), &ready.into_iter().collect(), &stand)?;
    delayed.extend(held);
    same(&format!("what is delayed in {name}"), &delayed, &seen.scores("delayed", name))?;
    let counted = seen.sets_of("limit_running").into_iter().filter(|(parts, _)| parts[0] == name);
    let counted = counted.map(|(mut parts, jobs)| (parts.remove(1), jobs)).collect();
    same(&format!("what runs for the limits of {name}"), &facts.counted(queue), &counted)?;
    same(&format!("what waits in {name}"), &waiting, &members("waiting"))?;
    same(&format!("what is locked in {name}"), &locks, &seen.scores("locks", name))?;
    same(&format!("what expires in {name}"), &expires, &seen.scores("expires", name))?;
    same(&format!("what has failed in {name}"), &failed, &members("failed"))?;
    check_ranks(facts, seen, name)?;
    let stopping = facts.limits[queue].stopping();
    same(&format!("what has to stop in {name}"), &stopping, &seen.scores("stopping", name))?;
    let workers = members("bees");
    let workers: BTreeSet<&str> = workers.iter().map(String::as_str).collect();
    same(&format!("the workers of {name}"), &facts.limits[queue].workers(), &workers)
}

/// Jobs with a priority that stand in the queue are ranked by it, or before all if a worker has given them back.
fn check_ranks(facts: &Facts, seen: &Seen, name: &str) -> Result<(), String> {
    const OF_RETURNED: f64 = 0.0;
    let (standing, ranks) = (seen.scores("queue", name), seen.ranks(name));
    for (jid, (rank, score)) in &ranks {
        same(&format!("the score of {jid} among the ranked"), &standing.get(jid), &Some(score))?;
        let own = 11.0 - f64::from(facts.jobs[jid].asked.priority.min(10));
        if *rank != own && *rank != OF_RETURNED {
            return Err(format!("{jid} has the rank {rank} in {name}, not {own}"));
        }
    }
    let has_priority = |jid: &&String| facts.jobs[*jid].asked.priority != 0;
    match standing.keys().filter(has_priority).find(|jid| !ranks.contains_key(*jid)) {
        Some(jid) => Err(format!("{jid} has a priority and no rank in {name}")),
        None => Ok(()),
    }
}

/// The most turns that a tenant has in these runs.
const WEIGHT_MAX: usize = 3;

/// A tenant has no more jobs in the working queue than it may, and none waits that could stand there.
fn check_tenants(facts: &Facts, seen: &Seen, queue: usize, name: &str) -> Result<(), String> {
    let tenant_of = |jid: &String| facts.jobs.get(jid).and_then(|job| job.asked.tenant);
    let mut standing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for jid in seen.in_order("queue", name) {
        if let Some(tenant) = tenant_of(&jid) {
            standing.entry(tenant.into()).or_default().insert(jid);
        }
    }
    if let Some((tenant, jobs)) = standing.iter().find(|(_, jobs)| jobs.len() > WEIGHT_MAX) {
        return Err(format!("{jobs:?} of {tenant} all stand in {name}"));
    }
    let mut running: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (jid, job) in facts.running(queue) {
        if let Some(tenant) = job.asked.tenant {
            running.entry(tenant.into()).or_default().insert(jid.clone());
        }
    }
    let stored = seen.sets_of("tenant_running").into_iter().filter(|(parts, _)| parts[0] == name);
    let stored = stored.map(|(mut parts, jobs)| (parts.remove(1), jobs)).collect();
    same(&format!("what runs for the tenants of {name}"), &running, &stored)?;
    let parked = seen.parked(name);
    let present: BTreeSet<&String> =
        standing.keys().chain(running.keys()).chain(parked.keys()).collect();
    let expected: BTreeMap<String, BTreeSet<String>> = present
        .into_iter()
        .map(|tenant| (tenant.clone(), standing.get(tenant).cloned().unwrap_or_default()))
        .collect();
    let listed = seen.map("tenants", name).into_iter().map(|(tenant, jids)| {
        (tenant, jids.split_whitespace().map(ToOwned::to_owned).collect::<BTreeSet<_>>())
    });
    same(&format!("the tenants of {name}"), &expected, &listed.collect())?;
    for (tenant, jobs) in parked {
        let limits = &facts.limits[queue];
        let n_running = running.get(&tenant).map_or(0, BTreeSet::len);
        let n_standing = standing.get(&tenant).map_or(0, BTreeSet::len);
        let may_run = ((n_running + n_standing) as u64) < limits.tenant_allows(&tenant);
        // One whose rate has come back is looked at with the next claim.
        let is_held =
            limits.set.paused_tenants.contains(&tenant) || limits.tenant_rate(&tenant).is_some();
        if may_run && !is_held && n_standing < limits.weight(&tenant) {
            return Err(format!("{jobs:?} of {tenant} in {name} wait although one could stand"));
        }
    }
    Ok(())
}

/// Whatever one key says of another.
fn check_relations(facts: &Facts, seen: &Seen) -> Result<(), String> {
    let keyed =
        |map: &BTreeMap<String, BTreeSet<String>>| -> BTreeMap<Vec<String>, BTreeSet<String>> {
            map.iter().map(|(jid, others)| (vec![jid.clone()], others.clone())).collect()
        };
    same("the dependencies", &keyed(&facts.dependencies), &seen.sets_of("dependencies"))?;
    same("the children", &keyed(&facts.children), &seen.sets_of("children"))?;
    let (mut tags, mut locks) = (BTreeMap::new(), BTreeMap::new());
    for (jid, job) in &facts.jobs {
        for tag in job.tags.iter().filter(|_| job.dies_at.is_none()) {
            tags.entry(vec![(*tag).to_owned()]).or_insert_with(BTreeSet::new).insert(jid.clone());
        }
        if let Place::Running { worker, .. } = &job.place {
            locks.entry(vec![worker.clone()]).or_insert_with(BTreeSet::new).insert(jid.clone());
        }
    }
    same("the tags", &tags, &seen.sets_of("tags"))?;
    same("the locks of the workers", &locks, &seen.sets_of("worker_locks"))?;
    let hashes = facts
        .hashes
        .iter()
        .map(|((queue, hash), jobs)| (vec![QUEUES[*queue].to_owned(), hash.clone()], jobs.clone()));
    same("the hashes", &hashes.collect(), &seen.lists_of("hashes"))?;
    let waits = facts
        .lock_waits
        .iter()
        .map(|((worker, jid), (n, _))| (vec![worker.clone(), jid.clone()], n.to_string()));
    same("the missed locks", &waits.collect(), &seen.strings_of("lock_waits"))
}
