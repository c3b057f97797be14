//! One look at a batch of keys: type, TTL, memory, content and what the content refers to.
//!
//! Everything goes in pipelines. The type is not asked for: reading the content of a key of another type fails, and
//! that is answer enough in the usual case.

use keyrack_keys::{Family, Parsed, Registry, Ttl};
use keyrack_store::{Error, Keyspace};
use redis::{Pipeline, Value};

use crate::content::{self, Reading, Reference};
use crate::finding::{Faults, quoted};
use crate::rule::Rule;
use crate::subject::{Location, Subject};

/// Commands in one pipeline: enough to make round trips cheap, few enough to let other clients in between.
pub(crate) const COMMANDS_MAX: usize = 1_024;

/// Keys whose further chunks are read at once: what a chunk holds may be long.
const READERS_MAX: usize = 64;

/// What a look at one key has shown.
#[derive(Debug)]
pub(crate) struct KeyObservation {
    /// The key had expired, or was deleted, before the look was over.
    pub(crate) gone: bool,
    pub(crate) faults: Faults,
    pub(crate) memory_bytes: Option<u64>,
}

/// How to look at keys of one keyspace.
#[derive(Clone, Copy)]
pub(crate) struct KeyReader<'a> {
    pub(crate) keyspace: &'a Keyspace,
    pub(crate) registry: &'a Registry,
    pub(crate) place: Location,
}

/// A key while it is being looked at.
pub(crate) struct KeyView<'s> {
    subject: &'s Subject,
    pub(crate) parsed: Option<Parsed>,
    pub(crate) reading: Reading,
    pub(crate) gone: bool,
    pub(crate) expires: bool,
    wrong_type: bool,
    memory_bytes: Option<u64>,
}

impl KeyReader<'_> {
    /// Looks at keys, one [`KeyObservation`] for each.
    pub(crate) async fn look(
        &self,
        subjects: &[&Subject],
        measure: bool,
    ) -> Result<Vec<KeyObservation>, Error> {
        let mut views: Vec<KeyView<'_>> =
            subjects.iter().map(|subject| self.view(subject)).collect();
        self.first_look(&mut views, measure).await?;
        self.references(&mut views).await?;
        while let Some(more) = self.read_on(&mut views).await? {
            self.references(&mut views[more]).await?;
        }
        self.types(&mut views).await?;
        self.listed(&mut views).await?;
        Ok(views.into_iter().map(KeyView::finish).collect())
    }

    fn view<'s>(&self, subject: &'s Subject) -> KeyView<'s> {
        let reading = Reading::new(subject.faults(self.registry, self.place), subject.family);
        let parsed = subject.parsed(self.registry);
        KeyView {
            subject,
            parsed,
            reading,
            gone: false,
            expires: false,
            wrong_type: false,
            memory_bytes: None,
        }
    }

    /// The first chunk, then memory, then the TTL: a key that has gone meanwhile shows in the last.
    async fn first_look(&self, views: &mut [KeyView<'_>], measure: bool) -> Result<(), Error> {
        let mut pipeline = Pipeline::with_capacity(views.len() * 3);
        for view in views.iter() {
            let key = view.subject.raw.as_slice();
            if let Some(content) = view.subject.content() {
                content::read(&mut pipeline, key, content, 0);
            }
            if let Some((command, _)) = view.subject.limit() {
                pipeline.cmd(command).arg(key);
            }
            if measure {
                pipeline.cmd("MEMORY").arg("USAGE").arg(key);
            }
            pipeline.cmd("PTTL").arg(key);
        }
        let mut replies = self.keyspace.pipeline(&pipeline).await?.into_iter();
        let mut next = || replies.next().unwrap_or(Value::Nil);
        for view in views {
            if view.subject.content().is_some() {
                view.take(0, next())?;
            }
            if let Some((_, max)) = view.subject.limit() {
                view.size(max, next());
            }
            if measure && let Value::Int(bytes) = next() {
                view.memory_bytes = u64::try_from(bytes).ok();
            }
            view.ttl(next())?;
        }
        Ok(())
    }

    /// Reads the next chunk of the first keys that have one; returns where these keys are.
    async fn read_on(
        &self,
        views: &mut [KeyView<'_>],
    ) -> Result<Option<std::ops::Range<usize>>, Error> {
        let Some(first) = views.iter().position(|view| view.reading.next.is_some()) else {
            return Ok(None);
        };
        let end = views.len().min(first + READERS_MAX);
        let mut pipeline = Pipeline::new();
        let mut readers = Vec::new();
        for view in &mut views[first..end] {
            if let (Some(cursor), Some(content)) = (view.reading.next, view.subject.content()) {
                content::read(&mut pipeline, &view.subject.raw, content, cursor);
                readers.push((view, cursor));
            }
        }
        let replies = self.keyspace.pipeline(&pipeline).await?;
        for ((view, cursor), reply) in readers.into_iter().zip(replies) {
            view.take(cursor, reply)?;
        }
        Ok(Some(first..end))
    }

    /// Looks whether the keys exist that were referred to since the last time, and belong where they are named.
    async fn references(&self, views: &mut [KeyView<'_>]) -> Result<(), Error> {
        let mut references = Vec::new();
        for (i, view) in views.iter_mut().enumerate() {
            references.extend(view.reading.references.drain(..).map(|reference| (i, reference)));
        }
        for some in references.chunks(COMMANDS_MAX) {
            let mut pipeline = Pipeline::with_capacity(some.len());
            for (_, reference) in some {
                match reference.holds {
                    None => pipeline.cmd("EXISTS").arg(&reference.target),
                    Some(holds) => pipeline.cmd("HGET").arg(&reference.target).arg(holds.field),
                };
            }
            let replies = self.keyspace.pipeline(&pipeline).await?;
            for ((i, reference), reply) in some.iter().zip(replies) {
                // A key of another type is a fault of its own.
                let wrong_type =
                    matches!(&reply, Value::ServerError(error) if error.code() == "WRONGTYPE");
                if wrong_type {
                    continue;
                }
                if let Some((rule, wrong)) = reference.fault(accepted(reply)?) {
                    let detail =
                        format!("{} refers to {}, {wrong}", reference.what, reference.target_shown);
                    views[*i].reading.faults.add(rule, &reference.what, detail);
                }
            }
        }
        Ok(())
    }

    /// Asks for the type of those keys that did not have the declared one.
    async fn types(&self, views: &mut [KeyView<'_>]) -> Result<(), Error> {
        let mut wrong: Vec<&mut KeyView<'_>> =
            views.iter_mut().filter(|view| view.wrong_type && !view.gone).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        let mut pipeline = Pipeline::new();
        for view in &wrong {
            pipeline.cmd("TYPE").arg(&view.subject.raw);
        }
        let replies = self.keyspace.pipeline(&pipeline).await?;
        for (view, reply) in wrong.iter_mut().zip(replies) {
            let (Value::SimpleString(is), Some(family)) = (accepted(reply)?, view.subject.family)
            else {
                continue;
            };
            view.gone |= is == "none";
            let detail = format!("is a {is}, declared as {}", family.content.redis_type());
            view.reading.faults.add(Rule::WrongType, "", detail);
        }
        Ok(())
    }
}

impl KeyView<'_> {
    fn take(&mut self, cursor: u64, reply: Value) -> Result<(), Error> {
        let Some(content) = self.subject.content() else { return Ok(()) };
        self.reading.next = None;
        match reply {
            Value::ServerError(error) if error.code() == "WRONGTYPE" => self.wrong_type = true,
            reply => self.reading.take(content, self.parsed.as_ref(), cursor, accepted(reply)?),
        }
        Ok(())
    }

    /// Compares the number of items, or of bytes, with the most that there may be.
    fn size(&mut self, max: u64, reply: Value) {
        if let Value::Int(size) = reply
            && u64::try_from(size).is_ok_and(|size| size > max)
        {
            let noun = self.subject.limit_noun();
            let detail = format!("holds {size} {noun}, declared to hold at most {max}");
            self.reading.faults.add(Rule::TooLarge, "", detail);
        }
    }

    fn ttl(&mut self, reply: Value) -> Result<(), Error> {
        let reply = match reply {
            // Whoever may not read foreign keys can still tell that they do not belong here.
            Value::ServerError(error)
                if error.code() == "NOPERM" && self.subject.content().is_none() =>
            {
                return Ok(());
            }
            reply => accepted(reply)?,
        };
        let Value::Int(ms) = reply else { return Ok(()) };
        self.gone = ms == GONE;
        self.expires = ms >= 0;
        if let Some(family) = self.subject.family.filter(|_| self.subject.content().is_some()) {
            check_ttl(family, ms, &mut self.reading.faults);
        }
        Ok(())
    }

    fn finish(mut self) -> KeyObservation {
        if let Some(content) = self.subject.content().filter(|_| !self.wrong_type) {
            self.reading.finish(content);
        }
        KeyObservation {
            gone: self.gone,
            faults: self.reading.faults,
            memory_bytes: self.memory_bytes,
        }
    }
}

/// What PTTL answers for a key that is not there, and for one that does not expire.
const GONE: i64 = -2;
const NO_TTL: i64 = -1;

fn check_ttl(family: &Family, ms: i64, faults: &mut Faults) {
    match (family.ttl, ms) {
        (_, GONE) | (Ttl::Optional | Ttl::When(_) | Ttl::Undeclared, _) => {}
        (Ttl::Never, NO_TTL) => {}
        (Ttl::Never, _) => {
            faults.add(Rule::TtlForbidden, "", "will expire, but keys of its family never do")
        }
        (Ttl::Within(secs), NO_TTL) => {
            faults.add(Rule::TtlMissing, "", format!("has no TTL; it must expire within {secs} s"));
        }
        (Ttl::Required, NO_TTL) => faults.add(Rule::TtlMissing, "", "has no TTL; it must expire"),
        (Ttl::Within(secs), ms) if i128::from(ms) > i128::from(secs) * 1_000 => {
            faults.add(Rule::TtlOutOfRange, "", format!("expires later than in {secs} s"));
        }
        (Ttl::Within(_) | Ttl::Required, _) => {}
    }
}

impl Reference {
    /// What is wrong with it, by what EXISTS or HGET have answered.
    fn fault(&self, reply: Value) -> Option<(Rule, String)> {
        match (self.holds, reply) {
            (None, Value::Int(0)) | (Some(_), Value::Nil) => {
                Some((Rule::Dangling, "which does not exist".to_owned()))
            }
            (Some(holds), Value::BulkString(word))
                if !holds.words.iter().any(|allowed| allowed.as_bytes() == word) =>
            {
                let word = quoted(&word);
                Some((Rule::Misplaced, format!("whose {} is {word}", holds.field)))
            }
            _ => None,
        }
    }
}

/// The reply, unless it is an error.
pub(crate) fn accepted(reply: Value) -> Result<Value, Error> {
    Ok(reply.extract_error()?)
}
