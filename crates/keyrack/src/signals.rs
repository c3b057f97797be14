//! The signals that end a server or a worker.

use std::{fmt, io, process, thread};

use tokio::{
    runtime,
    signal::unix::{self, SignalKind},
    sync::oneshot,
};

/// SIGTERM and SIGINT: the first asks the program to stop, the second ends the process.
pub(crate) struct Signals {
    first: oneshot::Receiver<Signal>,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Terminate,
    Interrupt,
}

impl Signals {
    /// Takes the signals over from the system, which would end the process.
    ///
    /// They have a thread of their own, because a script that never ends can hold up everything else. That thread calls
    /// `before_exit` when the second one comes.
    pub(crate) fn listen(before_exit: impl FnOnce() + Send + 'static) -> io::Result<Signals> {
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = {
            let _inside = runtime.enter();
            SignalStreams {
                terminate: unix::signal(SignalKind::terminate())?,
                interrupt: unix::signal(SignalKind::interrupt())?,
            }
        };
        let (hand_over, first) = oneshot::channel();
        let wait = async move {
            // Nobody takes it when the program is ending already.
            let _ = hand_over.send(signals.next().await);
            let second = signals.next().await;
            before_exit();
            // Everything that was acknowledged is on disk, so there is nothing to lose.
            process::exit(second.exit_code())
        };
        thread::Builder::new()
            .name("keyrack-signals".into())
            .spawn(move || runtime.block_on(wait))?;
        Ok(Signals { first })
    }

    /// Waits for the first one.
    pub(crate) async fn first(self) -> Signal {
        match self.first.await {
            Ok(signal) => signal,
            // The thread lives as long as the process.
            Err(_) => std::future::pending().await,
        }
    }
}

struct SignalStreams {
    terminate: unix::Signal,
    interrupt: unix::Signal,
}

impl SignalStreams {
    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Interrupt,
        }
    }
}

impl Signal {
    /// The exit code of a process that this signal ended, as shells tell it.
    pub(crate) fn exit_code(self) -> i32 {
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
