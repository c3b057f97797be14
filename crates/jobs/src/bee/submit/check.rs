//! Whether a job makes sense by itself.

use std::collections::BTreeMap;

use super::{
    DELAY_MS_MAX, DEPENDENCIES_MAX, LIMITS_MAX, METADATA_BYTES_MAX, METADATA_MAX,
    METADATA_NAME_BYTES_MAX, PRIORITY_MAX, Submission, TAGS_MAX,
};
use crate::{
    Error,
    bee::{job::Options, keys::Jid},
};

impl Submission {
    pub(super) fn check(&self) -> Result<(), Error> {
        let options = &self.options;
        if let Some(reason) = &self.wrong_arg {
            return Err(Error::invalid("data", reason.clone()));
        }
        Submission::check_options(options)?;
        check_time("startWithin", self.start_within_ms)?;
        if let Some(unique) = &self.unique {
            unique.check(self)?;
        }
        if options.dependencies_on_tags && self.tags.is_empty() {
            return Err(Error::invalid(
                "dependenciesOnTags",
                "the job has no tags; give it the tags to wait for",
            ));
        }
        if self.tags.len() > TAGS_MAX {
            return Err(Error::invalid(
                "tags",
                format!("{} of them; at most {TAGS_MAX} are taken", self.tags.len()),
            ));
        }
        if options.limits.len() > LIMITS_MAX {
            let reason =
                format!("{} of them; at most {LIMITS_MAX} are taken", options.limits.len());
            return Err(Error::invalid("limits", reason));
        }
        check_metadata(&options.metadata)?;
        if self.dependencies.len() > DEPENDENCIES_MAX {
            let reason = format!(
                "{} of them; at most {DEPENDENCIES_MAX} are taken, so use a tag",
                self.dependencies.len()
            );
            return Err(Error::invalid("dependencies", reason));
        }
        let named = self.dependencies.iter().map(|jid| ("dependencies", jid));
        let named = named.chain(self.parent.iter().map(|jid| ("parent", jid)));
        named
            .chain(self.jid.iter().map(|jid| ("jid", jid)))
            .try_for_each(|(field, jid)| self.check_jid(field, jid))
    }

    /// Whether options make sense, also those of a job that is stored.
    pub(in crate::bee) fn check_options(options: &Options) -> Result<(), Error> {
        if !options.priority.is_finite() {
            let reason = format!("{}; give a number up to {PRIORITY_MAX}", options.priority);
            return Err(Error::invalid("priority", reason));
        }
        if !(0.0..=DELAY_MS_MAX).contains(&options.delay) {
            let reason = format!("{} ms; give 0 to {DELAY_MS_MAX} milliseconds", options.delay);
            return Err(Error::invalid("delay", reason));
        }
        let backoff = options.own_backoff().unwrap_or_default();
        backoff.check(["retryDelay", "retryDelayMax", "retryJitter"])?;
        check_time("timeout", options.timeout)?;
        check_ttl("ttl", Some(options.ttl))?;
        check_ttl("failedTtl", options.failed_ttl)
    }

    fn check_jid(&self, field: &'static str, jid: &Jid) -> Result<(), Error> {
        if !jid.is_plain() {
            let reason =
                format!("\"{jid}\" has characters other than letters, digits and -_.~/+=@,");
            return Err(Error::invalid(field, reason));
        }
        let (theirs, ours) = (jid.group(), self.queue.group());
        if theirs != ours {
            let reason = format!(
                "\"{jid}\" belongs to the group \"{theirs}\", the queue \"{}\" to \"{ours}\"; only jobs of one group can \
                 know each other",
                self.queue
            );
            return Err(Error::invalid(field, reason));
        }
        Ok(())
    }
}

fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), Error> {
    let wrong = |reason| Err(Error::invalid("metadata", reason));
    if metadata.len() > METADATA_MAX {
        return wrong(format!("{} entries; at most {METADATA_MAX} are taken", metadata.len()));
    }
    for name in metadata.keys() {
        if !(1..=METADATA_NAME_BYTES_MAX).contains(&name.len()) || name.contains(char::is_control) {
            let shown: String = name.chars().take(METADATA_NAME_BYTES_MAX).collect();
            return wrong(format!(
                "the name {shown:?}; give 1 to {METADATA_NAME_BYTES_MAX} bytes without control characters"
            ));
        }
    }
    let n_bytes: usize = metadata.iter().map(|(name, value)| name.len() + value.len()).sum();
    if n_bytes > METADATA_BYTES_MAX {
        return wrong(format!("{n_bytes} bytes; at most {METADATA_BYTES_MAX} are taken"));
    }
    Ok(())
}

/// A time for which something is kept.
pub(in crate::bee) fn check_ttl(field: &'static str, ms: Option<u64>) -> Result<(), Error> {
    match ms {
        Some(ms) if ms > DELAY_MS_MAX as u64 => {
            let reason = format!("{ms} ms; give 0 to {DELAY_MS_MAX} milliseconds");
            Err(Error::invalid(field, reason))
        }
        _ => Ok(()),
    }
}

/// A time that has to be some time.
pub(crate) fn check_time(field: &'static str, ms: Option<u64>) -> Result<(), Error> {
    match ms {
        Some(ms) if !(1..=DELAY_MS_MAX as u64).contains(&ms) => {
            let reason = format!("{ms} ms; give 1 to {DELAY_MS_MAX} milliseconds");
            Err(Error::invalid(field, reason))
        }
        _ => Ok(()),
    }
}
