//! Tests of the whole contract.

mod documents;
mod names;
mod page;
mod values;
