//! Every key of the calculations.
//!
//! Each account has a numbered database of its own, from 100 up; where there are too few, and on a cluster, which has
//! none, it lives in database 0 and the account is the shard. Declarations only grow: nothing takes a project,
//! dimension, key, calculation or interval back.

use keyrack_keys::declare::*;

parts! {
    /// The customer; the unit that has its own database, or its own slot on a cluster.
    text Account;
    // The words would make an output event look like another key.
    /// A project of the account.
    text Project except ["bee", "hash", "jobs", "set", "tcount", "trace", "zset"];
    /// What is measured, like a table: `job-skills`.
    text Dimension;
    /// One thing of a dimension: `python`.
    text DimensionKey;
    /// What is calculated.
    words Calculation {
        Sum = "sum",
        Count = "count",
        Average = "average",
        StandardDeviation = "standard_deviation",
        LinearRegression = "linear_regression",
        Min = "min",
        Max = "max",
        Median = "median",
        Percentile90 = "percentile_90",
        Percentile95 = "percentile_95",
        Percentile99 = "percentile_99",
        DistinctCount = "distinct_count",
        Rate = "rate",
    }
    /// How long one bucket of values is.
    words Interval {
        Seconds = "seconds",
        Minutes = "minutes",
        Hours = "hours",
        Days = "days",
        Weeks = "weeks",
        Months = "months",
        Years = "years",
    }
    /// What kind of rule it is.
    words RuleType {
        Comparator = "comparator",
        Observer = "observer",
    }
    /// The number of an output event, from 1.
    number EventNumber 1..=u64::MAX;
    /// The number of a rule, from 1.
    number RuleNumber 1..=u64::MAX;
    /// The name of a list or channel from which events are taken in.
    text IntakeName;
    /// One process that takes events in from a list.
    text Taker;
    /// The SHA-256 of a token, in hex: the token itself is stored nowhere.
    text TokenDigest;
}

const TIMESTAMP: Encoding = Like(&[
    "0000-00-00 00:00:00 ±0000",
    "0000-00-00 00:00:00 ±00:00",
    "0000-00-00 00:00:00 Z",
    "0000-00-00 00:00:00±0000",
    "0000-00-00 00:00:00±00:00",
    "0000-00-00 00:00:00Z",
    "0000-00-00T00:00:00 ±0000",
    "0000-00-00T00:00:00 ±00:00",
    "0000-00-00T00:00:00 Z",
    "0000-00-00T00:00:00±0000",
    "0000-00-00T00:00:00±00:00",
    "0000-00-00T00:00:00Z",
]);

const BUCKET: Encoding = Like(&[
    "0000",
    "0000-00",
    "0000-W00",
    "0000-00-00",
    "0000-00-00 00",
    "0000-00-00 00:00",
    "0000-00-00 00:00:00",
    "000000",
    "0000W00",
    "00000000",
    "0000000000",
    "000000000000",
    "00000000000000",
]);

const STATISTIC: Encoding = Words(&[
    "average",
    "standard_deviation",
    "intercept",
    "slope",
    "ci_90",
    "ci_95",
    "ci_99",
    "r",
    "r_squared",
]);

/// Values whose text is stored as it came.
pub(crate) const PLAIN_DECIMAL: Encoding = Decimal;

/// The intervals that a rule may be about.
const RULE_INTERVALS: Encoding = Words(&["hours", "days", "weeks", "months"]);

const CHANGE: json::Schema =
    json::Object(&[("dimension", json::String), ("key", json::String), ("version", json::Number)]);

keys! {
    owner = "calculations", origin = Document(&["002"]), database = Database::Account,
    removed = "never: declarations only grow";

    /// The projects that have sent events.
    projects() in account: Account = "set:projects"
        => set(Id(&Project::KIND).means("a project")),
        example = "set:projects";

    /// The dimensions that a project has sent events for.
    dimensions(project: Project) in account: Account = "set:<project>:dimensions"
        => set(Id(&Dimension::KIND).means("a dimension")),
        example = "set:1:dimensions";

    /// The keys that have values in a dimension.
    dimension_keys(project: Project, dimension: Dimension) in account: Account = "set:<project>:<dimension>:keys"
        => set(Id(&DimensionKey::KIND).means("a key")),
        example = "set:2:job-skills:keys";

    /// The calculations declared for a key.
    calculations(project: Project, dimension: Dimension, key: DimensionKey) in account: Account
        = "set:<project>:<dimension>:<key>:calculations"
        => set(Words(Calculation::WORDS).means("a calculation")),
        example = "set:2:job-skills:python:calculations";

    /// The intervals declared for a calculation.
    intervals(project: Project, dimension: Dimension, key: DimensionKey, calculation: Calculation) in account: Account
        = "set:<project>:<dimension>:<key>:<calculation>:intervals"
        => set(Words(Interval::WORDS).means("an interval")),
        example = "set:2:job-skills:python:average:intervals";

    /// Every value of a key: what all results are calculated from. Written by each event.
    values(project: Project, dimension: Dimension, key: DimensionKey) in account: Account
        = "hash:<project>:<dimension>:<key>:values"
        => map(TIMESTAMP.means("when it happened, as the event said"), Decimal.means("the value")),
        removed = "never: results are recalculated from it",
        example = "hash:2:job-skills:python:values";

    /// The result of one calculation. Written after each event; always a function of the values alone.
    ///
    /// `average` and `standard_deviation` have one field of that name; `linear_regression` has `intercept`, `slope`,
    /// the half-widths `ci_90`, `ci_95` and `ci_99` of the slope's confidence intervals, the correlation `r` and its square
    /// `r_squared`; all others have a field for each bucket that holds values. What is undefined for so few values is absent.
    result(project: Project, dimension: Dimension, key: DimensionKey, calculation: Calculation, interval: Interval)
        in account: Account
        = "hash:<project>:<dimension>:<key>:<calculation>:<interval>"
        => map(
            AnyOf(&[BUCKET, STATISTIC]).means("the bucket, or the name of the statistic"),
            Float.means("the result"),
        ),
        removed = "never: replaced by the next event",
        example = "hash:2:job-skills:python:count:months";

    /// What is known about a key as a whole, so that writers notice each other. Written with each change.
    head(project: Project, dimension: Dimension, key: DimensionKey) in account: Account
        = "hash:<project>:<dimension>:<key>:head"
        => hash(fields! {
            /// How often the key has changed.
            version: Optional(&COUNT),
            /// The results that are up to date: the form in which sums and values are kept (`form:2`), and each
            /// `CALCULATION:INTERVAL`, separated by spaces.
            built: Optional(&Text),
            /// Who is calculating everything afresh; nobody changes the key meanwhile.
            builder: Optional(&Text),
            /// When that last got on.
            builder_at: Optional(&UnixMs),
        }),
        origin = Added, removed = "never: it belongs to the values",
        example = "hash:2:job-skills:python:head";

    /// The exact sums behind the results of an interval, so that an event need not look at the other values.
    ///
    /// `total` holds buckets, values, sum, sum of squares, sum by rank, sum by date, first and last bucket. `0:N` is the bucket
    /// of number N: values, sum; with more than 64 values and where something asks for their order, also how many are different,
    /// the smallest and the largest. `L:N` is 64 of the level below: buckets, sum.
    state(project: Project, dimension: Dimension, key: DimensionKey, interval: Interval) in account: Account
        = "hash:<project>:<dimension>:<key>:state:<interval>"
        => map(Text.means("`total`, or a bucket or group of buckets"), Text.means("its exact sums")),
        origin = Added, removed = "never: it belongs to the values",
        example = "hash:2:job-skills:python:state:months";

    /// The values of each bucket, for median, percentiles, smallest, largest and different ones.
    ///
    /// Of 2 to 64 values, the values themselves: `= VALUE VALUE`, the smallest first. Of more, how many there are of which size.
    /// A single value is its bucket's sum, and not here.
    sketch(project: Project, dimension: Dimension, key: DimensionKey, interval: Interval) in account: Account
        = "hash:<project>:<dimension>:<key>:sketch:<interval>"
        => map(
            COUNT.means("the number of the bucket"),
            Text.means("its values, or how many of which size: `SIZE:COUNT`, separated by spaces"),
        ),
        origin = Added, removed = "never: it belongs to the values",
        example = "hash:2:job-skills:python:sketch:days";

    /// The different values of each bucket of more than 64 values by size, for smallest, largest and different ones.
    order(project: Project, dimension: Dimension, key: DimensionKey, interval: Interval) in account: Account
        = "zset:<project>:<dimension>:<key>:order:<interval>"
        => sorted_set(
            Text.means("the bucket's number, and the value in a form that sorts as text"),
            Words(&["0"]).means("always 0: members are in order of their text"),
        ),
        origin = Added, removed = "never: it belongs to the values",
        example = "zset:2:job-skills:python:order:days";

    /// How often values occur, of those in `order` that occur more than once.
    repeats(project: Project, dimension: Dimension, key: DimensionKey, interval: Interval) in account: Account
        = "hash:<project>:<dimension>:<key>:repeats:<interval>"
        => map(Text.means("the bucket's number and the value, as in `order`"), POSITIVE.means("how often")),
        origin = Added, removed = "a value that occurs once again, or not at all",
        example = "hash:2:job-skills:python:repeats:days";

    /// How a project's results are calculated; what is absent has its default.
    settings(project: Project) in account: Account = "hash:<project>:settings"
        => hash(fields! {
            /// How buckets are called: `2014-10` or `201410`.
            labels: Optional(&Words(&["prefix", "compact"])),
            /// Whose clock decides the bucket: `event` for the event's own offset, or the name of a time zone.
            zone: Optional(&Text),
            /// What happens to a second value of the same time.
            duplicates: Optional(&Words(&["replace", "sum", "first", "max", "min", "reject"])),
            /// Whether buckets without values count as zeros between the first and the last.
            gaps: Optional(&Words(&["skip", "calendar"])),
            /// Which standard deviation it is.
            deviation: Optional(&Words(&["sample", "population"])),
            /// What is written for a number that so few values do not define.
            undefined: Optional(&Words(&["absent", "zero"])),
            /// Which results an event updates: all that are declared, or those that it names.
            updates: Optional(&Words(&["union", "event"])),
            /// How often a rule fires.
            firing: Optional(&Words(&["bucket", "update"])),
        }),
        origin = Added, removed = "never: projects stay",
        example = "hash:2:settings";

    /// The number of the last output event of the account.
    event_counter() in account: Account = "primary-key"
        => string(POSITIVE.means("the number")),
        origin = Original, removed = "never: numbers are not used again",
        example = "primary-key";

    /// An output event: what a rule had to say.
    event(project: Project, dimension: Dimension, key: DimensionKey, number: EventNumber) in account: Account
        = "<project>:<dimension>:<key>:<number>"
        => map(Text.means("a name such as `event_type`, `threshold`, `created_at`"), Text.means("its value")),
        origin = Original, removed = "never: events are the record",
        known_by = KnownBy::Content(&["event_type", "project_id", "dimension"]),
        example = "2:job-skills:python:17";

    /// The numbers of a key's output events.
    events(project: Project, dimension: Dimension, key: DimensionKey) in account: Account
        = "<project>:<dimension>:<key>:set"
        => set(POSITIVE.means("the number of an event")),
        origin = Original, removed = "never: events are the record", known_by = KnownBy::Content(&[]),
        example = "2:job-skills:python:set";

    /// The latest output events of the account, oldest first, for those who hand them on.
    said() in account: Account = "list:said"
        => list(Text.means("the number of the event, its type, and its fields as a JSON list of names and values")),
        origin = Added, removed = "the newest 10,000 are kept",
        example = "list:said";

    /// The number of the last rule of the account.
    rule_counter() in account: Account = "rules-primary-key"
        => string(POSITIVE.means("the number")),
        origin = Original, removed = "never: numbers are not used again",
        example = "rules-primary-key";

    /// The rules of a project, by the full names of their keys.
    rules(project: Project) in account: Account = "set:<project>:rules"
        => set(Text.means("the key of a rule")),
        origin = Original, removed = "deleting a rule takes it out",
        example = "set:2:rules";

    /// The rules of a project about one interval.
    interval_rules(project: Project, interval: Interval) in account: Account = "set:<project>:rules:<interval>"
        => set(Text.means("the key of a rule")),
        origin = Original, removed = "deleting a rule takes it out",
        example = "set:2:rules:weeks";

    /// One rule.
    rule(project: Project, kind: RuleType, number: RuleNumber) in account: Account
        = "hash:<project>:<kind>:rule:<number>"
        => hash(fields! {
            /// The dimension it is about.
            dimension: Id(&Dimension::KIND),
            /// The key it is about.
            key: Id(&DimensionKey::KIND),
            /// The interval it is about.
            interval: RULE_INTERVALS,
            /// What a comparator looks at.
            calculation: Optional(&Text),
            /// What it compares with.
            threshold: Optional(&Decimal),
            /// How it compares.
            operator: Optional(&Words(&["<", "<=", "=", ">", ">="])),
            /// How long the condition must hold before the rule fires, in ms.
            hold_ms: Optional(&COUNT),
            /// How long it must have ceased before the rule says so, in ms.
            resolve_ms: Optional(&COUNT),
            /// What an observer watches.
            watch: Optional(&Words(&["keys"])),
            /// How many make it fire.
            trigger: Optional(&POSITIVE),
        }),
        origin = Original, removed = "deleting the rule",
        example = "hash:2:comparator:rule:3";

    /// Where a rule stands in each bucket: pending, fired, clearing or resolved, and since when.
    rule_state(project: Project, number: RuleNumber) in account: Account = "hash:<project>:rule:<number>:state"
        => map(BUCKET.means("the bucket"), Text.means("a word, the time in unix ms, and while it waits what it has to say then, as JSON")),
        origin = Added, removed = "deleting the rule",
        example = "hash:2:rule:3:state";

    /// Rules that wait: until their conditions have held, or ceased to, for as long as they ask for.
    rules_due() in account: Account = "zset:rules:due"
        => sorted_set(
            Text.means("the key of the rule's state, a space, and the bucket"),
            UnixMs.means("when the rule has waited for long enough"),
        ),
        origin = Added, removed = "speaking, or a condition that changes before", example = "zset:rules:due";

    /// How many keys of a dimension were first seen in each bucket, which observers watch.
    first_seen(project: Project, dimension: Dimension, interval: Interval) in account: Account
        = "hash:<project>:<dimension>:seen:<interval>"
        => map(BUCKET.means("the bucket"), POSITIVE.means("how many keys")),
        origin = Added, removed = "never: keys are not forgotten",
        example = "hash:2:job-skills:seen:weeks";

    /// Says that results of a key have changed.
    changes(account: Account, project: Project) = "ps:calculations:changes:<account>:<project>"
        => channel(Json(&CHANGE).means("which key")),
        origin = Added, shard = Shard::Part("account"),
        example = "ps:calculations:changes:7:2";

    /// The database of each account; 0 for those that share database 0, each under its hash tag.
    account_databases() = "hm:accountid:db"
        => map(Id(&Account::KIND).means("an account"), COUNT.means("the number of its database")),
        origin = Original, database = Database::Main, shard = Shard::Front("calculations"),
        removed = "never: an account keeps its database", example = "hm:accountid:db";

    /// The database that the next account gets.
    next_database() = "nextdb"
        => string(Integer { min: 100, max: 1 << 40 }.means("its number")),
        origin = Original, database = Database::Main, shard = Shard::Front("calculations"),
        removed = "never: databases are given once", example = "nextdb";

    /// Accounts with rules that may have to wait, by when to look at them; at least once a minute.
    due_accounts() = "calculations:due"
        => sorted_set(Id(&Account::KIND).means("an account"), UnixMs.means("when to look at it")),
        origin = Added, database = Database::Main, shard = Shard::Front("calculations"),
        removed = "never: accounts stay", example = "calculations:due";

    /// Whom a token speaks for.
    token(digest: TokenDigest) = "calculations:token:<digest>"
        => hash(fields! {
            /// The account.
            account: Id(&Account::KIND),
            /// The project.
            project: Id(&Project::KIND),
            /// When it was made.
            created_at: UnixMs,
        }),
        origin = Added, database = Database::Main, shard = Shard::Front("calculations"),
        secret = true, removed = "deleting the token",
        example = "calculations:token:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    /// The digest of each project's token.
    tokens(account: Account) = "calculations:tokens:<account>"
        => map(Id(&Project::KIND).means("a project"), Secret(&Id(&TokenDigest::KIND)).means("the digest of its token")),
        origin = Added, database = Database::Main, shard = Shard::Front("calculations"),
        removed = "deleting the token takes it out", example = "calculations:tokens:7";

    /// Tokens that may make and delete tokens, by their digests.
    admin_tokens() = "calculations:admins"
        => map(Secret(&Id(&TokenDigest::KIND)).means("the digest of a token"), UnixMs.means("when it was last used")),
        origin = Added, database = Database::Main, shard = Shard::Front("calculations"),
        removed = "taking the right away", example = "calculations:admins";

    /// Events that any program puts in, to be taken in by `keyrack calc ingest`.
    intake(name: IntakeName) = "calculations:intake:<name>"
        => list(Text.means("an event as JSON, with its account and project")),
        origin = Added, database = Database::Main, shard = Shard::Part("name"),
        removed = "taking them in", example = "calculations:intake:clicks";

    /// Events that one process is taking in; when it dies, the others put them back.
    intake_taken(name: IntakeName, taker: Taker) = "calculations:intake:<name>:taken:<taker>"
        => list(Text.means("an event as JSON, with its account and project")),
        origin = Added, database = Database::Main, shard = Shard::Part("name"),
        removed = "storing them", example = "calculations:intake:clicks:taken:67e55044-10b1-426f-9247-bb680e5fe0c8";

    /// The processes that take events in from a list, and when each was last heard of.
    intake_takers(name: IntakeName) = "calculations:intake:<name>:takers"
        => sorted_set(Id(&Taker::KIND).means("a process"), UnixMs.means("when it was last heard of")),
        origin = Added, database = Database::Main, shard = Shard::Part("name"),
        removed = "the process when it stops, or the others when it has died", example = "calculations:intake:clicks:takers";

    /// What was put in and was no event, the last 10,000.
    intake_refused(name: IntakeName) = "calculations:intake:<name>:refused"
        => list(Text.means("the entry and what is wrong with it, as JSON")),
        origin = Added, database = Database::Main, shard = Shard::Part("name"),
        removed = "whoever has looked at them", example = "calculations:intake:clicks:refused";

    /// Events to be taken in while somebody listens.
    intake_channel(name: IntakeName) = "ps:calculations:intake:<name>"
        => channel(Text.means("events as JSON, one on each line, with their accounts and projects")),
        origin = Added, shard = Shard::Part("name"),
        example = "ps:calculations:intake:clicks";
}
