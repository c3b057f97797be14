//! Proposals as Rust: a file of declarations, ready to be pasted and then improved by somebody who knows better.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use super::guess::{ContentShape, Guess};
use super::shape::Piece;
use super::{Inference, Proposal};

/// The declarations for everything that was found.
pub fn declarations(inference: &Inference) -> String {
    let mut out = String::new();
    write_file(&mut out, inference).expect("writing to a string cannot fail");
    out
}

fn write_file(out: &mut String, inference: &Inference) -> fmt::Result {
    let (declared, others): (Vec<&Proposal>, Vec<&Proposal>) =
        inference.proposals.iter().partition(|proposal| can_be_declared(proposal));
    writeln!(out, "use keyrack_keys::declare::*;\n")?;
    write_parts(out, &declared)?;
    if !declared.is_empty() {
        writeln!(out, "keys! {{\n    owner = \"inferred\", origin = Added;")?;
        let mut names = BTreeSet::new();
        for proposal in &declared {
            writeln!(out)?;
            write_family(out, proposal, &mut names)?;
        }
        writeln!(out, "}}")?;
    }
    for proposal in others {
        let (template, kind) = (proposal.shape.template(), &proposal.types[0].0);
        writeln!(
            out,
            "\n// Cannot be declared, as keyrack has no such type or name: {kind} `{template}`."
        )?;
    }
    Ok(())
}

/// Placeholders of a declared name are separated by colons, and there are at most eight.
fn can_be_declared(proposal: &Proposal) -> bool {
    let n_parts = varying(proposal).count();
    proposal.held != ContentShape::Other && n_parts <= 8
}

fn varying(proposal: &Proposal) -> impl Iterator<Item = (&str, bool, &[String])> {
    proposal.shape.pieces.iter().filter_map(|piece| match piece {
        Piece::Varies { name, number, except, .. } => Some((name.as_str(), *number, &except[..])),
        Piece::Fixed(_) => None,
    })
}

/// One part type for each name of a placeholder; a number only if it was one everywhere.
fn write_parts(out: &mut String, proposals: &[&Proposal]) -> fmt::Result {
    let mut parts: BTreeMap<String, (bool, BTreeSet<&str>, String)> = BTreeMap::new();
    for proposal in proposals {
        for (name, number, except) in varying(proposal) {
            let (numbers, words, _) = parts
                .entry(type_name(name))
                .or_insert_with(|| (true, BTreeSet::new(), proposal.shape.template()));
            *numbers &= number;
            words.extend(except.iter().map(String::as_str));
        }
    }
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "parts! {{")?;
    for (name, (number, except, template)) in parts {
        writeln!(out, "    /// What stands in `{template}`.")?;
        if number {
            writeln!(out, "    number {name} 0..=u64::MAX;")?;
        } else if except.is_empty() {
            writeln!(out, "    text {name};")?;
        } else {
            let words: Vec<String> = except.iter().map(|word| format!("{word:?}")).collect();
            writeln!(out, "    text {name} except [{}];", words.join(", "))?;
        }
    }
    writeln!(out, "}}\n")
}

fn write_family(
    out: &mut String,
    proposal: &Proposal,
    names: &mut BTreeSet<String>,
) -> fmt::Result {
    let Proposal { keys, types, .. } = proposal;
    let plural = if *keys == 1 { "" } else { "s" };
    writeln!(out, "    /// Purpose not known; {keys} key{plural} found.")?;
    for (kind, n) in &types[1..] {
        writeln!(out, "    /// {n} of them hold a {kind} instead.")?;
    }
    let parts: Vec<String> = varying(proposal)
        .map(|(name, ..)| format!("{}: {}", identifier(name), type_name(name)))
        .collect();
    let template = template(proposal);
    writeln!(out, "    {}({}) = \"{template}\"", unique(proposal, names), parts.join(", "))?;
    write!(out, "        => ")?;
    write_content(out, &proposal.held)?;
    write_life(out, proposal)?;
    writeln!(out, "        example = \"{}\";", proposal.example)
}

/// The name with each placeholder called as its part is.
fn template(proposal: &Proposal) -> String {
    let segments = proposal.shape.pieces.iter().map(|piece| match piece {
        Piece::Fixed(text) => text.clone(),
        Piece::Varies { name, prefix, suffix, .. } => {
            format!("{prefix}<{}>{suffix}", identifier(name))
        }
    });
    segments.collect::<Vec<_>>().join(":")
}

fn write_content(out: &mut String, held: &ContentShape) -> fmt::Result {
    match held {
        ContentShape::String { value } => writeln!(out, "string({}),", means(value)),
        ContentShape::List { item } => writeln!(out, "list({}),", means(item)),
        ContentShape::Set { member } => writeln!(out, "set({}),", means(member)),
        ContentShape::SortedSet { member, score } => {
            writeln!(out, "sorted_set({}, {}),", means(member), means(score))
        }
        ContentShape::Map { field, value } => {
            writeln!(out, "map({}, {}),", means(field), means(value))
        }
        ContentShape::Hash { fields } => {
            writeln!(out, "hash(fields! {{")?;
            for (name, (guess, always)) in fields {
                writeln!(out, "            /// {}.", capitalised(&such_as(guess)))?;
                let Guess { encoding, .. } = guess;
                if *always {
                    writeln!(out, "            {name}: {encoding},")?;
                } else {
                    writeln!(out, "            {name}: Optional(&{encoding}),")?;
                }
            }
            writeln!(out, "        }}),")
        }
        ContentShape::Other => Ok(()),
    }
}

fn means(guess: &Guess) -> String {
    format!("{}.means({:?})", guess.encoding, such_as(guess))
}

fn such_as(guess: &Guess) -> String {
    let example: String =
        guess.example.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match example.as_str() {
        "" => "not known".into(),
        example => format!("such as `{example}`"),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// TTL, database, and who removes the keys.
fn write_life(out: &mut String, proposal: &Proposal) -> fmt::Result {
    match proposal.ttl_s_max {
        Some(secs) if proposal.expiring == proposal.keys => {
            writeln!(out, "        ttl = Ttl::Within({}),", grouped(rounded_up(secs)))?;
        }
        Some(_) => writeln!(out, "        ttl = Ttl::Optional,")?,
        None => writeln!(out, "        removed = \"not known\",")?,
    }
    if proposal.databases.iter().all(|db| *db >= 100) {
        writeln!(out, "        database = Database::Account,")?;
    }
    Ok(())
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

/// A number as Rust is written: `86_400`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    out
}

/// A function name from the fixed words of a name, not given to another family.
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

/// Words that Rust or the declarations need for themselves.
const RESERVED: &[&str] = &[
    "as",
    "async",
    "await",
    "break",
    "channel",
    "const",
    "continue",
    "crate",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "fields",
    "fn",
    "for",
    "gen",
    "hash",
    "if",
    "impl",
    "in",
    "json",
    "keys",
    "let",
    "list",
    "loop",
    "map",
    "match",
    "mod",
    "move",
    "mut",
    "parts",
    "pub",
    "ref",
    "return",
    "self",
    "set",
    "sorted_set",
    "static",
    "string",
    "struct",
    "super",
    "trait",
    "true",
    "try",
    "type",
    "unsafe",
    "use",
    "where",
    "while",
    "yield",
];

/// Text as the name of a Rust function or parameter.
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
    if name.is_empty()
        || name.starts_with(|first: char| first.is_ascii_digit())
        || RESERVED.contains(&name)
    {
        return format!("key_{name}").trim_end_matches('_').to_owned();
    }
    name.to_owned()
}

/// A placeholder's name as the name of a part type: `user` gives `UserId`.
fn type_name(part: &str) -> String {
    let words = part.split('_').filter(|word| !word.is_empty() && *word != "id");
    let camel: String = words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect();
    if camel.is_empty() { "KeyId".into() } else { camel + "Id" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_rust() {
        assert_eq!(identifier("Users.by-name"), "users_by_name");
        assert_eq!(identifier("type"), "key_type");
        assert_eq!(identifier("7days"), "key_7days");
        assert_eq!(identifier("::"), "key");
        assert_eq!(type_name("user"), "UserId");
        assert_eq!(type_name("pair_2"), "Pair2Id");
        assert_eq!(type_name("id"), "KeyId");
    }

    #[test]
    fn remaining_times_round_up_to_usual_ones() {
        assert_eq!([9, 59, 3_541, 86_399].map(rounded_up), [10, 60, 3_600, 86_400]);
        assert_eq!(grouped(1_209_600), "1_209_600");
        assert_eq!(grouped(600), "600");
    }
}
