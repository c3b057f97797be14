//! What can happen to the queues, as plain data: a run is a list of steps, and a shorter list is a run too.
//!
//! A step names a job or a worker by a number that is taken modulo what there is when the step is made.

use keyrack_jobs::bee::Care;

use super::random::Random;

/// Queues of one group, so that their jobs may wait for each other.
pub(super) const QUEUES: [&str; 2] = ["alpha", "beta"];
pub(super) const TENANTS: [&str; 3] = ["ann", "bob", "cy"];
pub(super) const TAGS: [&str; 3] = ["red", "green", "blue"];

/// A whole run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) care: Care,
    /// Whether workers look for duplicates before they begin with what they claimed.
    pub(super) finds_duplicates: bool,
    /// Whether somebody listens to the queues: what nobody can hear is not even made.
    pub(super) listens: bool,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Submit(Vec<Request>),
    /// The same ids once more, as after a lost answer.
    SubmitAgain {
        job: u64,
    },
    Claim {
        worker: u64,
        max: usize,
    },
    Heartbeat {
        worker: u64,
    },
    Settle {
        worker: u64,
        ends: Vec<Ending>,
        max: usize,
    },
    /// What a worker does that lost its jobs without knowing.
    SettleLate {
        claim: u64,
        end: Ending,
    },
    /// The same worker looks for duplicates of a job it has lost.
    CheckLate {
        claim: u64,
    },
    Leave {
        worker: u64,
    },
    /// The worker is never heard of again; another takes its place.
    Die {
        worker: u64,
    },
    Cancel {
        job: u64,
    },
    Retry {
        job: u64,
    },
    SetTags {
        job: u64,
        tags: Vec<&'static str>,
    },
    Set {
        queue: usize,
        setting: Setting,
    },
    Sweep {
        queue: usize,
        /// Whether dead workers are named, as when their connection has closed.
        names_the_dead: bool,
    },
    Wait {
        ms: u64,
    },
}

/// A job to be submitted.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) queue: usize,
    pub(super) priority: i32,
    pub(super) delay: u64,
    pub(super) after: Vec<u64>,
    pub(super) after_tags: bool,
    pub(super) tags: Vec<&'static str>,
    pub(super) parent: Option<u64>,
    pub(super) tenant: Option<&'static str>,
    pub(super) retries: u32,
    pub(super) retry_delay: u64,
    pub(super) progressive: bool,
    pub(super) ttl: u64,
    /// Jobs with the same data are duplicates.
    pub(super) data: u8,
}

/// How a worker ends one of its jobs.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    Complete {
        ttl: Option<u64>,
    },
    Fail {
        retry: bool,
        delay: Option<u64>,
    },
    Release,
    /// It goes on with this one.
    Keep,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Setting {
    Paused(bool),
    Concurrency(Option<u64>),
    /// So many jobs in so many milliseconds, which the number of jobs divides.
    Rate(Option<(u64, u64)>),
    TenantConcurrency(Option<u64>),
    OneTenant(&'static str, Option<u64>),
}

impl Plan {
    pub(super) fn new(seed: u64, n_steps: usize) -> Plan {
        let mut random = Random::new(seed);
        let short = Care {
            lock: std::time::Duration::from_secs(5),
            waits_max: 1,
            deaths_max: 2,
            finished_max: 4,
            ..Care::KEYRACK
        };
        let care = random.pick(&[Care::KEYRACK, Care::BEE, short]);
        let finds_duplicates = random.once_in(2);
        let (listens, has_tenants) = (random.once_in(2), random.once_in(2));
        let steps = (0..n_steps).map(|_| step(&mut random, has_tenants)).collect();
        Plan { care, finds_duplicates, listens, steps }
    }
}

fn step(random: &mut Random, has_tenants: bool) -> Step {
    let (job, worker, queue) = (random.next(), random.next(), random.below(QUEUES.len()));
    match random.below(100) {
        0..18 => {
            let n = random.pick(&[1, 1, 1, 2, 5]);
            Step::Submit((0..n).map(|_| request(random, has_tenants)).collect())
        }
        18..20 => Step::SubmitAgain { job },
        20..35 => Step::Claim { worker, max: random.pick(&[1, 1, 2, 3, 10]) },
        35..43 => Step::Heartbeat { worker },
        43..63 => Step::Settle {
            worker,
            ends: (0..4).map(|_| ending(random)).collect(),
            max: random.pick(&[0, 0, 1, 2, 5]),
        },
        63..66 => Step::SettleLate { claim: job, end: ending(random) },
        66 => Step::CheckLate { claim: job },
        67..69 => Step::Leave { worker },
        69..72 => Step::Die { worker },
        72..76 => Step::Cancel { job },
        76..79 => Step::Retry { job },
        79..81 => Step::SetTags { job, tags: random.some(&TAGS) },
        81..86 => Step::Set { queue, setting: setting(random) },
        86..92 => Step::Sweep { queue, names_the_dead: random.once_in(2) },
        _ => Step::Wait {
            ms: random.pick(&[
                1, 1, 7, 50, 250, 1_000, 3_000, 6_000, 11_000, 46_000, 200_000, 3_600_000,
                86_400_000,
            ]),
        },
    }
}

fn request(random: &mut Random, has_tenants: bool) -> Request {
    let tags = random.some(&TAGS);
    Request {
        queue: random.below(QUEUES.len()),
        priority: random.pick(&[0, 0, 0, 5, 10, 20, -3]),
        delay: random.pick(&[0, 0, 0, 0, 1, 50, 1_000, 60_000]),
        after: (0..random.pick(&[0, 0, 0, 1, 2])).map(|_| random.next()).collect(),
        after_tags: !tags.is_empty() && random.once_in(3),
        tags,
        parent: random.once_in(5).then(|| random.next()),
        tenant: (has_tenants && !random.once_in(4)).then(|| random.pick(&TENANTS)),
        retries: random.pick(&[0, 1, 2, 5]),
        retry_delay: random.pick(&[0, 100, 30_000]),
        progressive: random.once_in(3),
        ttl: random.pick(&[1_000, 60_000, 1_800_000, 86_400_000]),
        data: random.below(6) as u8,
    }
}

fn ending(random: &mut Random) -> Ending {
    match random.below(10) {
        0..5 => {
            Ending::Complete { ttl: random.once_in(4).then(|| random.pick(&[1_000, 3_600_000])) }
        }
        5..8 => Ending::Fail {
            retry: !random.once_in(4),
            delay: random.once_in(3).then(|| random.pick(&[0, 5_000])),
        },
        8 => Ending::Release,
        _ => Ending::Keep,
    }
}

fn setting(random: &mut Random) -> Setting {
    match random.below(10) {
        0 => Setting::Paused(true),
        1 | 2 => Setting::Paused(false),
        3 => Setting::Concurrency(random.pick(&[None, Some(1), Some(2), Some(4)])),
        4 | 5 => {
            Setting::Rate(random.pick(&[None, Some((1, 500)), Some((4, 1_000)), Some((3, 900))]))
        }
        6..8 => Setting::TenantConcurrency(random.pick(&[None, Some(1), Some(2)])),
        _ => Setting::OneTenant(random.pick(&TENANTS), random.pick(&[None, Some(1), Some(3)])),
    }
}
