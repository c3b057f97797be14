//! Tests of the whole contract.

mod documents;
mod file;
mod names;
mod page;
mod values;
