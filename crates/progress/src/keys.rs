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
        }),
        ttl = Ttl::Within(86_400),
        removed = "deleted once the completed trace has been counted",
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
        removed = "deleted with its trace",
        example = "trace:alice:import:42:step:3";

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
}
