//! What a raw key means: family, parts, type and fields, as data and as text.

use std::fmt;

use crate::describe::{Row, SECRET, line};
use crate::family::Family;
use crate::key::Layout;
use crate::registry::{Parsed, Registry};

/// Everything that the declarations say about one raw key or channel.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The documented name.
    pub name: String,
    /// The name on a cluster; placeholders stay where the shard is not known.
    pub cluster: String,
    /// The family it belongs to.
    pub family: &'static Family,
    /// The parts of the name, in order.
    pub parts: Vec<ExplainedPart>,
    /// What the key holds.
    pub rows: Vec<Row>,
}

/// One part of an explained key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedPart {
    /// The placeholder's name.
    pub name: &'static str,
    /// The decoded value.
    pub value: String,
    /// What it stands for.
    pub meaning: String,
}

impl Registry {
    /// Explains a raw key of either layout, or a channel when no key has that name.
    pub fn explain(&self, raw: &[u8]) -> Option<Explanation> {
        self.parse(raw).or_else(|| self.parse_channel(raw)).and_then(explained)
    }
}

fn explained(parsed: Parsed) -> Option<Explanation> {
    let family = parsed.family;
    let shard = family.outside.iter().zip(&parsed.shard);
    let parts = shard.chain(family.parts.iter().zip(&parsed.parts)).map(|(slot, value)| {
        ExplainedPart { name: slot.name, value: value.clone(), meaning: line(slot.kind.prose) }
    });
    let name = parsed.render(Layout::Documented)?;
    let cluster = parsed.render(Layout::Cluster).unwrap_or_else(|| {
        let tag = family.outside.iter().map(|slot| format!("{{<{}>}}", slot.name));
        tag.chain([name.clone()]).collect()
    });
    Some(Explanation { cluster, family, parts: parts.collect(), rows: family.content.rows(), name })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.family;
        writeln!(f, "{}\n", self.name)?;
        if !family.prose.trim().is_empty() {
            writeln!(f, "{}\n", family.text())?;
        }
        writeln!(f, "family      {}", family.id())?;
        writeln!(f, "template    {}", family.template)?;
        writeln!(f, "type        {}", family.content.noun())?;
        if !family.is_channel() {
            writeln!(f, "expires     {}", family.ttl)?;
        }
        if !family.removed.is_empty() {
            writeln!(f, "removed     {}", family.removed)?;
        }
        if let Some(max) = family.items_max {
            writeln!(f, "holds       at most {max}")?;
        }
        if let Some(max) = family.bytes_max {
            writeln!(f, "bytes       at most {max}")?;
        }
        if family.secret {
            writeln!(f, "secret      {}", SECRET)?;
        }
        match family.team {
            "" => writeln!(f, "owner       {}", family.owner_crate())?,
            team => writeln!(f, "owner       {team}")?,
        }
        for (label, programs) in [("written by", family.writers), ("read by", family.readers)] {
            if !programs.is_empty() {
                writeln!(f, "{label:10}  {}", programs.join(", "))?;
            }
        }
        writeln!(f, "from        {}", family.origin)?;
        writeln!(f, "on cluster  {}", self.cluster)?;
        if !self.parts.is_empty() {
            writeln!(f, "\nparts")?;
        }
        let widths = self.parts.iter().map(|part| (part.name.len(), part.value.chars().count()));
        let (names, values) = widths.fold((0, 0), |(a, b), (c, d)| (a.max(c), b.max(d)));
        for ExplainedPart { name, value, meaning } in &self.parts {
            let row = format!("  {name:names$}  {value:values$}  {meaning}");
            writeln!(f, "{}", row.trim_end())?;
        }
        writeln!(f, "\ncontent")?;
        let names = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
        for Row { name, encoding, optional, secret, prose } in &self.rows {
            let optional = if *optional { " (optional)" } else { "" };
            let secret = if *secret { " (secret)" } else { "" };
            let colon = if prose.is_empty() { "" } else { ": " };
            writeln!(f, "  {name:names$}  {encoding}{optional}{secret}{colon}{prose}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
