//! `docs/keys.md`, written from the declarations.

use std::fmt::{self, Write as _};

use crate::describe::{SECRET, line};
use crate::family::{Database, Family, Listed};
use crate::key::Layout;
use crate::registry::Registry;

const INTRODUCTION: &str = "\
# Keys and channels

Everything keyrack stores lies under one of these keys, and everything it announces goes over one of these
channels. Any Redis client may read them. This page is generated from the declarations in the crates' `keys.rs`
files by `cargo xtask docs`; edit those, not this.

- Angle brackets mark the variable parts of a name. A part is 1 to 256 bytes long. The bytes
  `% : { } * ? [ ] \\ ^`, space, control characters and everything beyond ASCII are written as `%` and two
  upper-case hex digits, so ordinary ids look as they are and no two ids share a key.
- On a cluster the part that decides the slot stands in braces, in its place or in front of the name. Without
  the braces, or without the tag in front, the name is the documented one.
- On a cluster every script names one more key, `{…}keyrack:absent`, under which nothing is ever stored. A cluster refuses such a
  script while its slot moves between nodes, so a script sees all keys of its slot or does not run.
- Unix times in seconds may have a fraction; in milliseconds they are whole.
- Fields marked *optional* may be absent.
- What is marked *secret* is shown to admins only, on the dashboard, over HTTP and in reports; whoever reads the database itself sees
  it.
- The key documents: 000 progress bars; 001 hot queue, recurring jobs, files, entitlements, journeys, deploys;
  002 calculations; 003 Bee job queue; 004 post recommender.
";

/// The whole page.
pub fn docs(registry: &Registry) -> String {
    let mut page = INTRODUCTION.to_owned();
    let owners = owners(registry);
    write_page(&mut page, registry, &owners).expect("writing to a string cannot fail");
    page
}

/// The page of other programs' declarations.
pub fn docs_titled(title: &str, about: &str, registry: &Registry) -> String {
    let mut page = format!("# Keys and channels of {title}\n");
    if !about.trim().is_empty() {
        page.push_str(&format!("\n{}\n", about.trim()));
    }
    let owners = owners(registry);
    write_page(&mut page, registry, &owners).expect("writing to a string cannot fail");
    page
}

/// One family's part of the page.
pub fn docs_of(family: &Family) -> String {
    let mut section = String::new();
    write_family(&mut section, family).expect("writing to a string cannot fail");
    section
}

/// Owners in order of registration.
fn owners(registry: &Registry) -> Vec<&'static str> {
    let mut owners: Vec<&str> = Vec::new();
    for family in registry.all() {
        if !owners.contains(&family.owner) {
            owners.push(family.owner);
        }
    }
    owners
}

fn write_page(page: &mut String, registry: &Registry, owners: &[&str]) -> fmt::Result {
    writeln!(page, "\n| key or channel | type | expires | owner |\n|---|---|---|---|")?;
    for family in registry.all() {
        let expires = if family.is_channel() { String::new() } else { family.ttl.to_string() };
        let owner = if family.team.is_empty() { family.owner } else { family.team };
        let (template, noun) = (family.template, family.content.noun());
        writeln!(page, "| `{template}` | {noun} | {expires} | {} |", cell(owner))?;
    }
    for owner in owners {
        writeln!(page, "\n## {owner}")?;
        for family in registry.all().filter(|family| family.owner == *owner) {
            write_family(page, family)?;
        }
    }
    Ok(())
}

fn write_family(page: &mut String, family: &Family) -> fmt::Result {
    writeln!(page, "\n### `{}`\n", family.template)?;
    let text = family.text();
    if !text.is_empty() {
        writeln!(page, "{text}\n")?;
    }
    writeln!(page, "- Type: {}", family.content.noun())?;
    for slot in family.parts {
        let (prose, shape) = (line(slot.kind.prose), &slot.kind.shape);
        match prose.is_empty() {
            true => writeln!(page, "- `<{}>`: {shape}", slot.name)?,
            false => writeln!(page, "- `<{}>`: {prose} ({shape})", slot.name)?,
        }
    }
    for slot in family.outside {
        writeln!(page, "- `<{}>`, on a cluster only: {}", slot.name, line(slot.kind.prose))?;
    }
    if !family.is_channel() {
        writeln!(page, "- Expires: {}", family.ttl)?;
    }
    if !family.removed.is_empty() {
        writeln!(page, "- Removed: {}", family.removed)?;
    }
    if family.secret {
        writeln!(page, "- Secret: {SECRET}")?;
    }
    for listed in family.listed {
        writeln!(page, "- {listed}")?;
    }
    if let Some(holds) = family.holds {
        writeln!(page, "- Members: those with `{}` {}", holds.field, words(holds.words))?;
    }
    if family.database != Database::Main {
        writeln!(page, "- Database: {}", family.database)?;
    }
    if family.is_ambiguous() {
        writeln!(
            page,
            "- Recognised by: a known account's database or hash tag, type and content; the name alone may be another program's"
        )?;
    }
    for (name, programs) in [("Written by", family.writers), ("Read by", family.readers)] {
        if !programs.is_empty() {
            writeln!(page, "- {name}: {}", programs.join(", "))?;
        }
    }
    for (name, max) in [("items", family.items_max), ("bytes", family.bytes_max)] {
        if let Some(max) = max {
            writeln!(page, "- At most: {max} {name}")?;
        }
    }
    let owner = if family.team.is_empty() { family.owner_crate() } else { family.team };
    writeln!(page, "- Owner: `{owner}`; from {}", family.origin)?;
    if !family.example.is_empty() {
        writeln!(page, "- Example: `{}`", family.example)?;
    }
    writeln!(page, "- On a cluster: `{}`", family.template_in(Layout::Cluster))?;

    let kind = if matches!(family.content, crate::Content::Hash(_)) { "field" } else { "what" };
    writeln!(page, "\n| {kind} | written as | meaning |\n|---|---|---|")?;
    for row in family.content.rows() {
        let name = if kind == "field" { format!("`{}`", row.name) } else { row.name.to_owned() };
        let optional = if row.optional { ", *optional*" } else { "" };
        let secret = if row.secret { ", *secret*" } else { "" };
        let (encoding, prose) = (cell(&row.encoding), cell(&row.prose));
        writeln!(page, "| {name} | {encoding}{optional}{secret} | {prose} |")?;
    }
    Ok(())
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.by.iter().map(|by| format!("`{}`", by.family().template));
        write!(f, "With `{}` {}: ", self.field, words(self.words))?;
        match (self.by, self.unless_expiring) {
            ([], _) => f.write_str("expires"),
            (_, true) => write!(f, "named in {}, or expires", or(by)),
            (_, false) => write!(f, "named in {}", or(by)),
        }
    }
}

fn words(words: &[&str]) -> String {
    or(words.iter().map(|word| format!("`{word}`")))
}

fn or(texts: impl Iterator<Item = String>) -> String {
    let mut texts: Vec<String> = texts.collect();
    let last = texts.pop().unwrap_or_default();
    if texts.is_empty() { last } else { format!("{} or {last}", texts.join(", ")) }
}

/// Text that may stand in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
