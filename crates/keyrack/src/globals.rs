//! What every command is given beside its own arguments.

use std::{
    fmt::Display,
    io::{self, BufWriter, StdoutLock, Write as _},
};

use keyrack_store::Store;

/// What every command is given beside its own arguments.
#[derive(Debug)]
pub struct Globals {
    /// The store's URL as settled from flags, environment and file.
    pub store: String,
    /// Whether to print data as JSON.
    pub json: bool,
    /// Whether to leave out words that are not errors.
    pub quiet: bool,
}

impl Globals {
    /// Opens the store that the settings name.
    ///
    /// # Errors
    /// As [`Store::open`]; the program's edge turns them into exit codes.
    pub async fn open_store(&self) -> Result<Store, keyrack_store::Error> {
        Store::open(&self.store).await
    }

    /// Where data goes. Flush it at the end; a reader that went away is an error here and none at the program's edge.
    #[expect(clippy::unused_self, reason = "the one place that decides where data goes")]
    pub fn out(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(io::stdout().lock())
    }

    /// Tells the user something that is not data; nothing with `--quiet`.
    pub fn say(&self, words: impl Display) {
        if !self.quiet {
            // Nobody is left to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "{words}");
        }
    }
}
