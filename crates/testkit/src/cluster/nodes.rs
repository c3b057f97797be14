//! Reading the reply to CLUSTER NODES.

/// One node as another one sees it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NodeLine {
    pub(super) id: String,
    pub(super) port: u16,
    pub(super) myself: bool,
    pub(super) master: bool,
    pub(super) handshake: bool,
    pub(super) master_id: Option<String>,
    pub(super) slots: Vec<(u16, u16)>,
}

impl NodeLine {
    pub(super) fn owns(&self, slot: u16) -> bool {
        self.slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}

pub(super) fn parse_nodes(text: &str) -> Vec<NodeLine> {
    text.lines()
        .map(|line| {
            parse_line(line).unwrap_or_else(|| panic!("unknown form of CLUSTER NODES: \"{line}\""))
        })
        .collect()
}

/// `<id> <ip:port@bus[,host]> <flags> <master> <ping> <pong> <epoch> <link> [<slot>…]`
fn parse_line(line: &str) -> Option<NodeLine> {
    let mut words = line.split_ascii_whitespace();
    let id = words.next()?.to_owned();
    let (addr, _bus) = words.next()?.split_once('@')?;
    let port = addr.rsplit_once(':')?.1.parse().ok()?;
    let flags: Vec<&str> = words.next()?.split(',').collect();
    let master_id = words.next().filter(|&id| id != "-").map(str::to_owned);
    let has = |flag| flags.contains(&flag);
    Some(NodeLine {
        id,
        port,
        myself: has("myself"),
        master: has("master"),
        handshake: has("handshake"),
        master_id,
        slots: words.skip(4).filter_map(parse_slots).collect(),
    })
}

/// `7` or `0-5460`; slots on the move (`[7->-…]`) are listed a second time and are left out.
fn parse_slots(word: &str) -> Option<(u16, u16)> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some((first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn master_line_has_its_slots_without_those_on_the_move() {
        let line = "aa 127.0.0.1:11000@21000 myself,master - 0 0 1 connected 0-5460 9 [9->-bb]";
        let [node] = &parse_nodes(line)[..] else { panic!("one line is one node") };
        assert_eq!(node.slots, [(0, 5460), (9, 9)]);
        assert!(node.myself && node.master && node.owns(5460) && !node.owns(5461));
        assert_eq!((node.port, node.master_id.as_deref()), (11000, None));
    }

    #[test]
    fn replica_line_names_its_master() {
        let line = "bb 127.0.0.1:11001@21001,host slave aa 0 1700000000000 1 connected";
        let [node] = &parse_nodes(line)[..] else { panic!("one line is one node") };
        assert_eq!(node.master_id.as_deref(), Some("aa"));
        assert!(!node.master && node.slots.is_empty());
    }
}
