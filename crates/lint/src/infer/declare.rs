//! Proposals as a keys file, ready to be improved by somebody who knows better.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_keys::file::{
    Draft, Heading, keep, keep_all, keep_text, new_declarations, write_draft,
};
use keyrack_keys::{
    Content, Database, Encoding, Escape, Family, Field, Kind, LateFamily, Origin, PART_BYTES_MAX,
    Shape as PartShape, Slot, Ttl, Value,
};

use super::guess::{ContentShape, Guess};
use super::shape::Piece;
use super::{Inference, Proposal};

/// A file with declarations for everything that was found.
pub fn declarations(inference: &Inference, name: &str) -> String {
    let (drafts, others) = drafts(inference, name, &[]);
    let heading = Heading {
        name,
        prose: "Inferred from a database; the texts are guesses.",
        ..Heading::default()
    };
    write_draft(heading, &drafts) + &others
}

/// Declarations for what was found, to be put at the end of a file that has none of them.
pub fn more_declarations(inference: &Inference, name: &str, known: &[&'static Family]) -> String {
    let taken: BTreeSet<String> = known.iter().map(|family| family.id()).collect();
    let (mut drafts, others) = drafts(inference, name, known);
    for draft in &mut drafts {
        // What the file calls something else already gets a number.
        let mut n = 2;
        let mut family = Family { ..*draft.family };
        while taken.contains(&family.id()) {
            family.name = keep_text(&format!("{}_{n}", draft.family.name));
            n += 1;
        }
        draft.family = keep(family);
    }
    let heading = Heading { name, ..Heading::default() };
    new_declarations(heading, &drafts, known) + &others
}

fn drafts(inference: &Inference, owner: &str, known: &[&'static Family]) -> (Vec<Draft>, String) {
    let (declared, others): (Vec<&Proposal>, Vec<&Proposal>) =
        inference.proposals.iter().partition(|proposal| can_be_declared(proposal));
    let mut lates: BTreeMap<String, &'static LateFamily> = BTreeMap::new();
    for family in known {
        let late = keep(LateFamily::default());
        late.set(family);
        lates.insert(family.template.to_owned(), late);
    }
    for proposal in &declared {
        lates.insert(proposal.shape.template(), keep(LateFamily::default()));
    }
    let mut names = BTreeSet::new();
    let drafts: Vec<Draft> = declared
        .iter()
        .map(|proposal| {
            let drafted = draft(proposal, keep_text(owner), &lates, &mut names);
            if let Some(late) = lates.get(&proposal.shape.template()) {
                late.set(drafted.family);
            }
            drafted
        })
        .collect();
    let others = others.iter().map(|proposal| {
        let (template, kind) = (proposal.shape.template(), &proposal.types[0].0);
        format!("\n# Cannot be declared: {kind} \"{}\".\n", template.escape_debug())
    });
    (drafts, others.collect())
}

/// There are at most seven placeholders in a name, and modules have types of their own.
fn can_be_declared(proposal: &Proposal) -> bool {
    let n_parts =
        proposal.shape.pieces.iter().filter(|piece| matches!(piece, Piece::Varies { .. })).count();
    proposal.held != ContentShape::Other && n_parts <= 7
}

fn draft(
    proposal: &Proposal,
    owner: &'static str,
    lates: &BTreeMap<String, &'static LateFamily>,
    names: &mut BTreeSet<String>,
) -> Draft {
    let Proposal { keys, types, .. } = proposal;
    let plural = if *keys == 1 { "" } else { "s" };
    let mut notes = vec![format!("{keys} key{plural} found; purpose not known.")];
    notes.extend(types[1..].iter().map(|(kind, n)| format!("{n} of them hold a {kind} instead.")));
    let ttl = match proposal.ttl_s_max {
        Some(secs) if proposal.expiring == *keys => Ttl::Within(rounded_up(secs)),
        Some(_) => {
            notes.push(format!("{} of them expire.", proposal.expiring));
            Ttl::Optional
        }
        None => Ttl::Never,
    };
    let slots: Vec<Slot> = proposal.shape.pieces.iter().filter_map(slot).collect();
    let database = match proposal.databases.as_slice() {
        [0] => Database::Main,
        [one] => u16::try_from(*one).map_or(Database::Main, Database::Number),
        _ => {
            notes.push(format!("Found in databases {:?}.", proposal.databases));
            Database::Main
        }
    };
    let family = Family {
        name: keep_text(&unique(proposal, names)),
        owner,
        template: keep_text(&proposal.shape.template()),
        parts: keep_all(slots),
        content: content(&proposal.held, lates),
        ttl,
        database,
        origin: Origin::File,
        example: keep_text(&proposal.example),
        ..Family::BLANK
    };
    Draft { family: keep(family), notes }
}

fn slot(piece: &Piece) -> Option<Slot> {
    let Piece::Varies { name, kind, except, .. } = piece else { return None };
    let shape = match kind {
        super::shape::Kind::Number => PartShape::Number { min: 0, max: u64::MAX },
        super::shape::Kind::Uuid => PartShape::Uuid,
        super::shape::Kind::Ulid => PartShape::Ulid,
        super::shape::Kind::Date => PartShape::Date,
        super::shape::Kind::Text => {
            let words: Vec<&'static str> = except.iter().map(|word| keep_text(word)).collect();
            PartShape::Text { except: keep_all(words) }
        }
    };
    let without = if matches!(shape, PartShape::Text { .. }) { ":" } else { "" };
    let name = keep_text(name);
    let (escape, bytes_max) = (Escape::Raw { without }, PART_BYTES_MAX);
    Some(Slot { name, kind: Kind { name, prose: "", shape, escape, bytes_max } })
}

fn content(held: &ContentShape, lates: &BTreeMap<String, &'static LateFamily>) -> Content {
    let value = |guess: &Guess| Value {
        encoding: encoding(guess, lates),
        prose: keep_text(&such_as(guess)),
    };
    let fields = |fields: &BTreeMap<String, (Guess, bool)>| {
        let fields = fields.iter().map(|(name, (guess, always))| {
            let encoding = encoding(guess, lates);
            let encoding = if *always { encoding } else { Encoding::Optional(keep(encoding)) };
            Field { name: keep_text(name), prose: keep_text(&such_as(guess)), encoding }
        });
        keep_all(fields.collect())
    };
    match held {
        ContentShape::String { value: guess } => Content::String(value(guess)),
        ContentShape::List { item } => Content::List(value(item)),
        ContentShape::Set { member } => Content::Set(value(member)),
        ContentShape::SortedSet { member, score } => {
            Content::SortedSet { member: value(member), score: value(score) }
        }
        ContentShape::Map { field, value: guess } => {
            Content::Map { field: value(field), value: value(guess) }
        }
        ContentShape::Hash { fields: found } => Content::Hash(fields(found)),
        ContentShape::Stream { fields: found } => Content::Stream(fields(found)),
        ContentShape::HyperLogLog | ContentShape::Other => {
            Content::HyperLogLog(Value { encoding: Encoding::Bytes, prose: "" })
        }
    }
}

fn encoding(guess: &Guess, lates: &BTreeMap<String, &'static LateFamily>) -> Encoding {
    match guess.refers.as_ref().and_then(|template| lates.get(template)) {
        Some(late) if guess.whole => Encoding::KeyOf(*late),
        Some(late) => Encoding::Refers(*late),
        None => guess.encoding,
    }
}

fn such_as(guess: &Guess) -> String {
    let example: String =
        guess.example.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match example.trim() {
        "" => String::new(),
        example => format!("such as `{example}`"),
    }
}

/// The next time that people choose for a TTL.
fn rounded_up(secs: u64) -> u64 {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const USUAL: [u64; 20] = [
        10,
        15,
        30,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        7 * DAY,
        14 * DAY,
        30 * DAY,
        90 * DAY,
        365 * DAY,
    ];
    USUAL.into_iter().find(|usual| *usual >= secs).unwrap_or(secs)
}

/// A name from the fixed words of a template, not given to another family.
fn unique(proposal: &Proposal, names: &mut BTreeSet<String>) -> String {
    let words = proposal.shape.pieces.iter().map(|piece| match piece {
        Piece::Fixed(text) => text.clone(),
        Piece::Varies { prefix, suffix, .. } => format!("{prefix}_{suffix}"),
    });
    let base = identifier(&words.collect::<Vec<_>>().join("_"));
    let mut name = base.clone();
    let mut n = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}_{n}");
        n += 1;
    }
    name
}

/// Text as the name of a family.
fn identifier(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter.to_ascii_lowercase()),
            _ if name.ends_with('_') || name.is_empty() => {}
            _ => name.push('_'),
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("key_{name}").trim_end_matches('_').to_owned();
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_files() {
        assert_eq!(identifier("Users.by-name"), "users_by_name");
        assert_eq!(identifier("7days"), "key_7days");
        assert_eq!(identifier("::"), "key");
    }

    #[test]
    fn remaining_times_round_up_to_usual_ones() {
        assert_eq!([9, 59, 3_541, 86_399].map(rounded_up), [10, 60, 3_600, 86_400]);
    }
}
