//! A draft of a keys file from a page of text on which somebody listed key names.
//!
//! Pages differ, so `page` and `table` look for the ways in which keys are usually listed, `template` turns placeholders
//! of any style into parts, and `describe` and `life` guess what the words beside a name say. Whatever is a guess is marked.

mod describe;
mod life;
mod page;
mod table;
mod template;

use std::collections::BTreeSet;

use crate::family::{Content, Family, Origin, Ttl};
use crate::file::{Draft, keep, keep_all, keep_text};

/// Drafts a declaration for every key and channel on a page.
pub fn import(owner: &str, text: &str) -> Vec<Draft> {
    let owner = keep_text(owner);
    let mut names = BTreeSet::new();
    let mut drafts = Vec::new();
    let legend = page::legend(text);
    for entry in page::entries(text) {
        let Some(template) = template::read(&entry.name) else { continue };
        let described = describe::read(&entry, &template, &legend);
        let mut notes = described.unsure;
        notes.extend(template.unsure.iter().cloned());
        let notes = notes.into_iter().map(|note| format!("unsure: {note}")).collect();
        let name = unique(&template.name, entry.is_channel, &mut names);
        let family = Family {
            name: keep_text(&name),
            owner,
            prose: keep_text(&entry.prose()),
            template: keep_text(&template.text),
            parts: keep_all(template.slots),
            content: described.content,
            ttl: if matches!(described.content, Content::Channel(_)) {
                Ttl::Never
            } else {
                described.ttl
            },
            origin: Origin::File,
            ..Family::BLANK
        };
        drafts.push(Draft { family: keep(family), notes });
    }
    drafts
}

fn unique(base: &str, is_channel: bool, names: &mut BTreeSet<String>) -> String {
    let mut name = base.to_owned();
    if is_channel && names.contains(&name) {
        name = format!("{base}_messages");
    }
    let mut n = 2;
    while !names.insert(name.clone()) {
        name = format!("{base}_{n}");
        n += 1;
    }
    name
}

#[cfg(test)]
mod tests;
