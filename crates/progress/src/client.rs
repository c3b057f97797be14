//! Reporting from Rust programs: wrap an iterator, and others can watch how far it is.
//!
//! Nothing here can make the caller's work fail or wait: what is reported goes through a task of its own, a few times a second
//! at most, and what cannot be reported is not.
//!
//! ```no_run
//! # fn copy(_: &str) {}
//! # fn example(client: keyrack_progress::client::Client, files: Vec<String>) {
//! for file in client.wrap("import", "copy", &files) {
//!     copy(file);
//! }
//! # }
//! ```
//!
//! A run with several steps is a [`Run`]:
//!
//! ```no_run
//! # fn example(client: keyrack_progress::client::Client, rows: Vec<u32>) {
//! let run = client.start("import", "connect", None);
//! run.step("rows", Some(rows.len() as u64));
//! for _row in &rows {
//!     run.tick(1);
//! }
//! run.finish();
//! # }
//! ```
//!
//! Programs that do not watch their runs elsewhere ask for the estimate, or with the feature `draw` for a bar:
//!
//! ```no_run
//! # fn copy(_: &str) {}
//! # fn example(client: keyrack_progress::client::Client, files: Vec<String>) {
//! let mut files = client.wrap("import", "copy", &files);
//! while let Some(file) = files.next() {
//!     copy(file);
//!     if let Some(estimate) = files.estimate() {
//!         println!("{:.0} s left", estimate.p50);
//!     }
//! }
//! # }
//! ```
//!
//! In reading order: `run_report` is what has happened in a run, `report` tells it to a `sink`, which is a store or, with the
//! feature `http-client`, a server (`http`); `expectation` is what past runs say, `wrapped` counts items, `drawing` draws.

#[cfg(feature = "draw")]
mod drawing;
mod expectation;
#[cfg(feature = "http-client")]
mod http;
mod report;
mod run_report;
mod sink;
mod wrapped;

use std::{sync::Arc, time::Duration};

use futures_core::Stream;
use keyrack_keys::UserSub;
use tokio::{runtime::Handle, sync::watch};

#[cfg(feature = "http-client")]
pub use self::http::HttpClientError;
pub use self::wrapped::{Wrapped, WrappedStream};
use self::{expectation::Expectation, report::report, run_report::RunReport, sink::Sink};
use crate::{estimate::Estimate, service::Progress};

/// Reports runs. Cheap to clone.
///
/// The last clone of one that reports over HTTP waits up to two seconds for what has not been sent yet, so that a program can end
/// right after its work.
#[derive(Debug, Clone)]
pub struct Client {
    sink: Arc<Sink>,
    tasks: Handle,
    /// How many runs are not reported to their end.
    open: watch::Sender<usize>,
    #[cfg(feature = "http-client")]
    _thread: Option<Arc<http::Thread>>,
}

impl Client {
    /// A client that writes to the store of this process; completed runs are counted at once.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn direct(progress: Progress, user: UserSub) -> Client {
        Client {
            sink: Arc::new(Sink::Direct { progress, user }),
            tasks: Handle::current(),
            open: watch::Sender::new(0),
            #[cfg(feature = "http-client")]
            _thread: None,
        }
    }

    /// A client of a server such as `http://127.0.0.1:7700`, with a user's token. It has a thread of its own and needs no runtime.
    ///
    /// # Errors
    /// When the address is none, the token cannot stand in a header, or there is no thread to be had.
    #[cfg(feature = "http-client")]
    pub fn http(server: &str, token: &str) -> Result<Client, HttpClientError> {
        let sink = Sink::Http(Box::new(http::Http::new(server, token)?));
        let open = watch::Sender::new(0);
        let thread = Arc::new(http::Thread::start(open.subscribe())?);
        let tasks = thread.tasks();
        Ok(Client { sink: Arc::new(sink), tasks, open, _thread: Some(thread) })
    }

    /// Begins a run of a bar with its first step, which has so many iterations, or none if it is a one-off step.
    ///
    /// A bar or step whose name is empty or too long is not reported.
    pub fn start(&self, bar: &str, step: &str, iterations: Option<u64>) -> Run {
        let trail = Arc::new(RunReport::new(bar, step, iterations, self.sink.now()));
        self.open.send_modify(|open| *open += 1);
        let (task, sink, open) = (Arc::clone(&trail), Arc::clone(&self.sink), self.open.clone());
        self.tasks.spawn(async move {
            report(&task, &sink).await;
            open.send_modify(|open| *open -= 1);
        });
        Run {
            trail,
            client: self.clone(),
            expectation: Arc::default(),
            #[cfg(feature = "draw")]
            drawing: std::sync::OnceLock::new(),
        }
    }

    /// Wraps something of known length as a run with one step: each item that is asked for is an iteration done. The run is
    /// finished when the items are, and given up when they are dropped before.
    pub fn wrap<I>(&self, bar: &str, step: &str, items: I) -> Wrapped<I::IntoIter>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator>,
    {
        let items = items.into_iter();
        let n = items.len() as u64;
        Wrapped::new(items, self.start(bar, step, Some(n.max(1))))
    }

    /// Wraps a stream of so many items in the same way. Without a number it is the one that the stream says of itself; a stream that
    /// does not know either is a step without iterations.
    pub fn wrap_stream<S: Stream>(
        &self,
        bar: &str,
        step: &str,
        n: Option<u64>,
        items: S,
    ) -> WrappedStream<S> {
        let (least, most) = items.size_hint();
        let n = n.or_else(|| most.filter(|most| *most == least).map(|n| n as u64));
        WrappedStream::new(items, self.start(bar, step, n.map(|n| n.max(1))))
    }

    /// Waits until all runs that were finished or given up have been reported, or for so long; returns whether they have.
    pub async fn flush(&self, patience: Duration) -> bool {
        let mut open = self.open.subscribe();
        let all = open.wait_for(|open| *open == 0);
        matches!(tokio::time::timeout(patience, all).await, Ok(Ok(_)))
    }
}

/// A run that is reported. Dropped before it is finished, it has failed: watchers of the store are told, and nothing is learned.
#[derive(Debug)]
pub struct Run {
    trail: Arc<RunReport>,
    client: Client,
    expectation: Arc<Expectation>,
    #[cfg(feature = "draw")]
    drawing: std::sync::OnceLock<drawing::Drawing>,
}

impl Run {
    /// Its id, by which others can watch it.
    pub fn uid(&self) -> &str {
        self.trail.uid()
    }

    /// How long it will still take by what past runs of the bar say; none if they say nothing, or have not been read yet.
    ///
    /// The first call has them read and does not wait for that.
    pub fn estimate(&self) -> Option<Estimate> {
        let Client { sink, tasks, .. } = &self.client;
        let running = self.trail.running(sink.now());
        self.expectation.estimate(&running, self.trail.bar(), sink, tasks)
    }

    /// Draws it on stderr until it ends, if that is a terminal. What a program prints meanwhile should end its lines.
    #[cfg(feature = "draw")]
    pub fn draw(&self) {
        self.draw_to(indicatif::ProgressDrawTarget::stderr());
    }

    /// Draws it elsewhere until it ends.
    #[cfg(feature = "draw")]
    pub fn draw_to(&self, target: indicatif::ProgressDrawTarget) {
        self.drawing.get_or_init(|| {
            let (trail, expectation) = (Arc::clone(&self.trail), Arc::clone(&self.expectation));
            let (sink, tasks) = (Arc::clone(&self.client.sink), self.client.tasks.clone());
            drawing::Drawing::start(target, move || {
                let running = trail.running(sink.now());
                let estimate = expectation.estimate(&running, trail.bar(), &sink, &tasks);
                (running, estimate)
            })
        });
    }

    /// The next step begins, with so many iterations, or none if it is a one-off step. Its name has to be another than those before.
    pub fn step(&self, name: &str, iterations: Option<u64>) {
        self.trail.step(name, iterations, self.client.sink.now());
    }

    /// So many more iterations of the step are done.
    pub fn tick(&self, iterations: u64) {
        self.trail.tick(iterations, self.client.sink.now());
    }

    /// The run has ended well.
    pub fn finish(self) {
        self.trail.finish(self.client.sink.now());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.trail.give_up();
    }
}
