//! What can happen to the queues, as plain data: a run is a list of steps, and a shorter list is a run too.
//!
//! A step names a job or a worker by a number that is taken modulo what there is when the step is made.

use keyrack_jobs::bee::{Backoff, BackoffKind, WorkerTimeouts};

use super::{changes::Different, random::Random, unique::Rule};

/// Queues of one group, so that their jobs may wait for each other.
pub(super) const QUEUES: [&str; 2] = ["alpha", "beta"];
pub(super) const TENANTS: [&str; 3] = ["ann", "bob", "cy"];
pub(super) const LIMITS: [&str; 2] = ["gpu", "api"];
pub(super) const TAGS: [&str; 3] = ["red", "green", "blue"];

/// A whole run.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) timeouts: WorkerTimeouts,
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
    /// A worker takes jobs in a reservation.
    Reserve {
        worker: u64,
        request: ReserveRequest,
    },
    /// A worker tells of its oldest reservation, and of its claims if there are ends left.
    Close {
        worker: u64,
        report: Report,
    },
    /// A worker tells of a reservation that it has told of before, or that it had when it died.
    CloseLate {
        reservation: u64,
        ends: Vec<Ending>,
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
    Change {
        job: u64,
        different: Different,
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
    /// As its queue says unless set, and so on.
    pub(super) retries: Option<u32>,
    pub(super) backoff: Option<Backoff>,
    pub(super) timeout: Option<u64>,
    pub(super) start_within: Option<u64>,
    pub(super) ttl: u64,
    pub(super) failed_ttl: Option<u64>,
    /// Jobs with the same data are duplicates.
    pub(super) data: u8,
    /// Which other submissions are for the same job.
    pub(super) unique: Option<Rule>,
    /// The job under whose id it is submitted, if that is what equal submissions have in common.
    pub(super) id_of: u64,
    /// The limits of its queue that it names.
    pub(super) limits: Vec<&'static str>,
}

/// How a worker takes jobs in a reservation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReserveRequest {
    pub(super) max: usize,
    /// It has not heard what came of it when it did, and asks once more.
    pub(super) again: bool,
    /// It hears which jobs it has, but reads them only when it tells of them.
    pub(super) reads_late: bool,
}

/// How a worker tells of a reservation.
#[derive(Debug, Clone, Default)]
pub(super) struct Report {
    pub(super) ends: Vec<Ending>,
    /// How many jobs it takes next.
    pub(super) max: usize,
    /// Whether these are a reservation, too.
    pub(super) reserves: bool,
    /// Whether it does not hear the answer, and says the same again.
    pub(super) twice: bool,
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
        /// Whether the next attempt comes after just this delay, however the job waits else.
        exact: bool,
    },
    /// It cannot be done now.
    Snooze {
        delay: u64,
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
    /// As for the queue, for each tenant.
    TenantRate(Option<(u64, u64)>),
    OneTenantRate(&'static str, Option<(u64, u64)>),
    Weight(&'static str, Option<u64>),
    TenantPaused(&'static str, bool),
    /// What a limit allows that jobs name: so many at once, and so many starts in some time.
    Named(&'static str, Option<u64>, Option<(u64, u64)>),
    CompletedMax(Option<u64>),
    FailedMax(Option<u64>),
    FailedTtl(Option<u64>),
    Retries(Option<u32>),
    Backoff(Option<Backoff>),
    Timeout(Option<u64>),
}

impl Plan {
    pub(super) fn new(seed: u64, n_steps: usize) -> Plan {
        let mut random = Random::new(seed);
        let short = WorkerTimeouts {
            lock: std::time::Duration::from_secs(5),
            waits_max: 1,
            deaths_max: 2,
            finished_max: 4,
            ..WorkerTimeouts::KEYRACK
        };
        let timeouts = random.pick(&[WorkerTimeouts::KEYRACK, WorkerTimeouts::BEE, short]);
        let finds_duplicates = random.once_in(2);
        let listens = random.once_in(2);
        let crowd = random.pick(&[
            Crowd::Tenants,
            Crowd::Tenants,
            Crowd::Reservations,
            Crowd::Reservations,
            Crowd::Limits,
            Crowd::Limits,
            Crowd::Plain,
        ]);
        let steps = (0..n_steps).map(|_| step(&mut random, crowd)).collect();
        Plan { timeouts, finds_duplicates, listens, steps }
    }
}

/// What a run is mostly about: where there are tenants or limits, there are few reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crowd {
    Tenants,
    Reservations,
    /// Jobs name limits, and some have tenants.
    Limits,
    Plain,
}

fn step(random: &mut Random, crowd: Crowd) -> Step {
    let (job, worker, queue) = (random.next(), random.next(), random.below(QUEUES.len()));
    match random.below(100) {
        0..18 => {
            let n = random.pick(&[1, 1, 1, 2, 5]);
            Step::Submit((0..n).map(|_| request(random, crowd)).collect())
        }
        18..20 => Step::SubmitAgain { job },
        20..28 if crowd == Crowd::Reservations && !random.once_in(4) => reserve(random, worker),
        20..28 => Step::Claim { worker, max: random.pick(&[1, 1, 2, 3, 10]) },
        28..36 => reserve(random, worker),
        36..42 => Step::Heartbeat { worker },
        42..52 => Step::Settle {
            worker,
            ends: (0..4).map(|_| ending(random)).collect(),
            max: random.pick(&[0, 0, 1, 2, 5]),
        },
        52..61 => {
            let report = Report {
                ends: (0..random.below(6)).map(|_| ending(random)).collect(),
                max: random.pick(&[0, 0, 1, 2, 5]),
                reserves: !random.once_in(3),
                twice: random.once_in(4),
            };
            Step::Close { worker, report }
        }
        61..63 => {
            Step::CloseLate { reservation: job, ends: (0..3).map(|_| ending(random)).collect() }
        }
        63..66 => Step::SettleLate { claim: job, end: ending(random) },
        66 => Step::CheckLate { claim: job },
        67..69 => Step::Leave { worker },
        69..72 => Step::Die { worker },
        72..75 => Step::Cancel { job },
        75..77 => Step::Retry { job },
        77..80 => Step::Change { job, different: Different::new(random) },
        80 => Step::SetTags { job, tags: random.some(&TAGS) },
        81..86 if crowd == Crowd::Tenants && random.once_in(2) => {
            Step::Set { queue, setting: of_tenant(random) }
        }
        81..86 if crowd == Crowd::Limits && !random.once_in(3) => {
            Step::Set { queue, setting: of_limit(random) }
        }
        81..86 => Step::Set { queue, setting: setting(random, crowd) },
        86..92 => Step::Sweep { queue, names_the_dead: random.once_in(2) },
        _ => Step::Wait {
            ms: random.pick(&[
                1, 1, 7, 50, 250, 1_000, 3_000, 6_000, 11_000, 46_000, 200_000, 3_600_000,
                86_400_000,
            ]),
        },
    }
}

fn reserve(random: &mut Random, worker: u64) -> Step {
    let (again, reads_late) = (random.once_in(4), random.once_in(4));
    let request = ReserveRequest { max: random.pick(&[1, 2, 3, 5, 10]), again, reads_late };
    Step::Reserve { worker, request }
}

fn request(random: &mut Random, crowd: Crowd) -> Request {
    let tags = random.some(&TAGS);
    let has_tenant = match crowd {
        Crowd::Tenants => !random.once_in(4),
        Crowd::Limits => random.once_in(4),
        _ => false,
    };
    let names = if crowd == Crowd::Limits { &LIMITS[..] } else { &[] };
    let mut request = Request {
        queue: random.below(QUEUES.len()),
        priority: random.pick(&[0, 0, 0, 5, 10, 20, -3]),
        delay: random.pick(&[0, 0, 0, 0, 1, 50, 1_000, 60_000]),
        after: (0..random.pick(&[0, 0, 0, 1, 2])).map(|_| random.next()).collect(),
        after_tags: !tags.is_empty() && random.once_in(3),
        tags,
        parent: random.once_in(5).then(|| random.next()),
        tenant: has_tenant.then(|| random.pick(&TENANTS)),
        retries: random.pick(&[None, Some(0), Some(1), Some(2), Some(5)]),
        backoff: (!random.once_in(4)).then(|| backoff(random)),
        timeout: random.once_in(4).then(|| random.pick(&[1, 900, 8_000, 100_000])),
        start_within: random.once_in(4).then(|| random.pick(&[1, 60, 5_000, 400_000])),
        ttl: random.pick(&[1_000, 60_000, 1_800_000, 86_400_000]),
        failed_ttl: random.pick(&[None, None, Some(0), Some(5_000), Some(3_600_000)]),
        data: random.below(6) as u8,
        unique: random.once_in(3).then(|| Rule::new(random)),
        id_of: random.next(),
        limits: names.iter().copied().filter(|_| random.once_in(2)).collect(),
    };
    if request.unique.is_some_and(Rule::says_when) {
        (request.delay, request.after_tags, request.start_within) = (0, false, None);
        request.after.clear();
    }
    request
}

pub(super) fn backoff(random: &mut Random) -> Backoff {
    let kind = random.pick(&BackoffKind::ALL);
    let delay_ms = random.pick(&[0.0, 100.0, 30_000.0]);
    let max_ms = random.once_in(3).then(|| random.pick(&[30_000.0, 45_000.0]));
    let jitter = random.once_in(3).then(|| random.pick(&[0.0, 0.3, 1.0]));
    Backoff { kind, delay_ms, max_ms, jitter }
}

fn ending(random: &mut Random) -> Ending {
    match random.below(11) {
        10 => Ending::Snooze { delay: random.pick(&[0, 70, 9_000]) },
        0..5 => {
            Ending::Complete { ttl: random.once_in(2).then(|| random.pick(&[1_000, 3_600_000])) }
        }
        5..8 => Ending::Fail {
            retry: !random.once_in(4),
            delay: random.once_in(3).then(|| random.pick(&[0, 5_000])),
            exact: random.once_in(2),
        },
        8 => Ending::Release,
        _ => Ending::Keep,
    }
}

fn of_tenant(random: &mut Random) -> Setting {
    let tenant = random.pick(&TENANTS);
    let rate = random.pick(&[None, Some((1, 500)), Some((2, 500)), Some((3, 900))]);
    match random.below(5) {
        0 => Setting::TenantRate(rate),
        1 => Setting::OneTenantRate(tenant, rate),
        2 | 3 => Setting::Weight(tenant, random.pick(&[None, Some(2), Some(3)])),
        _ => Setting::TenantPaused(tenant, random.once_in(2)),
    }
}

fn of_limit(random: &mut Random) -> Setting {
    let concurrency = random.pick(&[None, Some(1), Some(2)]);
    let rate = random.pick(&[None, None, Some((1, 500)), Some((3, 900)), Some((2, 70_000))]);
    Setting::Named(random.pick(&LIMITS), concurrency, rate)
}

fn setting(random: &mut Random, crowd: Crowd) -> Setting {
    if crowd == Crowd::Reservations && !random.once_in(5) {
        return Setting::Paused(random.once_in(3));
    }
    match random.below(16) {
        13 => Setting::Retries(random.pick(&[None, Some(0), Some(3)])),
        14 => Setting::Backoff(random.once_in(2).then(|| backoff(random))),
        15 => Setting::Timeout(random.pick(&[None, Some(500), Some(20_000)])),
        10 => Setting::CompletedMax(random.pick(&[None, Some(1), Some(3)])),
        11 => Setting::FailedMax(random.pick(&[None, Some(1), Some(3)])),
        12 => Setting::FailedTtl(random.pick(&[None, Some(0), Some(60_000)])),
        0 => Setting::Paused(true),
        1 | 2 => Setting::Paused(false),
        3 => Setting::Concurrency(random.pick(&[None, Some(1), Some(2), Some(4)])),
        4 | 5 => {
            Setting::Rate(random.pick(&[None, Some((1, 500)), Some((4, 1_000)), Some((3, 900))]))
        }
        6..8 => Setting::TenantConcurrency(random.pick(&[None, Some(1), Some(2)])),
        8 => Setting::OneTenant(random.pick(&TENANTS), random.pick(&[None, Some(1), Some(3)])),
        _ => of_tenant(random),
    }
}
