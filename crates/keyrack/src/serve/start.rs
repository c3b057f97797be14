//! The time before the store is open: the port answers, and says how far the start is.

use std::{net::TcpListener, pin::Pin, sync::Arc};

use keyrack_format as format;
use keyrack_store::{Loading, Store};
use keyrack_web::{ConnectionLimits, Starting, Tls};
use tokio::sync::watch;

use crate::{Globals, globals::WaitArgs, signals::Signal};

/// What answers on the port of the server before that can.
pub(super) struct FirstServer<'a> {
    /// Nothing answers without one: another process may have the port.
    pub(super) port: Option<&'a TcpListener>,
    pub(super) limits: ConnectionLimits,
    pub(super) tls: Option<Tls>,
}

impl FirstServer<'_> {
    /// Opens the store, and answers meanwhile. A signal ends either.
    pub(super) async fn serve_until_open(
        self,
        globals: &Globals,
        wait: WaitArgs,
        signalled: Pin<&mut impl Future<Output = Signal>>,
    ) -> anyhow::Result<Result<Store, Signal>> {
        let progress = StartProgress::default();
        let starting = self.start(progress.clone())?;
        let open = async || {
            let opened = globals.open_store_watched(Some(progress.loading.clone())).await;
            progress.note(&opened);
            opened
        };
        let opened = globals.wait_for_store(wait, open, signalled).await;
        if let Some(starting) = starting {
            starting.end().await;
        }
        opened
    }

    fn start(self, progress: StartProgress) -> std::io::Result<Option<Starting>> {
        let Some(port) = self.port else { return Ok(None) };
        let describe = move || progress.describe();
        Starting::serve(port.try_clone()?, self.limits, self.tls, describe).map(Some)
    }
}

/// How far the start is.
#[derive(Debug, Clone, Default)]
struct StartProgress {
    loading: Arc<Loading>,
    /// Why the store could not be opened the last time.
    down: Arc<watch::Sender<Option<String>>>,
}

impl StartProgress {
    /// Remembers why a try to open the store failed.
    fn note(&self, opened: &anyhow::Result<Store>) {
        self.down.send_replace(opened.as_ref().err().map(ToString::to_string));
    }

    fn describe(&self) -> String {
        if let Some(reason) = &*self.down.borrow() {
            return format!("waiting for the store: {reason}");
        }
        describe_loading(self.loading.bytes(), self.loading.bytes_all())
    }
}

fn describe_loading(bytes: u64, bytes_all: u64) -> String {
    if bytes_all == 0 {
        return "the store is being opened".to_owned();
    }
    let percent = bytes.min(bytes_all) * 100 / bytes_all;
    let (bytes, bytes_all) = (format::bytes(bytes), format::bytes(bytes_all));
    format!("the log is loading: {percent} %, {bytes} of {bytes_all}")
}

#[cfg(test)]
mod tests {
    use super::describe_loading;

    #[test]
    fn loading_is_told_in_percent_and_bytes() {
        assert_eq!(describe_loading(0, 0), "the store is being opened");
        let told = describe_loading(500_000, 2_000_000);
        assert_eq!(told, "the log is loading: 25 %, 500.0 kB of 2.0 MB");
    }
}
