//! Every key of the calculations.
//!
//! Each account has a numbered database of its own, from 100 up; on a cluster, which has no databases, the account is
//! the shard. Declarations only grow: nothing takes a project, dimension, key, calculation or interval back.

use keyrack_keys::declare::*;

parts! {
    /// The customer; the unit that has its own database, or its own slot on a cluster.
    text Account;
    /// A project of the account.
    text Project;
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
}

const TIMESTAMP: Encoding =
    Like(&["0000-00-00 00:00:00 ±0000", "0000-00-00T00:00:00Z", "0000-00-00T00:00:00±00:00"]);

const BUCKET: Encoding = Like(&[
    "0000",
    "0000-00",
    "0000-W00",
    "0000-00-00",
    "0000-00-00 00",
    "0000-00-00 00:00",
    "0000-00-00 00:00:00",
]);

const STATISTIC: Encoding =
    Words(&["average", "standard_deviation", "intercept", "slope", "ci_90", "ci_95", "ci_99"]);

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
    /// `count` and `sum` have a field for each bucket that holds values, `average` and `standard_deviation` one field
    /// of that name, `linear_regression` has `intercept`, `slope`, and the half-widths `ci_90`, `ci_95` and `ci_99` of
    /// the slope's confidence intervals. What is undefined for so few values is absent.
    result(project: Project, dimension: Dimension, key: DimensionKey, calculation: Calculation, interval: Interval)
        in account: Account
        = "hash:<project>:<dimension>:<key>:<calculation>:<interval>"
        => map(
            AnyOf(&[BUCKET, STATISTIC]).means("the bucket, or the name of the statistic"),
            Float.means("the result"),
        ),
        removed = "never: replaced by the next event",
        example = "hash:2:job-skills:python:count:months";
}
