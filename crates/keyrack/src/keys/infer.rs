//! `keyrack keys infer`.

use std::{
    io::Write as _,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use keyrack_contract::registry;
use keyrack_format as format;
use keyrack_keys::Family;
use keyrack_lint::{InferOptions, Inference, WalkRate};

use super::{declared, fmt, progress::Bar};
use crate::{Exit, Globals};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also propose declarations for keys that are declared already
    #[arg(long)]
    all: bool,
    /// Read at most N key names
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_keys: usize,
    /// Read the values of N keys per shape
    #[arg(long, value_name = "N", default_value_t = 100)]
    samples: usize,
    /// Scan at most N keys per second [default: unlimited]
    #[arg(long, value_name = "N")]
    pace: Option<NonZeroU32>,
    /// Add what is new to this keys file; what people wrote stays as it is
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// Name of the document
    #[arg(long, value_name = "NAME", default_value = "inferred")]
    name: String,
}

impl Args {
    /// The files whose keys are declared already: those that hold anyway, and the one to be updated.
    pub(super) fn files(&self, named: Vec<PathBuf>, globals: &Globals) -> Vec<PathBuf> {
        let Some(update) = &self.update else { return named };
        let mut files = if named.is_empty() { declared::setting(globals) } else { named };
        let place = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if !files.iter().any(|file| place(file) == place(update)) {
            files.push(update.clone());
        }
        files
    }
}

/// Proposes declarations as a keys file.
pub(super) async fn run(args: &Args, globals: &Globals) -> anyhow::Result<Exit> {
    let options = InferOptions {
        all: args.all,
        keys_max: args.max_keys,
        samples: args.samples,
        pace: WalkRate { keys_per_second: args.pace },
    };
    let store = globals.open_existing_store().await?;
    let bar = Bar::new(globals);
    let inference =
        keyrack_lint::infer(&store, registry(), &options, |progress| bar.show(progress)).await?;
    drop(bar);
    if let Some(path) = &args.update {
        update(path, &inference)?;
    } else if globals.json {
        globals.print_json(&inference)?;
    } else {
        let mut out = globals.out();
        out.write_all(keyrack_lint::declarations(&inference, &args.name).as_bytes())?;
        out.flush()?;
    }
    globals.say(summary(&inference));
    Ok(Exit::Ok)
}

/// Puts declarations for what is new at the end of a file.
fn update(path: &Path, inference: &Inference) -> anyhow::Result<()> {
    let documents = declared::read_files(&[path])?;
    let name = documents.first().map_or("inferred", |document| document.name);
    let known: Vec<&'static Family> =
        documents.iter().flat_map(|document| document.families.iter().copied()).collect();
    let mut text = declared::read_text(path)?;
    text.push_str(&keyrack_lint::more_declarations(inference, name, &known));
    // A part of the file may have the name of a new one.
    let source = keyrack_keys::file::Source { name: "the updated file", text: &text };
    keyrack_keys::file::read(&[source]).map_err(|errors| declared::wrong(&errors))?;
    Ok(fmt::write_whole(path, &text)?)
}

fn summary(inference: &Inference) -> String {
    let shapes = format::counted(inference.proposals.len() as u64, "shape");
    let mut words = format!("{} of {shapes}", format::counted(inference.keys, "key"));
    if inference.declared > 0 {
        words += &format!(
            "; {} already declared and left out (--all takes them in)",
            format::count(inference.declared)
        );
    }
    if let Some(example) = &inference.undeclarable_example {
        words += &format!(
            "; {} with names that no declaration can have, such as \"{example}\"",
            format::count(inference.undeclarable)
        );
    }
    if inference.truncated {
        words += "; there are more, which --max-keys would take in";
    }
    words
}
