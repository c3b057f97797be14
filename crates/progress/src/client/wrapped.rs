//! Items that report how many of them were asked for: of an iterator, and of a stream.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::Run;
use crate::estimate::Estimate;

/// Items that report how many of them were asked for.
#[derive(Debug)]
pub struct Wrapped<I> {
    items: I,
    report: ItemReport,
}

/// The same for items that come over time.
#[derive(Debug)]
pub struct WrappedStream<S> {
    items: Pin<Box<S>>,
    report: ItemReport,
}

/// The run of items, until they end.
#[derive(Debug)]
struct ItemReport {
    run: Option<Run>,
    uid: String,
    is_begun: bool,
}

impl ItemReport {
    fn new(run: Run) -> ItemReport {
        ItemReport { uid: run.uid().to_owned(), run: Some(run), is_begun: false }
    }

    /// Another item is asked for. Whoever does that is through with the last one.
    fn ask(&mut self) {
        if let Some(run) = self.run.as_ref().filter(|_| self.is_begun) {
            run.tick(1);
        }
        self.is_begun = true;
    }

    fn end(&mut self) {
        if let Some(run) = self.run.take() {
            run.finish();
        }
    }

    fn estimate(&self) -> Option<Estimate> {
        self.run.as_ref()?.estimate()
    }

    #[cfg(feature = "draw")]
    fn draw(&self) {
        self.run.iter().for_each(Run::draw);
    }
}

macro_rules! describe {
    ($wrapped:ident) => {
        impl<T> $wrapped<T> {
            /// The id of its run, by which others can watch it.
            pub fn uid(&self) -> &str {
                &self.report.uid
            }

            /// How long it will still take, as [`Run::estimate`] says.
            pub fn estimate(&self) -> Option<Estimate> {
                self.report.estimate()
            }

            /// The same items, with a bar on stderr as [`Run::draw`] makes one.
            #[cfg(feature = "draw")]
            #[must_use]
            pub fn drawn(self) -> Self {
                self.report.draw();
                self
            }
        }
    };
}

describe!(Wrapped);
describe!(WrappedStream);

impl<I> Wrapped<I> {
    pub(super) fn new(items: I, run: Run) -> Wrapped<I> {
        Wrapped { items, report: ItemReport::new(run) }
    }
}

impl<S> WrappedStream<S> {
    pub(super) fn new(items: S, run: Run) -> WrappedStream<S> {
        WrappedStream { items: Box::pin(items), report: ItemReport::new(run) }
    }
}

impl<I: Iterator> Iterator for Wrapped<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.report.ask();
        let item = self.items.next();
        if item.is_none() {
            self.report.end();
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Wrapped<I> {}

impl<S: Stream> Stream for WrappedStream<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let own = self.get_mut();
        let polled = own.items.as_mut().poll_next(context);
        match &polled {
            // A stream is asked again and again for one item, so it counts when the next one comes.
            Poll::Ready(Some(_)) => own.report.ask(),
            Poll::Ready(None) => {
                own.report.ask();
                own.report.end();
            }
            Poll::Pending => {}
        }
        polled
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}
