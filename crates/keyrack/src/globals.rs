//! What every command is given beside its own arguments.

use std::{
    fmt::Display,
    io::{self, BufWriter, StdoutLock, Write as _},
    path::Path,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use keyrack_format as format;
use keyrack_store::{Error, Loading, Options, ReplicasAcknowledge, Store, StoreUrl};

use crate::{
    Exit, Failure,
    printer::Printer,
    settings::{DATA, Origin, PASSWORD_FILE, REPLICAS_ACKNOWLEDGE, RESP, STORE, Settings},
    signals::Signal,
    terminal::Paint,
};

/// How soon a store that is down is tried again, at first and at most.
const RETRY_PAUSE: Duration = Duration::from_millis(50);
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(1);
/// For how long replicas are waited for unless the setting says otherwise.
const REPLICAS_WITHIN: Duration = Duration::from_millis(100);

/// Whether to wait for a store that is down when the program starts.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct WaitArgs {
    /// Exit with 6 if the store is down, instead of waiting for it
    #[arg(long)]
    pub(crate) no_wait: bool,
}

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
        self.open_store_watched(None).await
    }

    /// The same; how much of a data folder's log has been replayed can be watched meanwhile.
    pub(crate) async fn open_store_watched(
        &self,
        loading: Option<Arc<Loading>>,
    ) -> anyhow::Result<Store> {
        let options = Options {
            loading,
            password_file: self.settings.get(&PASSWORD_FILE).value.as_ref().map(Into::into),
            replicas_acknowledge: replicas_acknowledge(&self.settings)?,
            ..Options::default()
        };
        let url: StoreUrl = self.settings.store_url()?.parse().map_err(Error::from)?;
        Store::open_with(url, options).await.map_err(|error| match error {
            Error::Folder { in_use: true, .. } => {
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

    /// Opens a store as `open` does, and waits for one that is down until `stop` resolves.
    ///
    /// # Errors
    /// What `open` fails with, unless waiting helps.
    pub(crate) async fn wait_for_store(
        &self,
        wait: WaitArgs,
        open: impl AsyncFn() -> anyhow::Result<Store>,
        mut stop: Pin<&mut impl Future<Output = Signal>>,
    ) -> anyhow::Result<Result<Store, Signal>> {
        let mut pause = RETRY_PAUSE;
        let mut told = false;
        loop {
            let opened = tokio::select! {
                opened = open() => opened,
                signal = &mut stop => return Ok(Err(signal)),
            };
            let error = match opened {
                Ok(store) => return Ok(Ok(store)),
                Err(error) if wait.no_wait || !is_down(&error) => return Err(error),
                Err(error) => error,
            };
            if !std::mem::replace(&mut told, true) {
                self.say(format_args!("{error}; waiting for the store (--no-wait exits instead)"));
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                signal = &mut stop => return Ok(Err(signal)),
            }
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
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
            let _ = writeln!(io::stderr(), "{}", format::visible_lines(&words.to_string()));
        }
    }
}

/// Whether a store that could not be opened may be there later.
fn is_down(error: &anyhow::Error) -> bool {
    let down = |error: &Error| {
        matches!(error, Error::Unreachable { .. } | Error::Lost(_) | Error::Unavailable { .. })
    };
    error.downcast_ref::<Error>().is_some_and(down)
}

/// How many replicas the settings want to have a job; none if they say nothing about it, or 0.
fn replicas_acknowledge(settings: &Settings) -> Result<Option<ReplicasAcknowledge>, Failure> {
    let Some(text) = &settings.get(&REPLICAS_ACKNOWLEDGE).value else { return Ok(None) };
    let wanted = parse_replicas(text).ok_or_else(|| {
        let message = format!("\"{text}\" is not a number of replicas");
        let hint = format!("write 1 or 1,within=100ms; set it by {}", REPLICAS_ACKNOWLEDGE.ways());
        Failure::new(Exit::Usage, message).hint(hint)
    })?;
    Ok(Some(wanted).filter(|wanted| wanted.replicas > 0))
}

/// Reads `N` or `N,within=TIME`.
fn parse_replicas(text: &str) -> Option<ReplicasAcknowledge> {
    let (replicas, within) = match text.split_once(',') {
        None => (text, REPLICAS_WITHIN),
        Some((replicas, rest)) => {
            let within = rest.trim().strip_prefix("within=")?;
            (replicas, format::duration::parse_positive(within).ok()?)
        }
    };
    Some(ReplicasAcknowledge { replicas: replicas.trim().parse().ok()?, within })
}

/// How to reach the server that has the folder, if its RESP setting is ours.
fn way_to_a_running_server(resp: &str) -> String {
    match resp {
        "off" => "if \"keyrack serve\" uses it, start that with --resp ADDR and connect with --store redis://ADDR".into(),
        resp => format!(
            "connect to the running \"keyrack serve\" with --store redis://{resp}, or the address it printed as \"resp\""
        ),
    }
}

/// Refuses a data folder that does not exist.
pub(crate) fn must_be_there(folder: &Path) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let message = format!("data folder \"{}\" does not exist", folder.display());
    let hint = "\"keyrack serve\" creates it; use --data DIR or --store URL for another store";
    Err(Failure::new(Exit::NotFound, message).hint(hint))
}

impl std::fmt::Debug for Globals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Globals").field("json", &self.json).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_a_number_and_a_time() {
        let wanted = |replicas, ms| {
            Some(ReplicasAcknowledge { replicas, within: Duration::from_millis(ms) })
        };
        assert_eq!(parse_replicas("1"), wanted(1, 100));
        assert_eq!(parse_replicas("2,within=50ms"), wanted(2, 50));
        assert_eq!(parse_replicas("2, within=1s"), wanted(2, 1000));
        for text in ["", "x", "-1", "1,", "1,50ms", "1,within=", "1,within=0s"] {
            assert_eq!(parse_replicas(text), None, "{text}");
        }
    }
}
