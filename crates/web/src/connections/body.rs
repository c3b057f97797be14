//! The bodies of a request and of its response, which tell when they are through.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::table::Connection;

/// As much of a body that nobody wants is read and dropped, so that the connection can be used on.
const UNWANTED_BYTES_MAX: usize = 64 * 1024;

/// How much longer a body may take for each byte of it that has arrived: imports of any size go on at 16 KB a second.
const TIME_PER_BYTE: Duration = Duration::from_micros(60);

/// What became of the body of a request.
#[derive(Debug, Default)]
pub(super) struct BodyOutcome {
    timed_out: AtomicBool,
    left: AtomicBool,
}

impl BodyOutcome {
    /// Whether the client took too long to send it.
    pub(super) fn is_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Acquire)
    }

    /// Whether some of it was not read, so that the connection is of no more use.
    pub(super) fn is_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }
}

/// The body of a request, which has to arrive in time.
pub(super) struct TimedBody<B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin> {
    body: B,
    deadline: Instant,
    /// Set when it is first waited for.
    alarm: Option<Pin<Box<Sleep>>>,
    fate: Arc<BodyOutcome>,
    /// Whether the client waits for a sign before it sends anything.
    is_held_back: bool,
}

impl<B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin> TimedBody<B> {
    pub(super) fn new(
        body: B,
        deadline: Instant,
        fate: Arc<BodyOutcome>,
        is_held_back: bool,
    ) -> Self {
        TimedBody { body, deadline, alarm: None, fate, is_held_back }
    }

    /// Reads what has arrived and is small. True if that was all.
    fn drop_rest(&mut self) -> bool {
        let mut bytes = 0;
        let mut cx = Context::from_waker(Waker::noop());
        while !self.body.is_end_stream() && !self.is_held_back && bytes <= UNWANTED_BYTES_MAX {
            match Pin::new(&mut self.body).poll_frame(&mut cx) {
                Poll::Ready(Some(Ok(frame))) => bytes += frame.data_ref().map_or(0, Bytes::len),
                Poll::Ready(None) => return true,
                Poll::Ready(Some(Err(_))) | Poll::Pending => return false,
            }
        }
        self.body.is_end_stream()
    }
}

impl<B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin> HttpBody for TimedBody<B> {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        self.is_held_back = false;
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            if let Some(Ok(data)) = frame.as_ref().map(|frame| frame.as_ref().map(Frame::data_ref))
            {
                self.deadline += TIME_PER_BYTE * data.map_or(0, |data| data.len() as u32);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let deadline = self.deadline;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        // What has arrived since it was set gives the rest more time.
        if alarm.deadline() < deadline {
            alarm.as_mut().reset(deadline);
        }
        if alarm.as_mut().poll(cx).is_ready() {
            self.fate.timed_out.store(true, Ordering::Release);
            return Poll::Ready(Some(Err("the body did not arrive in time".into())));
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Unpin> Drop for TimedBody<B> {
    fn drop(&mut self) {
        let is_whole = self.drop_rest();
        self.fate.left.store(!is_whole, Ordering::Release);
    }
}

/// The body of a response; when it is dropped the connection waits for the next request.
pub(super) struct LastBody {
    body: Body,
    connection: Arc<Connection>,
}

impl LastBody {
    pub(super) fn new(body: Body, connection: Arc<Connection>) -> LastBody {
        LastBody { body, connection }
    }
}

impl HttpBody for LastBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LastBody {
    fn drop(&mut self) {
        self.connection.end_request();
    }
}
