//! The signals that end the server.

use std::{fmt, io, process, thread};

use tokio::{
    runtime,
    signal::unix::{self, SignalKind},
    sync::oneshot,
};

/// SIGTERM and SIGINT: the first asks the server to stop, the second ends the process.
pub(super) struct Signals {
    first: oneshot::Receiver<Signal>,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Terminate,
    Interrupt,
}

impl Signals {
    /// Takes the signals over from the system, which would end the process.
    ///
    /// They have a thread of their own, because a script that never ends can hold up everything else.
    pub(super) fn listen() -> io::Result<Signals> {
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let mut both = {
            let _inside = runtime.enter();
            Both {
                terminate: unix::signal(SignalKind::terminate())?,
                interrupt: unix::signal(SignalKind::interrupt())?,
            }
        };
        let (hand_over, first) = oneshot::channel();
        let wait = async move {
            // Nobody takes it when the server is ending already.
            let _ = hand_over.send(both.next().await);
            // Everything that was acknowledged is on disk, so there is nothing to lose.
            process::exit(both.next().await.exit_code())
        };
        thread::Builder::new()
            .name("keyrack-signals".into())
            .spawn(move || runtime.block_on(wait))?;
        Ok(Signals { first })
    }

    /// Waits for the first one.
    pub(super) async fn first(self) -> Signal {
        match self.first.await {
            Ok(signal) => signal,
            // The thread lives as long as the process.
            Err(_) => std::future::pending().await,
        }
    }
}

struct Both {
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

impl Both {
    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
        }
    }
}

impl Signal {
    /// The exit code of a process that this signal ended, as shells tell it.
    pub(super) fn exit_code(self) -> i32 {
        128 + match self {
            Signal::Terminate => SignalKind::terminate().as_raw_value(),
            Signal::Interrupt => SignalKind::interrupt().as_raw_value(),
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::Terminate => "SIGTERM",
            Signal::Interrupt => "SIGINT",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;

    #[test]
    fn exit_codes_are_those_that_shells_know() {
        assert_eq!(Signal::Interrupt.exit_code(), 130);
        assert_eq!(Signal::Terminate.exit_code(), 143);
    }
}
