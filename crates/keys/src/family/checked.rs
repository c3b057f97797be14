//! Checks at compile time that a declaration is whole and fits its own template.

use super::{Content, Family, PARTS_MAX, Shard, Slot, Ttl};
use crate::coding::PLAIN;

impl Family {
    /// Stops the build when the declaration contradicts itself.
    #[doc(hidden)]
    pub const fn checked(self) -> Self {
        assert!(!self.owner.is_empty(), "a family needs an owner");
        assert!(!self.example.is_empty(), "a family needs an example");
        let lasts = matches!(self.ttl, Ttl::Never) && !matches!(self.content, Content::Channel(_));
        assert!(
            !lasts || !self.removed.is_empty(),
            "a family without TTL must say who removes its keys"
        );
        assert!(self.parts.len() + self.outside.len() <= PARTS_MAX, "a name has at most 8 parts");
        check_template(self.template.as_bytes(), self.parts);
        check_shard(&self);
        self
    }
}

/// Placeholders must be the parts in order, and colons must keep them apart.
const fn check_template(template: &[u8], parts: &[Slot]) {
    let (mut at, mut n_parts, mut n_with_colons, mut segment_has_part) = (0, 0, 0, false);
    while at < template.len() {
        match template[at] {
            b'<' => {
                assert!(!segment_has_part, "two placeholders need a colon between them");
                assert!(
                    n_parts < parts.len(),
                    "the template has more placeholders than the builder has parts"
                );
                let name = parts[n_parts].name.as_bytes();
                assert!(
                    starts_with(template, at + 1, name),
                    "placeholders must be the parts in order"
                );
                at += name.len() + 1;
                assert!(
                    at < template.len() && template[at] == b'>',
                    "placeholders must be the parts in order"
                );
                n_with_colons += parts[n_parts].kind.holds_colons() as usize;
                n_parts += 1;
                segment_has_part = true;
            }
            b':' => segment_has_part = false,
            literal => assert!(PLAIN[literal as usize], "the fixed text holds a reserved byte"),
        }
        at += 1;
    }
    assert!(
        n_parts == parts.len(),
        "the builder has more parts than the template has placeholders"
    );
    assert!(n_with_colons <= 1, "two parts that hold colons cannot be told apart");
}

const fn check_shard(family: &Family) {
    let inside = !matches!(family.shard, Shard::Whole);
    assert!(
        !inside || family.outside.is_empty(),
        "a shard is either in the name or outside, not both"
    );
    assert!(family.outside.len() <= 1, "there is one shard");
    if let [outside] = family.outside {
        assert!(part(family, outside.name).is_none(), "the shard is already a part of the name");
        assert!(!outside.kind.holds_colons(), "a shard holds no colons");
    }
    match family.shard {
        Shard::Whole => {}
        Shard::Part(name) => match part(family, name) {
            Some(slot) => assert!(!slot.kind.holds_colons(), "a shard holds no colons"),
            None => panic!("the shard names no part"),
        },
        Shard::Word(word) => {
            assert!(family.parts.is_empty(), "a word can be tagged in a fixed name only");
            assert!(find(family.template, word).is_some(), "the shard's word is not in the name");
        }
        Shard::Front(tag) => assert!(!tag.is_empty(), "the shard is empty"),
    }
}

/// The part of that name.
const fn part(family: &Family, name: &str) -> Option<Slot> {
    let mut i = 0;
    while i < family.parts.len() {
        if equal(family.parts[i].name, name) {
            return Some(family.parts[i]);
        }
        i += 1;
    }
    None
}

/// Where `word` first stands in `text`.
const fn find(text: &str, word: &str) -> Option<usize> {
    let mut at = 0;
    while at + word.len() <= text.len() {
        if starts_with(text.as_bytes(), at, word.as_bytes()) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn equal(a: &str, b: &str) -> bool {
    a.len() == b.len() && starts_with(a.as_bytes(), 0, b.as_bytes())
}

const fn starts_with(text: &[u8], from: usize, word: &[u8]) -> bool {
    if from + word.len() > text.len() {
        return false;
    }
    let mut i = 0;
    while i < word.len() {
        if text[from + i] != word[i] {
            return false;
        }
        i += 1;
    }
    true
}
