//! The order in which a Lua 5.1 table gives back the string keys that were put in.
//!
//! A table is an array of nodes, a power of two of them, and `next` walks it from the front. A key belongs at the
//! node that its hash names. Is that taken, one of the two keys moves to the last free node. Is none free, the
//! table doubles and every key is put in anew, the last node first. So the order depends on the keys' bytes and on the order in
//! which they came, and on nothing else: Redis' Lua has no hash seed.

use super::scan::Member;

/// The positions of an object's members in the order of `next`; of equal keys the last counts.
pub(super) fn order(members: &[Member<'_>]) -> Vec<usize> {
    let mut table = Table { members, nodes: Vec::new(), free_end: 0 };
    for (at, member) in members.iter().enumerate() {
        table.set(at, hash(member.key.as_bytes()));
    }
    table.nodes.iter().flatten().map(|node| node.member).collect()
}

/// The hash of a string in Redis' Lua, which unlike Lua's own looks at every byte of a long one.
fn hash(bytes: &[u8]) -> u32 {
    // Only the low half of the length counts.
    let seed = bytes.len() as u32;
    bytes.iter().rev().fold(seed, |hash, &byte| {
        hash ^ (hash << 5).wrapping_add(hash >> 2).wrapping_add(u32::from(byte))
    })
}

struct Table<'m> {
    members: &'m [Member<'m>],
    nodes: Vec<Option<Node>>,
    /// Every node from here on is taken.
    free_end: usize,
}

#[derive(Clone, Copy)]
struct Node {
    member: usize,
    hash: u32,
    /// The next node with a key that belongs at the same place.
    next: Option<usize>,
}

impl Table<'_> {
    fn set(&mut self, member: usize, hash: u32) {
        match self.find(member, hash) {
            Some(found) => found.member = member,
            None => self.insert(member, hash),
        }
    }

    fn find(&mut self, member: usize, hash: u32) -> Option<&mut Node> {
        let key = &self.members[member].key;
        let mut at = (!self.nodes.is_empty()).then(|| self.home(hash));
        while let Some(here) = at {
            let node = self.nodes[here]?;
            if node.hash == hash && self.members[node.member].key == *key {
                return self.nodes[here].as_mut();
            }
            at = node.next;
        }
        None
    }

    fn insert(&mut self, member: usize, hash: u32) {
        if self.nodes.is_empty() {
            return self.grow(member, hash);
        }
        let home = self.home(hash);
        let Some(resident) = self.nodes[home] else {
            self.nodes[home] = Some(Node { member, hash, next: None });
            return;
        };
        let Some(free) = self.take_free() else {
            return self.grow(member, hash);
        };
        let residents_home = self.home(resident.hash);
        if residents_home == home {
            self.nodes[free] = Some(Node { member, hash, next: resident.next });
            self.link(home, free);
        } else {
            // The resident is only here because its own place was taken, so it has to move.
            let before = self.before(residents_home, home);
            self.nodes[free] = Some(resident);
            self.link(before, free);
            self.nodes[home] = Some(Node { member, hash, next: None });
        }
    }

    /// Makes room for one more key and puts it in after all the others.
    fn grow(&mut self, member: usize, hash: u32) {
        let used = self.nodes.iter().flatten().count();
        let size = (used + 1).next_power_of_two();
        let old = std::mem::replace(&mut self.nodes, vec![None; size]);
        self.free_end = size;
        for node in old.into_iter().rev().flatten() {
            self.insert(node.member, node.hash);
        }
        self.insert(member, hash);
    }

    fn take_free(&mut self) -> Option<usize> {
        self.free_end = self.nodes[..self.free_end].iter().rposition(Option::is_none)?;
        Some(self.free_end)
    }

    /// The node of the chain from `first` that leads to `node`.
    fn before(&self, first: usize, node: usize) -> usize {
        let mut at = first;
        while let Some(next) = self.nodes[at].and_then(|here| here.next) {
            if next == node {
                break;
            }
            at = next;
        }
        at
    }

    fn link(&mut self, from: usize, to: usize) {
        if let Some(node) = &mut self.nodes[from] {
            node.next = Some(to);
        }
    }

    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.nodes.len() - 1)
    }
}
