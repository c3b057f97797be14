//! Checks a live database against the key declarations.
//!
//! [`lint()`] walks a store with SCAN, looks at every key and reports what breaks the contract. It writes nothing,
//! reads in bounded chunks, and looks twice before it calls something wrong, so that it can run beside live traffic.
//! [`infer()`] goes the other way: it proposes declarations for a database that has none.
//!
//! In reading order: `rule` says what can be wrong; `finding` and `report` how it is told; `lint` is the walk over all
//! keyspaces, `walk` over one; `recognise` says whose a key is, `subject` judges names, `read_key` what is behind them,
//! `content` a chunk of it, `listed` who has to name them, `undeclared` groups keys that nobody declares;
//! `infer` has the other way, and `memory` measures.

mod rule;

mod finding;
mod report;

mod lint;
mod walk;

mod content;
mod listed;
mod read_key;
mod recognise;
mod subject;
mod undeclared;

mod infer;

mod memory;

pub use finding::{Finding, printable};
pub use infer::{
    ContentShape, Guess, InferOptions, Inference, Kind, Piece, Proposal, Shape, declarations,
    infer, more_declarations,
};
pub use lint::{Options, Progress, lint};
pub use memory::{Measure, MemoryGroup, MemoryOptions, MemoryReport, Spread, memory};
pub use recognise::Recogniser;
pub use report::{Report, Tally};
pub use rule::{Rule, Severity};
pub use walk::{WalkBatch, WalkRate, walk_keys, walk_keys_from};
