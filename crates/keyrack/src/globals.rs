//! What every command is given beside its own arguments.

use std::{
    fmt::Display,
    io::{self, BufWriter, StdoutLock, Write as _},
    path::Path,
};

use keyrack_store::{Store, StoreUrl};

use crate::{
    Exit, Failure,
    printer::{Printer, visible_lines},
    settings::{DATA, Origin, RESP, STORE, Settings},
    terminal::Paint,
};

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
        Store::open(&self.settings.store_url()?).await.map_err(|error| match error {
            keyrack_store::Error::Folder { in_use: true, .. } => {
                let failure = Failure::new(Exit::Conflict, error.to_string());
                failure.hint(way_to_a_running_server(self.settings.value(&RESP))).into()
            }
            error => error.into(),
        })
    }

    /// Opens the store to look into it: a data folder that is not there is an error and is not made.
    ///
    /// # Errors
    /// As [`Globals::open_store`], and when there is no data folder.
    pub async fn open_existing_store(&self) -> anyhow::Result<Store> {
        let url: StoreUrl =
            self.settings.store_url()?.parse().map_err(keyrack_store::Error::from)?;
        if let Some(folder) = url.folder() {
            must_be_there(folder)?;
        }
        self.open_store().await
    }

    /// Opens the store to write to it: a data folder that somebody named is made, the default one has to be there.
    ///
    /// # Errors
    /// As [`Globals::open_existing_store`].
    pub(crate) async fn open_named_store(&self) -> anyhow::Result<Store> {
        let is_named = self.settings.get(&DATA).origin != Origin::Default
            || self.settings.get(&STORE).value.is_some();
        if is_named { self.open_store().await } else { self.open_existing_store().await }
    }

    /// Where data goes, with what a terminal would obey made visible. Flush it at the end; a reader that went away is an error here and none at the program's edge.
    pub fn out(&self) -> Printer<BufWriter<StdoutLock<'static>>> {
        let is_painted = Paint::for_stdout().is_on();
        Printer::new(BufWriter::new(io::stdout().lock()), is_painted)
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
            let _ = writeln!(io::stderr(), "{}", visible_lines(&words.to_string()));
        }
    }
}

/// How to reach the server that has the folder, if its RESP setting is ours.
fn way_to_a_running_server(resp: &str) -> String {
    match resp {
        "off" => "if \"keyrack serve\" has it, let it serve Redis clients with --resp ADDR, and give --store redis://ADDR".into(),
        resp => format!(
            "a running \"keyrack serve\" is reached with --store redis://{resp}, or at the address it printed as \"resp\""
        ),
    }
}

/// Refuses a data folder that does not exist.
pub(crate) fn must_be_there(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("there is no data folder \"{}\"", folder.display());
    let hint = "\"keyrack serve\" makes one; --data DIR or --store URL names another";
    Err(Failure::new(Exit::NotFound, message).hint(hint))
}

impl std::fmt::Debug for Globals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Globals").field("json", &self.json).finish_non_exhaustive()
    }
}
