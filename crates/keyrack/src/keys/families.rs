//! Finding the family that somebody means, or the one that comes nearest.

use keyrack_contract::registry;
use keyrack_keys::{Content, Family, Layout};
use serde_json::{Value, json};

use crate::{Exit, Failure};

/// The family of this id, template or key; the bare name does where it is the only one.
pub(super) fn find(text: &str) -> Result<&'static Family, Failure> {
    let all = || registry().all();
    let exact = all().find(|family| family.id() == text || family.template == text);
    if let Some(family) = exact {
        return Ok(family);
    }
    let named: Vec<&Family> = all().filter(|family| family.name == text).collect();
    match named[..] {
        [family] => Ok(family),
        [] => key_or_nearest(text),
        _ => {
            let ids: Vec<String> = named.iter().map(|family| family.id()).collect();
            let message = format!("several families are called \"{text}\"");
            Err(Failure::new(Exit::Usage, message).hint(format!("say which: {}", ids.join(", "))))
        }
    }
}

fn key_or_nearest(text: &str) -> Result<&'static Family, Failure> {
    let parsed = registry().explain(text.as_bytes());
    parsed.map(|explanation| explanation.family).ok_or_else(|| {
        let ids = registry().all().map(Family::id);
        let failure = Failure::new(Exit::NotFound, format!("there is no family \"{text}\""));
        match ids.max_by(|a, b| similarity(a, text).total_cmp(&similarity(b, text))) {
            Some(id) if similarity(&id, text) >= ALIKE => {
                failure.hint(format!("did you mean \"{id}\"? \"keyrack keys list\" shows all"))
            }
            _ => failure.hint("\"keyrack keys list\" shows all"),
        }
    })
}

/// How alike texts must be before one is proposed for the other.
const ALIKE: f64 = 0.75;
/// What a segment counts that could be anything.
const PLACEHOLDER: f64 = 0.8;

fn similarity(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}

/// The family whose names are most like this key, and why the key is none of them, if that can be told.
pub(super) fn nearest(key: &str) -> Option<(&'static Family, Option<String>)> {
    let likeness = |family: &Family| likeness(family.template, key);
    let family = registry().all().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(family) >= ALIKE).then(|| (family, reason(family, key)))
}

fn likeness(template: &str, key: &str) -> f64 {
    let (wanted, given): (Vec<&str>, Vec<&str>) =
        (template.split(':').collect(), key.split(':').collect());
    let alike = wanted.iter().zip(&given).map(|(wanted, given)| {
        if wanted.starts_with('<') && wanted.ends_with('>') {
            PLACEHOLDER
        } else {
            similarity(wanted, given)
        }
    });
    alike.sum::<f64>() / wanted.len().max(given.len()) as f64
}

/// The first part that is not what its place wants, when everything else fits.
fn reason(family: &Family, key: &str) -> Option<String> {
    let (wanted, given): (Vec<&str>, Vec<&str>) =
        (family.template.split(':').collect(), key.split(':').collect());
    if wanted.len() != given.len() {
        return None;
    }
    wanted.iter().zip(given).find_map(|(wanted, given)| {
        let name = wanted.strip_prefix('<')?.strip_suffix('>')?;
        let slot = family.parts.iter().find(|slot| slot.name == name)?;
        slot.kind.decode(given.as_bytes()).err().map(|error| error.to_string())
    })
}

/// A family as JSON.
pub(super) fn as_json(family: &Family) -> Value {
    let parts = family.parts.iter().map(|slot| {
        let meaning = slot.kind.prose.split_whitespace().collect::<Vec<_>>().join(" ");
        json!({ "name": slot.name, "shape": slot.kind.shape.to_string(), "meaning": meaning })
    });
    let content = family.content.rows().into_iter().map(|row| {
        json!({
            "name": row.name,
            "encoding": row.encoding,
            "optional": row.optional,
            "secret": row.secret,
            "meaning": row.prose,
        })
    });
    json!({
        "id": family.id(),
        "kind": if family.is_channel() { "channel" } else { "key" },
        "template": family.template,
        "cluster_template": family.template_in(Layout::Cluster),
        "type": family.content.redis_type(),
        "parts": parts.collect::<Vec<_>>(),
        "content": content.collect::<Vec<_>>(),
        "ttl": (!matches!(family.content, Content::Channel(_))).then(|| family.ttl.to_string()),
        "removed": family.removed,
        "secret": family.secret,
        "database": family.database.to_string(),
        "owner": family.owner,
        "team": family.team,
        "writers": family.writers,
        "readers": family.readers,
        "max_items": family.items_max,
        "max_bytes": family.bytes_max,
        "origin": family.origin.to_string(),
        "example": family.example,
        "meaning": family.text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_is_found_by_id_template_name_and_key() {
        for text in ["progress.step_stats", "step_stats", "stats:alice:import:0:3:best_fit.linear"]
        {
            assert_eq!(find(text).unwrap().id(), "progress.step_stats", "{text}");
        }
        assert_eq!(find("updates:<repo>").unwrap().id(), "updates.updates");
    }

    #[test]
    fn unclear_or_unknown_family_says_what_to_type() {
        let failure = find("purgatory").unwrap_err();
        assert_eq!(
            failure.hint_text(),
            Some("say which: jobs.recurring.purgatory, files.purgatory")
        );
        let failure = find("progress.exampel").unwrap_err();
        let hint = "did you mean \"progress.example\"? \"keyrack keys list\" shows all";
        assert_eq!((failure.exit(), failure.hint_text()), (Exit::NotFound, Some(hint)));
    }

    #[test]
    fn nearest_family_is_the_one_with_most_of_the_name() {
        let found = |key| nearest(key).map(|(family, _)| family.id());
        assert_eq!(found("trace:alice:import:42:stp:3").as_deref(), Some("progress.step"));
        assert_eq!(found("bee:ss:queues:emails").as_deref(), Some("jobs.bee.queue"));
        assert_eq!(found("zzz"), None);
    }

    #[test]
    fn part_that_does_not_fit_is_named() {
        let (family, reason) = nearest("tcount:2022:13").unwrap();
        assert_eq!(family.id(), "progress.month_count");
        assert_eq!(reason.as_deref(), Some("\"13\" is no month; give a whole number from 1 to 12"));
    }
}
