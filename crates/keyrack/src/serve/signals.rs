//! The signals that end the server.

use std::{fmt, io};

use tokio::signal::unix::{self, SignalKind};

/// SIGTERM and SIGINT, as they come.
pub(super) struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Terminate,
    Interrupt,
}

impl Signals {
    /// Takes the signals over from the system, which would end the process.
    pub(super) fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
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
