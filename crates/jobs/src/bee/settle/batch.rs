//! Outcomes as the script takes them: first those that need next to nothing, then the others.

use std::{borrow::Cow, collections::HashSet};

use super::{End, Outcome, Verdict};
use crate::bee::{
    errors::Fingerprint, job::Job, keys::QueueName, reservation::ReservationEnd, times::PlainTimes,
};

/// The most bytes of a failure's message that are kept: it stands in the job, in its history and in an event.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// A longer history is left to the script, which shortens it when it gets too long.
const HISTORY_BYTES_MAX: usize = 16 * 1024;

/// The outcomes of one call.
pub(super) struct Batch<'a> {
    args: Vec<Cow<'a, [u8]>>,
    plain_ttl_ms: u64,
    n_reserved: usize,
    n_plain: usize,
    n_begun: usize,
    /// Where each outcome stands for the caller, in the order of the script.
    places: Vec<usize>,
    now_ms: u64,
    times: PlainTimes,
}

/// A completed job whose end changes nothing but itself, as far as its worker knows.
struct Plain<'a> {
    attempt: u64,
    result: &'a str,
    ttl_ms: u64,
    /// Without its last bracket.
    history: &'a str,
}

impl<'a> Batch<'a> {
    /// The outcomes, with the history entry of those that are completed. Without it none is plain.
    pub(super) fn new(
        outcomes: &'a [Outcome],
        closes: Option<&'a ReservationEnd>,
        queue: &QueueName,
        now_ms: u64,
        completed: Option<&str>,
    ) -> Batch<'a> {
        let plain = |outcome| completed.and_then(|_| Plain::of(outcome, queue));
        let plain_ttl_ms = outcomes.iter().find_map(plain).map_or(0, |plain| plain.ttl_ms);
        let mut batch = Batch {
            args: Vec::with_capacity(4 * outcomes.len()),
            plain_ttl_ms,
            n_reserved: 0,
            n_plain: 0,
            n_begun: 0,
            places: Vec::with_capacity(outcomes.len()),
            now_ms,
            times: PlainTimes::default(),
        };
        let is_of_reservation = |outcome: &Outcome| {
            outcome.reservation().is_some()
                && outcome.reservation() == closes.map(|closing| closing.reservation)
        };
        // The script does not look at each of them, so that a job told of twice would count twice.
        let mut told_of = HashSet::new();
        let (mut claimed, mut others) = (Vec::new(), Vec::new());
        for (place, outcome) in outcomes.iter().enumerate() {
            match plain(outcome).filter(|plain| plain.ttl_ms == plain_ttl_ms) {
                Some(plain) if is_of_reservation(outcome) && told_of.insert(&outcome.jid) => {
                    batch.add_plain(place, outcome, &plain, completed);
                }
                Some(plain) => claimed.push((place, plain)),
                None => others.push(place),
            }
        }
        batch.n_reserved = batch.places.len();
        for (place, plain) in claimed {
            batch.add_plain(place, &outcomes[place], &plain, completed);
        }
        batch.n_plain = batch.places.len() - batch.n_reserved;
        // What ended in any other way has to begin before it can end.
        let unusual =
            others.iter().map(|&place| &outcomes[place]).filter(|one| is_of_reservation(one));
        let unusual = unusual.map(|outcome| (&outcome.jid, outcome.attempt.unwrap_or(0)));
        let begun = closes.map_or(&[][..], |closing| &closing.begun);
        let begun = begun.iter().map(|(jid, attempt)| (jid, *attempt));
        for (jid, attempt) in begun.chain(unusual) {
            batch.add([jid.into(), attempt.to_string().into()]);
            batch.n_begun += 1;
        }
        for place in others {
            batch.add(args_of(&outcomes[place]));
            batch.places.push(place);
        }
        batch
    }

    fn add_plain(
        &mut self,
        place: usize,
        outcome: &'a Outcome,
        plain: &Plain<'a>,
        completed: Option<&str>,
    ) {
        let history = [plain.history, ",", completed.unwrap_or_default(), "]"].concat();
        let attempt = plain.attempt.to_string();
        let told = outcome.told.as_ref().map_or("", Job::history_json);
        self.times.add(told, self.now_ms);
        self.add([(&outcome.jid).into(), attempt.into(), plain.result.into(), history.into()]);
        self.places.push(place);
    }

    fn add<const N: usize>(&mut self, args: [Cow<'a, str>; N]) {
        self.args.extend(args.map(|arg| match arg {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }));
    }

    /// For how long the plain ones are kept.
    pub(super) fn plain_ttl_ms(&self) -> u64 {
        self.plain_ttl_ms
    }

    pub(super) fn n_reserved(&self) -> usize {
        self.n_reserved
    }

    pub(super) fn n_begun(&self) -> usize {
        self.n_begun
    }

    pub(super) fn n_plain(&self) -> usize {
        self.n_plain
    }

    /// How long the plain ones waited and ran.
    pub(super) fn times(&self) -> &PlainTimes {
        &self.times
    }

    pub(super) fn take_args(&mut self) -> Vec<Cow<'a, [u8]>> {
        std::mem::take(&mut self.args)
    }

    /// A verdict for each outcome, as the caller has them, from the refusals of the script, which counts from 1.
    pub(super) fn verdicts(&self, refused: &[(usize, String)]) -> Vec<Verdict> {
        let mut verdicts = vec![Verdict::Ok; self.places.len()];
        for (position, word) in refused {
            let place = position.checked_sub(1).and_then(|at| self.places.get(at));
            if let Some(&place) = place {
                verdicts[place] = Verdict::from_word(word);
            }
        }
        verdicts
    }
}

impl Plain<'_> {
    fn of<'a>(outcome: &'a Outcome, queue: &QueueName) -> Option<Plain<'a>> {
        let (End::Completed { result, ttl_ms: Some(ttl_ms) }, None, Some(attempt), Some(told)) =
            (&outcome.end, &outcome.options, outcome.attempt, &outcome.told)
        else {
            return None;
        };
        let history = told.history_json().strip_suffix(']');
        let history = history.filter(|entries| entries.ends_with('}'))?;
        let is_of_it = told.jid() == outcome.jid && told.queue() == queue.as_str();
        let is_alone = told.ends_alone() && !told.is_awaited();
        let is_plain = is_of_it && is_alone && history.len() <= HISTORY_BYTES_MAX;
        is_plain.then_some(Plain { attempt, result, ttl_ms: *ttl_ms, history })
    }
}

/// An outcome in full.
fn args_of(outcome: &Outcome) -> [Cow<'_, str>; 6] {
    let (what, text, how) = match &outcome.end {
        End::Completed { result, ttl_ms } => {
            let ttl = ttl_ms.map(|ttl| ttl.to_string()).unwrap_or_default();
            ("completed", result.into(), ttl)
        }
        End::Failed(failure) => {
            let message = cut(&failure.message);
            let how = serde_json::to_string(failure).expect("plain data is JSON");
            let error = Fingerprint::of(&message).to_json(&message);
            // The failure always says whether it is to be tried again, so there is a member in front.
            let how = format!("{},\"error\":{error}}}", how.trim_end_matches('}'));
            ("failed", message.into(), how)
        }
        End::Snoozed { delay_ms } => ("snoozed", Cow::default(), delay_ms.to_string()),
        End::Released => ("released", Cow::default(), String::new()),
    };
    let attempt = outcome.attempt.map(|attempt| attempt.to_string()).unwrap_or_default();
    let options = outcome.options.as_deref().unwrap_or_default();
    [what.into(), (&outcome.jid).into(), attempt.into(), text, options.into(), how.into()]
}

fn cut(message: &str) -> String {
    match message.floor_char_boundary(MESSAGE_BYTES_MAX) {
        end if end < message.len() => format!("{}…", &message[..end]),
        _ => message.to_owned(),
    }
}
