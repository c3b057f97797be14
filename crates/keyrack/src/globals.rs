//! What every command is given beside its own arguments.

use std::{
    fmt::Display,
    io::{self, BufWriter, StdoutLock, Write as _},
};

use keyrack_store::Store;

use crate::settings::Settings;

/// What every command is given beside its own arguments.
pub struct Globals {
    pub(crate) settings: Settings,
    /// Whether to print data as JSON.
    pub json: bool,
    /// Whether to leave out words that are not errors.
    pub quiet: bool,
}

impl Globals {
    /// Opens the store that the settings name.
    ///
    /// # Errors
    /// As [`Store::open`], or when the settings contradict each other.
    pub async fn open_store(&self) -> anyhow::Result<Store> {
        Ok(Store::open(&self.settings.store_url()?).await?)
    }

    /// Where data goes. Flush it at the end; a reader that went away is an error here and none at the program's edge.
    pub fn out(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(io::stdout().lock())
    }

    /// Prints a value as JSON, on lines of its own.
    ///
    /// # Errors
    /// When stdout does not take it.
    pub fn print_json(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        let mut out = self.out();
        serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    /// Tells the user something that is not data; nothing with `--quiet`.
    pub fn say(&self, words: impl Display) {
        if !self.quiet {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "{words}");
        }
    }
}

impl std::fmt::Debug for Globals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Globals").field("json", &self.json).finish_non_exhaustive()
    }
}
