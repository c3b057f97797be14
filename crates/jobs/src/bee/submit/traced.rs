//! The spans of calls that submit jobs, and what the jobs are told of them.

use keyrack_store::ServiceError as _;
use keyrack_trace::{Kind, Span, TraceContext};

use super::{RefusedList, StoredJob, Submission, batch::Answer};
use crate::{
    Error,
    bee::{keys::QueueName, trace},
};

/// The spans of one call. Jobs that name a trace of their own have a span each, the others share one.
#[derive(Debug, Default)]
pub(super) struct SubmitSpans {
    shared: Option<Span>,
    /// With the places of their jobs.
    own: Vec<(usize, Span)>,
    /// The only job that has the shared span.
    only: Option<usize>,
}

impl SubmitSpans {
    /// Begins the spans, and tells each job which one submits it. A process that exports none passes on what it was told.
    pub(super) fn begin(jobs: &mut [Submission]) -> SubmitSpans {
        let mut spans = SubmitSpans::default();
        let mut others = Vec::new();
        for (place, job) in jobs.iter_mut().enumerate() {
            let Some(parent) = &job.trace else {
                others.push(place);
                continue;
            };
            if let Some(mut span) = Span::start_in(Some(parent), "submit", Kind::Producer) {
                describe(&mut span, &job.queue, 1);
                job.trace = Some(span.context().clone());
                spans.own.push((place, span));
            }
        }
        let Some(&first) = others.first() else { return spans };
        spans.shared = Span::start("submit", Kind::Producer);
        // Not the span of a job with a trace of its own, which `context` may tell.
        let shared = spans.shared.as_ref().map(|span| span.context().clone());
        let Some(context) = shared.or_else(keyrack_trace::current) else { return spans };
        if let Some(span) = &mut spans.shared {
            describe(span, &jobs[first].queue, others.len());
            spans.only = Some(first).filter(|_| others.len() == 1);
        }
        for place in others {
            jobs[place].trace = Some(context.clone());
        }
        spans
    }

    /// In which the call is made.
    pub(super) fn context(&self) -> Option<TraceContext> {
        let only = self.own.first().filter(|_| self.own.len() == 1).map(|(_, span)| span);
        let span = self.shared.as_ref().or(only);
        span.map(|span| span.context().clone()).or_else(keyrack_trace::current)
    }

    /// Ends the spans with what has become of the jobs.
    pub(super) fn end(self, answers: Result<Vec<Answer>, Error>) -> Result<Vec<Answer>, Error> {
        let each = |place: usize| match &answers {
            Ok(answers) => answers[place].as_ref(),
            Err(error) => Err(error),
        };
        self.note(answers.as_ref().err(), each);
        answers
    }

    /// The same for a list of which all jobs are stored or none.
    pub(super) fn end_whole(
        self,
        answer: Result<Vec<StoredJob>, RefusedList>,
    ) -> Result<Vec<StoredJob>, RefusedList> {
        let each = |place: usize| match &answer {
            Ok(stored) => Ok(&stored[place]),
            Err(refused) => Err(&refused.error),
        };
        self.note(answer.as_ref().err().map(|refused| &refused.error), each);
        answer
    }

    fn note<'a>(
        self,
        failed: Option<&Error>,
        answer: impl Fn(usize) -> Result<&'a StoredJob, &'a Error>,
    ) {
        let mut spans = self.own;
        match (self.shared, self.only, failed) {
            (Some(span), Some(place), _) => spans.push((place, span)),
            (Some(mut span), None, Some(error)) => fail(&mut span, error),
            _ => {}
        }
        for (place, mut span) in spans {
            match answer(place) {
                Ok(stored) => span.set("messaging.message.id", stored.jid.to_string()),
                Err(error) => fail(&mut span, error),
            }
        }
    }
}

fn fail(span: &mut Span, error: &Error) {
    span.set("error.type", error.info().code);
    span.fail(error.to_string());
}

fn describe(span: &mut Span, queue: &QueueName, n_jobs: usize) {
    trace::describe(span, "submit", Some("send"), queue.as_str());
    if n_jobs > 1 {
        span.set("messaging.batch.message_count", n_jobs as u64);
    }
}
