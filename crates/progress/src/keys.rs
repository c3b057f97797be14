//! Every key of the progress bars. Times are unix seconds with a fraction.

use keyrack_keys::declare::*;

parts! {
    /// The name of a progress bar, unique for its user.
    text BarName;
    /// A trace, one run through a progress bar; the client chooses its id.
    text TraceUid;
    /// Where a step stands in its trace, from 1.
    number StepPosition 1..=u64::MAX;
    /// How often the bar's steps have changed.
    number Version 0..=u64::MAX;
    /// How samples become an estimate: `harmonic_mean`, `geometric_mean`, `arithmetic_mean`, `best_fit.linear`, or
    /// `percentile_` and the percentile in its shortest decimal form.
    text Technique;
    /// A year in UTC.
    number Year 1970..=9999;
    /// A month in UTC, without leading zero.
    number Month 1..=12;
    /// A run of the example job.
    text ExampleUid;
}

const STEP: json::Schema = json::Object(&[
    ("uid", json::String),
    ("name", json::String),
    ("iterated", json::Bool),
    ("one_off_technique", json::String),
    ("one_off_percentile", json::Number),
    ("iterated_technique", json::String),
    ("iterated_percentile", json::Number),
    ("created_at", json::Number),
]);

const SAMPLE: json::Schema = json::Object(&[
    ("uid", json::String),
    ("created_at", json::Number),
    (
        "steps",
        json::Array(&json::Object(&[
            ("uid", json::String),
            ("iterations", json::Nullable(&json::Number)),
            ("started_at", json::Number),
            ("finished_at", json::Number),
        ])),
    ),
]);

/// For each step of a trace its pace.
const PACES: json::Schema = json::Array(&json::Array(&json::Number));

keys! {
    owner = "progress", origin = Document(&["000"]), shard = Shard::Part("user_sub");

    /// A trace that is under way. Written when it starts and by every update, which also renews the TTL.
    trace(user_sub: UserSub, bar: BarName, trace_uid: TraceUid) = "trace:<user_sub>:<bar>:<trace_uid>"
        => hash(fields! {
            /// When the trace started.
            created_at: UnixSeconds,
            /// When the last update came, even one that changed nothing.
            last_updated_at: UnixSeconds,
            /// The position of the step started last.
            current_step: POSITIVE,
            /// `1` if completed.
            done: Words(&["0", "1"]),
            /// `1` once the completed trace has been counted. Added by keyrack.
            counted: Optional(&Words(&["1"])),
            /// When the run failed; `done` stays `0`. Added by keyrack, as the next three.
            failed_at: Optional(&UnixSeconds),
            /// The exit code with which it failed.
            exit_code: Optional(&COUNT),
            /// The signal that ended it.
            signal: Optional(&COUNT),
            /// How often its process reports, in seconds. One that is silent for three times this is lost.
            reports_every: Optional(&POSITIVE),
        }),
        ttl = Ttl::Within(86_400),
        removed = "expires a quarter of an hour after the completed trace has been counted, so that late watchers see its end",
        example = "trace:alice:import:42";

    /// One step of a trace. Written when the step starts, goes on and finishes; positions have no gaps.
    step(user_sub: UserSub, bar: BarName, trace_uid: TraceUid, position: StepPosition)
        = "trace:<user_sub>:<bar>:<trace_uid>:step:<position>"
        => hash(fields! {
            /// The step's name.
            step_name: Text,
            /// The last iteration completed; 0 for a one-off step.
            iteration: COUNT,
            /// How many iterations there are; 0 for a one-off step.
            iterations: COUNT,
            /// When the step started.
            started_at: UnixSeconds,
            /// When it finished.
            finished_at: Optional(&UnixSeconds),
        }),
        ttl = Ttl::Within(86_400),
        removed = "expires with its trace",
        example = "trace:alice:import:42:step:3";

    /// The pace of a trace under way: when some of the iterations of each step were reported, at most 128 of them. Written by updates
    /// that report iterations.
    trace_pace(user_sub: UserSub, bar: BarName, trace_uid: TraceUid) = "trace:<user_sub>:<bar>:<trace_uid>:pace"
        => map(
            POSITIVE.means("the position of the step"),
            Text.means("`iteration:seconds` with spaces between, the seconds since the step began"),
        ),
        origin = Added,
        ttl = Ttl::Within(86_400),
        removed = "expires with its trace",
        example = "trace:alice:import:42:pace";

    /// How long a whole new trace will take, by the technique of the bar's default step.
    /// A cache of what the samples say.
    overall_stats(user_sub: UserSub, bar: BarName, version: Version, technique: Technique)
        = "stats:<user_sub>:<bar>:<version>:<technique>"
        => string(Float.means("seconds")),
        ttl = Ttl::Within(1_800),
        example = "stats:alice:import:0:percentile_75";

    /// The fit from which one step's time follows. A cache of what the samples say.
    step_stats(user_sub: UserSub, bar: BarName, version: Version, position: StepPosition, technique: Technique)
        = "stats:<user_sub>:<bar>:<version>:<position>:<technique>"
        => hash(fields! {
            /// Seconds for a one-off step, seconds per iteration for an iterated one; the slope for `best_fit.linear`.
            a: Float,
            /// The intercept; for `best_fit.linear` only.
            b: Optional(&Float),
            /// `a`, a comma, and `b` if there is one, again. Added by keyrack: a fit without it was written by the original, which
            /// has `a` and `b` the other way round, and is not used.
            check: Optional(&Text),
        }),
        ttl = Ttl::Within(1_800),
        example = "stats:alice:import:0:3:best_fit.linear";

    /// The completed traces of one version of a bar. A trace enters when it is completed; old ones are clipped then.
    trace_count(user_sub: UserSub, bar: BarName, version: Version) = "tcount:<user_sub>:<bar>:<version>"
        => sorted_set(Text.means("the trace"), UnixSeconds.means("when the trace was created")),
        ttl = Ttl::Required,
        removed = "traces older than the bar's sampling age are clipped at each addition",
        example = "tcount:alice:import:0";

    /// How many traces each user created in a month, the month being that of the trace's `created_at`.
    month_count(year: Year, month: Month) = "tcount:<year>:<month>"
        => map(Id(&UserSub::KIND).means("the user"), POSITIVE.means("traces created")),
        shard = Shard::Whole,
        removed = "never: usage is billed from it",
        example = "tcount:2022:11";

    /// The result of an example job.
    example(uid: ExampleUid) = "example:<uid>"
        => string(Integer { min: 1, max: 10_000 }.means("the number it found")),
        shard = Shard::Part("uid"),
        ttl = Ttl::Within(600),
        example = "example:ep_t_q1w2e3";

    /// Says that a trace was created or updated: one message after each change. Listeners read the trace.
    trace_events(user_sub: UserSub, bar: BarName, trace_uid: TraceUid) = "ps:trace:<user_sub>:<bar>:<trace_uid>"
        => channel(Text.means("anything; listeners ignore it")),
        example = "ps:trace:alice:import:42";

    /// The bars of a user.
    bars(user_sub: UserSub) = "pbars:<user_sub>"
        => sorted_set(Id(&BarName::KIND).means("a bar"), UnixSeconds.means("when it was created")),
        origin = Added,
        removed = "a bar leaves when it is deleted",
        example = "pbars:alice";

    /// A progress bar. Written when it is created, by a user or by its first completed trace, and when it or its steps change.
    bar(user_sub: UserSub, bar: BarName) = "pbar:<user_sub>:<bar>"
        => hash(fields! {
            /// The bar's id.
            uid: Text,
            /// Changes with every change of the bar or its steps. Who writes has to name the one it has read.
            revision: Text,
            /// How often the steps have changed.
            version: COUNT,
            /// The most traces retained as samples.
            sampling_max_count: POSITIVE,
            /// The age in seconds at which they are dropped; absent if they are not.
            sampling_max_age_seconds: Optional(&POSITIVE),
            /// Which traces are retained.
            sampling_technique: Words(&["systematic", "simple_random"]),
            /// When the bar was created.
            created_at: UnixSeconds,
            /// How often the retained traces have changed.
            sampled: Optional(&COUNT),
        }),
        origin = Added,
        removed = "deleted by its user",
        example = "pbar:alice:import";

    /// The steps of a bar in order, the default step first. Written with the bar.
    steps(user_sub: UserSub, bar: BarName) = "pbar:<user_sub>:<bar>:steps"
        => list(Json(&STEP).means("a step and how its time is estimated")),
        origin = Added,
        removed = "deleted with the bar",
        example = "pbar:alice:import:steps";

    /// The completed traces that a bar retains as samples. Written when a completed trace is counted.
    traces(user_sub: UserSub, bar: BarName) = "pbar:<user_sub>:<bar>:traces"
        => sorted_set(Text.means("a retained trace"), UnixSeconds.means("when the trace was created")),
        origin = Added,
        removed = "traces beyond the bar's count or age are dropped when the next one is counted; all when the steps change",
        example = "pbar:alice:import:traces";

    /// What the retained traces took. Written and removed together with `pbar:<user_sub>:<bar>:traces`.
    samples(user_sub: UserSub, bar: BarName) = "pbar:<user_sub>:<bar>:samples"
        => map(Text.means("a retained trace"), Json(&SAMPLE).means("its steps in order, `iterations` null for a one-off one")),
        origin = Added,
        removed = "together with the retained trace",
        example = "pbar:alice:import:samples";

    /// The pace of the retained traces inside their steps. Written and removed together with `pbar:<user_sub>:<bar>:samples`; a trace
    /// that reported no iterations is not in it.
    paces(user_sub: UserSub, bar: BarName) = "pbar:<user_sub>:<bar>:paces"
        => map(
            Text.means("a retained trace"),
            Json(&PACES).means(
                "for each step the thousandths of its time after which 1/64, 1/32, 2/32 … 31/32 of its iterations were done; none if not known",
            ),
        ),
        origin = Added,
        removed = "together with the retained trace",
        example = "pbar:alice:import:paces";

    /// On a cluster: completed traces of a user on their way to `jobs:hot`, which lies in another slot.
    outbox(user_sub: UserSub) = "pbars:<user_sub>:outbox"
        => list(Text.means("the entry for `jobs:hot`")),
        origin = Added,
        removed = "an entry leaves when it is in `jobs:hot`",
        example = "pbars:alice:outbox";

    /// On a cluster: the users whose completed traces may not be in `jobs:hot` yet. Written before such a trace ends.
    outboxes() = "pbars-outboxes"
        => sorted_set(Id(&UserSub::KIND).means("the user"), UnixSeconds.means("when a trace of theirs ended last")),
        shard = Shard::Whole,
        origin = Added,
        removed = "a user leaves an hour after the last completed trace",
        example = "pbars-outboxes";

    /// The traces under way of all users, for those who look after the whole. A trace enters when it is created and leaves when it is
    /// completed. On a cluster, where it lies in another slot, it follows each step's begin and may lag behind.
    running() = "pbars-running"
        => sorted_set(
            Json(&json::Array(&json::String)).means("the user, the bar and the trace"),
            UnixSeconds.means("when the trace was last heard of"),
        ),
        shard = Shard::Whole,
        origin = Added,
        removed = "a trace leaves when it is completed, or when the next one is created a day after it was last heard of",
        example = "pbars-running";

    /// The traces of a user that are stored, so that nobody has more than `quota-traces`. A trace enters when it is created.
    stored_traces(user_sub: UserSub) = "pbars:<user_sub>:stored"
        => sorted_set(
            Json(&json::Array(&json::String)).means("the bar and the trace"),
            UnixSeconds.means("when the trace has expired for certain; updates renew it, once an hour"),
        ),
        origin = Added,
        ttl = Ttl::Within(90_000),
        removed = "a trace leaves when the next one is created after it has expired",
        example = "pbars:alice:stored";

    /// On a cluster: how many traces a user created in each month. `tcount:<year>:<month>`, in another slot, is raised to it.
    months(user_sub: UserSub) = "pbars:<user_sub>:months"
        => map(Text.means("year and month with `:` between, the month without leading zero"), POSITIVE.means("traces created")),
        origin = Added,
        removed = "never: usage is billed from it",
        example = "pbars:alice:months";
}
