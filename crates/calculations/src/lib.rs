//! Calculations over event values: sums, counts, averages, deviations and trends, per calendar interval.
//!
//! An [`Event`] adds a value to a key of a dimension and declares what to calculate from its values. Results are always
//! a function of the stored values alone, whatever order events came in and however many processes took them in.
//!
//! In reading order: [`keys`] and `event` are the names of things and what comes in, `stamp` and `bucket` when it
//! happened. `decimal`, `exact`, `moments` and `quantile` are the arithmetic, `state`, `sketch` and `order` what is kept
//! so that an event need not look at all values, `results` what people read. [`Ledger`] is an account's data, where it all
//! comes together; [`Accounts`] are all of them. `line` and `intake` are how events of
//! many accounts come in, and `due` is what has to be done about rules when no events come.

mod accounts;
mod bucket;
mod decimal;
mod due;
mod error;
mod event;
mod exact;
mod intake;
pub mod keys;
mod ledger;
mod line;
mod moments;
mod order;
mod quantile;
mod results;
mod rule;
pub mod settings;
mod sketch;
mod stamp;
mod state;

pub use self::{
    accounts::{Accounts, Grant},
    bucket::Bucket,
    decimal::{DIGITS_MAX, Decimal, DecimalError},
    error::Error,
    event::{Event, EventBody, account, dimension, dimension_key, project},
    intake::{Intake, IntakeCounts},
    keys::FAMILIES,
    ledger::{
        Changed, Difference, Direction, EventResults, KeyId, Ledger, Live, OutputEvent, POINTS_MAX,
        Point, Said, Trend, Verdict,
    },
    line::Line,
    moments::{Prediction, StraightLine},
    results::is_by_bucket,
    rule::{Condition, NumberedRule, Operator, Rule},
    settings::Settings,
    stamp::{Stamp, StampError},
};
