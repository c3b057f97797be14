//! Every key of the Bee queue.
//!
//! Times are unix milliseconds. Jobs of one group may depend on each other, share tags and have each other as
//! parents, so on a cluster a group lives in one slot; its name is not part of any key.

mod parts;
mod places;
mod shapes;

use keyrack_keys::declare::*;

pub use self::parts::*;
use self::{
    places::{LISTED, STATUSES},
    shapes::{
        ERROR_GROUP, ERROR_MUTE, EVENT, HISTORY, JOB_END, LOG, LOG_NOTE, OPTIONS, ORDER, PROGRESS,
        RECORD, SLOWEST, UNIQUE, WORKER,
    },
};

/// The id of a job that must exist.
const JOB: Encoding = Refers(&job::FAMILY);
/// The id of a job that may be gone by now.
const PAST_JOB: Encoding = Id(&Jid::KIND);

/// For how long a group of failures is kept after the last.
const ERRORS_KEPT_S: u64 = 30 * 86_400;
/// The longest time for which a group is muted.
pub(super) const ERROR_MUTE_S_MAX: u64 = 366 * 86_400;

/// For how long the records of hours are kept.
const RECORDED_S: u64 = 90 * 86_400;
/// A key of records lives so much longer than the last of them.
const RECORDS_SPARE_S: u64 = 7_200;

keys! {
    owner = "jobs.bee", origin = Document(&["003"]);

    /// Jobs waiting to run; the lowest score runs first, equal scores by id.
    ///
    /// A job enters by submission, when its delay is over, when its last dependency ends, and when its lock expired.
    queue(queue: QueueName) in group: Group = "bee:ss:queue:<queue>"
        => sorted_set(
            JOB.means("the waiting job"),
            Float.means("when it entered, moved towards the head of the queue by its priority"),
        ),
        removed = "a claim takes jobs out, and so does cancelling",
        example = "bee:ss:queue:Items.applyProfile.static";

    /// The jobs in the working queue whose place among equal scores is not decided by their id: those with a priority, and
    /// those that a worker has given back.
    ///
    /// Jobs of one millisecond have the same score, and a job with priority 10 has that of the first. keyrack's workers take
    /// those of a lower rank first; Node's know nothing of it and go by id.
    ranked(queue: QueueName) in group: Group = "bee:ss:ranked:<queue>"
        => sorted_set(
            Text.means("the rank with 10 digits and 6 places, a colon, and the job: from 1 for priority 10 over 11 for none to more for negative ones; 0 was given back"),
            Float.means("its score in the working queue"),
        ),
        origin = Added,
        removed = "a job leaves with the working queue; the sweep takes out what Node has taken from there",
        example = "bee:ss:ranked:emails";

    /// Jobs that are not due yet: submitted with a delay, or waiting for a retry.
    delayed(queue: QueueName) in group: Group = "bee:ss:delayed:<queue>"
        => sorted_set(JOB.means("the delayed job"), UnixMs.means("when it is due")),
        removed = "the first claim after a job is due moves it to the working queue; cancelling takes it out",
        example = "bee:ss:delayed:Items.applyProfile.static";

    /// Jobs that have ended, completed or failed, and whose result is still valid.
    expires(queue: QueueName) in group: Group = "bee:ss:expires:<queue>"
        => sorted_set(JOB.means("the ended job"), UnixMs.means("when its result expires")),
        removed = "the sweep takes out what has expired; cancelling takes a job out too",
        example = "bee:ss:expires:Items.applyProfile.static";

    /// One job, from submission until some time after its end.
    ///
    /// Every step of the job's life writes here. JSON comes from Redis' Lua, which writes an empty list as `{}`.
    job(jid: Jid) in group: Group = "bee:h:jobs:<jid>"
        => hash(fields! {
            /// The id again; a hash without this field is no job.
            jid: Id(&Jid::KIND),
            /// The queue it was submitted to.
            queue: Id(&QueueName::KIND),
            /// The arguments of the call.
            data: Json(&json::LuaArray(&json::Any)),
            /// Priority, delay, dependencies, retries and ttl; times in milliseconds. keyrack also writes, for jobs that have them:
            /// `failedTtl`; `backoff` (`fixed`, `linear` or `exponential`) with `retryDelayMax` and `retryJitter`, the share of
            /// a wait that is left to chance; `ownRetries`, that `retries` is not its queue's to say; `timeout` of an attempt;
            /// `startBy`, the unix time by which it has to start; `unique`, which other submissions the job stands for and how long,
            /// as its own said; `traceparent` and `tracestate`, the span that submitted it, as W3C
            /// has them; `metadata`, texts by name that its submitter wants to be known.
            options: Json(&OPTIONS),
            /// The worker that took it last; empty before the first.
            worker: OrEmpty(&Id(&WorkerId::KIND)),
            /// Where in its life the job is.
            status: Words(STATUSES),
            /// When it was submitted. Not in the key document.
            submitted: UnixMs,
            /// How often it was tried again, after a failure or an expired lock.
            retries: COUNT,
            /// Its tags.
            tags: Json(&json::LuaArray(&json::String)),
            /// What happened to it, oldest first.
            history: Json(&HISTORY),
            /// What the worker returned.
            result: Optional(&Json(&json::Any)),
            /// The job that submitted this one.
            parent: Optional(&PAST_JOB),
            /// What its duplicates have in common with it; set when it first runs.
            hash: Optional(&Text),
            /// The job that this one is a duplicate of. Not in the key document.
            duplicate: Optional(&PAST_JOB),
            /// Why it failed for good. Not in the key document.
            failedReason: Optional(&Text),
            /// The jobs that wait for this one.
            dependants: Optional(&Json(&json::LuaArray(&json::String))),
            /// The last of them, if they are many: a submission then writes only this field, which is moved to `dependants`
            /// from time to time. Unused where Node hives are. Added by keyrack.
            moreDependants: Optional(&Json(&json::LuaArray(&json::String))),
            /// How often keyrack workers took it. Added by keyrack: who settles a job must name the attempt.
            attempts: Optional(&POSITIVE),
            /// How many workers were lost that had it, until it ran alone; from then on those lost while it did. Added by keyrack.
            deaths: Optional(&POSITIVE),
            /// The last attempt in which it ran with nothing else in its worker's process. Added by keyrack.
            alone: Optional(&POSITIVE),
            /// On whose behalf it runs. Added by keyrack.
            tenant: Optional(&Id(&Tenant::KIND)),
            /// The group of its last failed attempt. Added by keyrack.
            errorGroup: Optional(&Text),
            /// What two equal submissions under one `Idempotency-Key` have in common. Added by keyrack.
            digest: Optional(&Text),
            /// The last progress that its worker reported: a value, an optional message, the time and the attempt. Added by keyrack.
            progress: Optional(&Json(&PROGRESS)),
        }),
        ttl = Ttl::Optional,
        listed = LISTED,
        removed = "expires `options.ttl` after the job was canceled or its result expired",
        example = "bee:h:jobs:b671c480-54e5-11e3-9023-57b39a72bd38";

    /// The log of a job: a head, then the newest lines, oldest first. Workers write many lines in a call.
    ///
    /// The head holds the number of the `next` line, the `bytes` of the kept lines, and how many lines were `dropped`. A line has `at`
    /// in unix milliseconds, its `level`, the `attempt` and its `text`. A job that logs nothing has no such key.
    logs(jid: Jid) in group: Group = "bee:l:logs:<jid>"
        => list(Json(&LOG).means("the head or a line")),
        origin = Added,
        ttl = Ttl::Optional,
        removed = "expires when its job does, or is deleted with it; at the latest 90 days and the job's own times to live after the last line",
        example = "bee:l:logs:b671c480-54e5-11e3-9023-57b39a72bd38";

    /// Jobs with the same hash: the original first, then its duplicates as they came.
    hashes(queue: QueueName, hash: JobHash) in group: Group = "bee:l:hashes:<queue>:<hash>"
        => list(JOB.means("the original or a duplicate")),
        removed = "goes as a whole when a job with that hash expires or is canceled",
        example = "bee:l:hashes:emails:f629ae44b7b3dcfed444d363e626edf411ec69a8";

    /// The jobs that carry a tag. Written by submission and by a worker that changes its job's tags.
    tags(tag: Tag) in group: Group = "bee:s:tags:<tag>"
        => set(JOB.means("a job with this tag")),
        removed = "a job leaves when it expires or is canceled",
        example = "bee:s:tags:newsletter";

    /// What a job still waits for. Written by submission, for dependencies that have not ended.
    dependencies(jid: Jid) in group: Group = "bee:s:dependencies:<jid>"
        => set(JOB.means("a job that has to end first")),
        removed = "a dependency leaves when it ends, in whatever way",
        example = "bee:s:dependencies:b671c480-54e5-11e3-9023-57b39a72bd38";

    /// The workers of a queue, by their last heartbeat.
    bees(queue: QueueName) in group: Group = "bee:ss:bees:<queue>"
        => sorted_set(Id(&WorkerId::KIND).means("a worker"), UnixMs.means("its last heartbeat")),
        removed = "any heartbeat drops workers that were silent for an hour",
        example = "bee:ss:bees:Items.applyProfile.static";

    /// The jobs that run on one worker. Written by its claims.
    worker_locks(worker: WorkerId) in group: Group = "bee:s:locks:<worker>"
        => set(JOB.means("a running job")),
        removed = "a job leaves when it ends, is canceled, or loses its lock for good",
        example = "bee:s:locks:mac.local:87362:b355de80-54e5-11e3-9023-57b39a72bd38:emails:b671c480-54e5-11e3";

    /// The running jobs of a queue; an expired lock is how a dead worker is noticed.
    ///
    /// A claim locks for 10 s (45 s with Bee's timings); every heartbeat of the worker renews it.
    locks(queue: QueueName) in group: Group = "bee:ss:locks:<queue>"
        => sorted_set(JOB.means("a running job"), UnixMs.means("when its lock expires")),
        removed = "a job leaves when it ends, is canceled, or loses its lock for good",
        example = "bee:ss:locks:Items.applyProfile.static";

    /// Jobs that workers took a moment ago and have told nothing of since.
    ///
    /// A worker whose jobs take next to no time takes some at once, and tells what became of all of them in one call,
    /// or that they run, after some milliseconds at most. Until then this entry is all that says that it has them.
    reserved(queue: QueueName) in group: Group = "bee:h:reserved:<queue>"
        => map(
            Text.means("the worker, `#`, and the number it has given to what it took"),
            Text.means("until when it has them, in unix milliseconds, and the jobs, a space after each; `!` in front when others have changed one of them"),
        ),
        origin = Added,
        removed = "an entry goes when its worker tells about its jobs or stops; the sweep takes what was not told of in time",
        example = "bee:h:reserved:emails";

    /// Canceled jobs that still run: their worker has been told to stop them. They count for the limit on jobs that run at
    /// once until the worker says that it has, or its time for that is over.
    stopping(queue: QueueName) in group: Group = "bee:ss:stopping:<queue>"
        => sorted_set(
            Text.means("the job, a space, and its attempt"),
            UnixMs.means("until when it is waited for"),
        ),
        origin = Added,
        removed = "an entry goes when the worker tells of the job; the sweep takes what nobody told of in time",
        example = "bee:ss:stopping:emails";

    /// Running jobs whose attempt may take so long and no longer.
    timeouts(queue: QueueName) in group: Group = "bee:ss:timeouts:<queue>"
        => sorted_set(PAST_JOB.means("a running job"), UnixMs.means("when the attempt has to have ended")),
        origin = Added,
        removed = "a job leaves when it runs no longer; the sweep fails the attempt of one whose worker has not stopped it in time",
        example = "bee:ss:timeouts:emails";

    /// Jobs that have to start by some time, and have not started yet.
    start_by(queue: QueueName) in group: Group = "bee:ss:start-by:<queue>"
        => sorted_set(PAST_JOB.means("a waiting job"), UnixMs.means("when it has to have started")),
        origin = Added,
        removed = "a job leaves when it starts or is canceled; claims and the sweep end those whose time is over as expired",
        example = "bee:ss:start-by:emails";

    /// The jobs that stand for equal submissions. Written by submissions that say what makes them equal, and by nobody else: who
    /// submits the next one looks up what the job does.
    unique(queue: QueueName) in group: Group = "bee:h:unique:<queue>"
        => map(
            Text.means("what equal submissions have in common, as JSON: `key` or `args`, the key or a digest, and the tenant"),
            Json(&UNIQUE).means("the job and when it was submitted; `next` is the one that later ones were folded into"),
        ),
        origin = Added,
        removed = "the sweep takes out entries whose time is over and whose jobs have ended",
        example = "bee:h:unique:emails";

    /// When the sweep looks at the entries of jobs that stand for others.
    unique_looks(queue: QueueName) in group: Group = "bee:ss:unique:<queue>"
        => sorted_set(Text.means("what equal submissions have in common"), UnixMs.means("when to look at the entry")),
        origin = Added,
        removed = "goes with its entry",
        example = "bee:ss:unique:emails";

    /// How often a worker let the lock of a job expire; the fourth time the job goes to another worker.
    lock_waits(worker: WorkerId, jid: Jid) in group: Group = "bee:str:lock-waits:<worker>:<jid>"
        => string(POSITIVE.means("missed expiries in a row")),
        ttl = Ttl::Within(86_400),
        removed = "the worker's next heartbeat",
        example = "bee:str:lock-waits:mac.local:87362:b355de80-54e5-11e3:emails:b671c480:c0ffee00-54e5-11e3";

    /// The jobs that a job has submitted while running; they are canceled with it.
    children(parent: Jid) in group: Group = "bee:s:<parent>:children"
        => set(JOB.means("a job submitted by the parent")),
        origin = Original,
        removed = "a child leaves when it expires or is canceled",
        example = "bee:s:b671c480-54e5-11e3-9023-57b39a72bd38:children";

    /// Jobs that wait for other jobs, by submission. Node hives keep no such list, so their jobs are not on it.
    waiting(queue: QueueName) in group: Group = "bee:ss:waiting:<queue>"
        => sorted_set(JOB.means("the waiting job"), UnixMs.means("when it was submitted")),
        origin = Added,
        holds = Some(Holds { field: "status", words: &["new"] }),
        removed = "a job leaves when its last dependency ends, or when it is canceled",
        example = "bee:ss:waiting:emails";

    /// Jobs that failed for good and whose result is still valid, newest last.
    failed(queue: QueueName) in group: Group = "bee:ss:failed:<queue>"
        => sorted_set(JOB.means("the failed job"), UnixMs.means("when it failed")),
        origin = Added,
        holds = Some(Holds { field: "status", words: &["failed"] }),
        removed = "a job leaves when it expires, is canceled, or is told to run again",
        example = "bee:ss:failed:emails";

    /// What an operator has set for a queue; an absent field is no limit. Node workers do not look at it.
    ///
    /// `paused` is `1`; `concurrency` the most jobs that may run at once; `rate_max` jobs may start in `rate_ms`;
    /// `tenant_concurrency` is the most that may run for one tenant, `tenant_concurrency:NAME` for that one; `tenant_rate_max`
    /// and `tenant_rate_ms` are its rate, likewise, and `tenant_rates` is `1` if there is one; `tenant_weight:NAME` is how many
    /// turns a tenant has for one of others; `tenant_paused:NAME` is `1`; `limit_concurrency:NAME`, `limit_rate_max:NAME` and
    /// `limit_rate_ms:NAME` are for the jobs that name this limit, and `named_limits` is `1` if there is one;
    /// `completed_max` and `failed_max` jobs are kept, failed ones for `failed_ttl_ms`. For jobs that say nothing about it:
    /// `retries`; `backoff` with `retry_delay_ms`, `retry_delay_max_ms` and `retry_jitter`; `timeout_ms` of an attempt. 95 % of
    /// the jobs should start within `wait_target_ms`.
    settings(queue: QueueName) in group: Group = "bee:h:settings:<queue>"
        => map(
            Text.means("the setting"),
            AnyOf(&[Float, Words(&["fixed", "linear", "exponential"])]).means("its value"),
        ),
        origin = Added,
        removed = "a setting goes when it is unset",
        example = "bee:h:settings:emails";

    /// The jobs that have started in the time of a queue's rate limit. Written by claims.
    rate(queue: QueueName) in group: Group = "bee:ss:rate:<queue>"
        => sorted_set(
            COUNT.means("how many have started up to the end of the slot"),
            COUNT.means("the slot: the unix time in thousandths of the limit's time, at least of a millisecond"),
        ),
        origin = Added,
        ttl = Ttl::Optional,
        removed = "expires when the limit is unused",
        example = "bee:ss:rate:emails";

    /// What happened in each of the last minutes: how many jobs were `submitted`, `started`, `completed`, `failed`, `retried`,
    /// `canceled` and `expired`, and how many ended ones were `dropped` because the queue keeps no more.
    ///
    /// `t5.7` is how many attempts ended that had waited for a time in bucket 5 and run for one in bucket 7; bucket i ends at
    /// 2^(i/2) ms. `wait_ms` and `run_ms` are the sums of these times. `folded` is the minute in which the sweep last made records
    /// of minutes that are over, and took them out here.
    minutes(queue: QueueName) in group: Group = "bee:h:minutes:<queue>"
        => map(
            Text.means("the minute since the epoch, a colon, and what is counted: `29911823:completed`; `first` is how many milliseconds into the minute the first job started"),
            COUNT.means("how many"),
        ),
        origin = Added,
        ttl = Ttl::Within(RECORDED_S),
        removed = "the sweep makes records of minutes older than ten; where nobody sweeps, all expire 90 days after the last",
        example = "bee:h:minutes:emails";

    /// Records of minutes: counts and times. Written by the sweep from the counters of the minute.
    ///
    /// `w5` is how many attempts had waited for a time in bucket 5 when they ended, `r7` how many had run for one in bucket 7;
    /// bucket i ends at 2^(i/2) ms. `wait_ms` and `run_ms` are sums; other numbers are counts of jobs.
    times_minutes(queue: QueueName) in group: Group = "bee:h:times-minutes:<queue>"
        => map(COUNT.means("the minute since the epoch"), Json(&RECORD).means("its numbers")),
        origin = Added,
        ttl = Ttl::Within(86_400 + RECORDS_SPARE_S),
        removed = "the sweep drops records older than a day; all expire two hours after the last has become so old",
        example = "bee:h:times-minutes:emails";

    /// Records of quarters of an hour, like those of minutes.
    times_quarters(queue: QueueName) in group: Group = "bee:h:times-quarters:<queue>"
        => map(COUNT.means("the quarter of an hour since the epoch"), Json(&RECORD).means("its numbers")),
        origin = Added,
        ttl = Ttl::Within(7 * 86_400 + RECORDS_SPARE_S),
        removed = "the sweep drops records older than seven days; all expire two hours after the last has become so old",
        example = "bee:h:times-quarters:emails";

    /// Records of hours, like those of minutes, and `total`, the sum of all there ever were.
    times_hours(queue: QueueName) in group: Group = "bee:h:times-hours:<queue>"
        => map(
            AnyOf(&[COUNT, Words(&["total"])]).means("the hour since the epoch, or `total`"),
            Json(&RECORD).means("its numbers"),
        ),
        origin = Added,
        ttl = Ttl::Within(RECORDED_S + RECORDS_SPARE_S),
        removed = "the sweep drops records older than 90 days; all expire two hours after the last has become so old",
        example = "bee:h:times-hours:emails";

    /// The ten slowest attempts of each of the last 24 hours. Written when they end.
    slowest(queue: QueueName) in group: Group = "bee:h:slowest:<queue>"
        => map(
            COUNT.means("the hour since the epoch"),
            Json(&SLOWEST).means("the attempts, slowest first; `over` is what a further one has to exceed"),
        ),
        origin = Added,
        ttl = Ttl::Within(90_000),
        removed = "the first attempt of an hour drops hours older than 24; all expire 25 hours after the first of the last",
        example = "bee:h:slowest:emails";

    /// Failures of the last 30 days in at most 100 groups: those of one cause are in one group. Written in the call that settles.
    ///
    /// A group has the type of the error (`kind`), its message without numbers, ids, quoted values and paths (`text`), the last
    /// `message`, how many attempts failed (`count`) and how many jobs for good (`failed`), the `first` and `last` time, failures
    /// by the hour since the epoch (24 `hours`), the last five `jobs`, and up to ten `tenants`, `hosts` and `versions` of workers.
    /// `other` has the sums of the groups that had to make room, and how many they were (`folded`).
    errors(queue: QueueName) in group: Group = "bee:h:errors:<queue>"
        => map(
            Text.means("the group: 12 hexadecimal digits of the SHA-1 of type, newline and text; or `other`"),
            Json(&ERROR_GROUP).means("the group"),
        ),
        origin = Added,
        ttl = Ttl::Within(ERRORS_KEPT_S),
        removed = "the next failure drops groups that were not seen for 30 days; all expire 30 days after the last failure",
        example = "bee:h:errors:emails";

    /// Which group of failures makes room for a new one: the first.
    error_ranks(queue: QueueName) in group: Group = "bee:ss:errors:<queue>"
        => sorted_set(
            Text.means("the group"),
            UnixMs.means("when it was seen last, and six hours more for each doubling of its count"),
        ),
        origin = Added,
        ttl = Ttl::Within(ERRORS_KEPT_S),
        removed = "goes with its group",
        example = "bee:ss:errors:emails";

    /// Groups of failures that raise no alert for some time. Written by whoever mutes one.
    error_mutes(queue: QueueName) in group: Group = "bee:h:error-mutes:<queue>"
        => map(
            Text.means("the group"),
            Json(&ERROR_MUTE).means("since when, until when, and the version of a worker whose failure ends it"),
        ),
        origin = Added,
        ttl = Ttl::Within(ERROR_MUTE_S_MAX),
        removed = "a mute goes with the first failure after its end, or with the next mute; all expire with the last, after a year at most",
        example = "bee:h:error-mutes:emails";

    /// What keyrack's workers tell about themselves.
    workers(queue: QueueName) in group: Group = "bee:h:workers:<queue>"
        => map(
            Id(&WorkerId::KIND).means("a worker"),
            Json(&WORKER).means("its start, its concurrency, its lock, whether it listens on its channel, and whether it runs suspects alone"),
        ),
        origin = Added,
        removed = "a worker leaves when it stops, or when the sweep finds it gone",
        example = "bee:h:workers:emails";

    /// The tenants of a queue that have jobs waiting or running.
    tenants(queue: QueueName) in group: Group = "bee:h:tenants:<queue>"
        => map(
            Id(&Tenant::KIND).means("a tenant"),
            OrEmpty(&Text).means("its jobs in the working queue, a space between them: one, or as many as its weight says"),
        ),
        origin = Added,
        removed = "a tenant leaves with its last job",
        example = "bee:h:tenants:emails";

    /// When tenants are looked at that have started as many jobs as they may in their time, and have more. Written when that is
    /// found out.
    tenant_wakes(queue: QueueName) in group: Group = "bee:ss:tenant-wakes:<queue>"
        => sorted_set(Id(&Tenant::KIND).means("a tenant"), UnixMs.means("when it may start the next")),
        origin = Added,
        removed = "the first claim or sweep after that time takes it out",
        example = "bee:ss:tenant-wakes:emails";

    /// The jobs of a tenant that have started in the time of its rate limit. Written by claims.
    tenant_rate(queue: QueueName, tenant: Tenant, rate_ms: RateMs) in group: Group = "bee:ss:tenant-rate:<queue>:<tenant>:<rate_ms>"
        => sorted_set(
            COUNT.means("how many have started up to the end of the slot"),
            COUNT.means("the slot: the unix time in thousandths of the limit's time, at least of a millisecond"),
        ),
        origin = Added,
        ttl = Ttl::Optional,
        removed = "expires when the limit is unused",
        example = "bee:ss:tenant-rate:emails:acme:60000";

    /// The jobs of a tenant that wait for its turn. As many as its weight says stand in the working queue, mostly one.
    parked(queue: QueueName, tenant: Tenant) in group: Group = "bee:ss:parked:<queue>:<tenant>"
        => sorted_set(
            JOB.means("the parked job"),
            Float.means("when it was parked, moved towards the head by its priority"),
        ),
        origin = Added,
        removed = "a job leaves when it is its turn, or when it is canceled",
        example = "bee:ss:parked:emails:acme";

    /// The jobs that run for one tenant.
    tenant_running(queue: QueueName, tenant: Tenant) in group: Group = "bee:s:running:<queue>:<tenant>"
        => set(PAST_JOB.means("a running job")),
        origin = Added,
        removed = "a job leaves when it ends or loses its worker",
        example = "bee:s:running:emails:acme";

    /// The jobs that a limit holds which they name, in the order in which they are let in. Each of them is delayed, until its turn
    /// by the rate or for a minute, and comes back to the place in the queue that is its score here. Written by claims.
    limit_held(queue: QueueName, limit: LimitName) in group: Group = "bee:ss:held:<queue>:<limit>"
        => sorted_set(PAST_JOB.means("a held job"), Float.means("when it was held first")),
        origin = Added,
        ttl = Ttl::Required,
        removed = "a job leaves when it starts or is withdrawn; the list expires a day after the last delay in it",
        example = "bee:ss:held:emails:api.example.com";

    /// The jobs that run and name a limit of how many may at once. Written by claims.
    limit_running(queue: QueueName, limit: LimitName) in group: Group = "bee:s:limited:<queue>:<limit>"
        => set(PAST_JOB.means("a running job")),
        origin = Added,
        removed = "a job leaves when it ends or loses its worker, and all when the limit is lifted",
        example = "bee:s:limited:emails:api.example.com";

    /// The jobs that name a limit and have started in the time of its rate. Written by claims.
    limit_rate(queue: QueueName, limit: LimitName, rate_ms: RateMs) in group: Group = "bee:ss:limit-rate:<queue>:<limit>:<rate_ms>"
        => sorted_set(
            COUNT.means("how many have started up to the end of the slot"),
            COUNT.means("the slot: the unix time in thousandths of the limit's time, at least of a millisecond"),
        ),
        origin = Added,
        ttl = Ttl::Optional,
        removed = "expires when the limit is unused",
        example = "bee:ss:limit-rate:emails:api.example.com:1000";
    /// Which ends of jobs are to be written to the outbox. Written when webhooks are created, changed or deleted.
    outbox_kinds() in group: Group = "bee:h:outbox-kinds"
        => map(
            OrEmpty(&Id(&QueueName::KIND)).means("a queue, or nothing for all queues"),
            Text.means("the statuses of jobs that end, a space before and after each: ` failed  expired `"),
        ),
        origin = Added,
        removed = "a queue leaves when no webhook asks for its jobs any more",
        example = "bee:h:outbox-kinds";

    /// Ends of jobs that are still to be handed to webhooks, oldest first. Written in the call that ends the job, if `outbox_kinds`
    /// says so. `data` and `result` are left out if they have more than 8,192 bytes.
    outbox() in group: Group = "bee:l:outbox"
        => list(Json(&JOB_END).means("a job that has ended, as it was then")),
        origin = Added,
        removed = "a server takes out what it has handed on; of more than 100,000 the oldest are dropped",
        example = "bee:l:outbox";

    /// How many ends of jobs were dropped because no server had handed on the 100,000 before them.
    outbox_dropped() in group: Group = "bee:str:outbox-dropped"
        => string(POSITIVE.means("how many")),
        origin = Added,
        removed = "never",
        example = "bee:str:outbox-dropped";

    /// The names of all queues that keyrack has seen, in every group.
    queues() = "bee:s:queues"
        => set(Id(&QueueName::KIND).means("a queue")),
        origin = Added,
        shard = Shard::Word("bee"),
        removed = "never by itself: a queue is forgotten when it is deleted",
        example = "bee:s:queues";

    /// Settings that every Node script reads first and fails without. keyrack sets it if absent and never deletes it.
    hive_options() = "bee:str:hive:options"
        => string(Json(&json::Object(&[("log", json::Bool)])).means("whether scripts log")),
        origin = Original,
        removed = "never",
        example = "bee:str:hive:options";

    /// Script hashes of the Node program, which runs whatever stands here without a check.
    ///
    /// One wrong entry breaks every Node worker, so nothing in keyrack may write this key.
    scripts() = "bee:scripts"
        => map(Text.means("a script's name"), Text.means("its SHA-1")),
        origin = Foreign,
        removed = "never",
        example = "bee:scripts";

    /// What happens to the jobs of one queue.
    ///
    /// Types `new`, `duplicate`, `completed`, `failed`, `canceled` and `progress`; listeners ignore others. All but
    /// `new` and `progress` carry the whole job: listeners act on it without reading the key. keyrack adds `resumed`, when jobs
    /// may start that could not, and `delayed`, when the first delayed job is due `till` this time or an attempt has failed
    /// that is to be made again then. The key document names only the prefix `bee:ch`.
    queue_events(queue: QueueName) in group: Group = "bee:ch:q:<queue>"
        => channel(Json(&EVENT).means("the event")),
        example = "bee:ch:q:emails";

    /// New jobs that prefer one host; the queue's channel announces them a moment later to everybody.
    host_events(hostname: Hostname) in group: Group = "bee:ch:host:<hostname>"
        => channel(Json(&EVENT).means("a `new` event")),
        example = "bee:ch:host:worker-7";

    /// A job has new lines in its log; `next` is the number of the line after them. Listeners read the lines from the log.
    log_events(jid: Jid) in group: Group = "bee:ch:logs:<jid>"
        => channel(Json(&LOG_NOTE).means("the number that the next line will have")),
        origin = Added,
        example = "bee:ch:logs:b671c480-54e5-11e3-9023-57b39a72bd38";

    /// What concerns one worker: `canceled` and `lost` jobs that it should stop working on, and the `attempt` of each.
    ///
    /// A keyrack worker listens here as long as it lives. Nobody listening is how the sweep notices a closed
    /// connection; its question is an empty message.
    worker_events(worker: WorkerId) in group: Group = "bee:ch:worker:<worker>"
        => channel(AnyOf(&[Json(&ORDER), Words(&[""])]).means("the event, or the question whether anybody listens")),
        origin = Added,
        example = "bee:ch:worker:mac.local:87362:b355de80-54e5-11e3-9023-57b39a72bd38:emails:b671c480-54e5-11e3";
}
