//! The jobs around a job, as a picture: what it waits for at the left, what waits for it or came from it at the right.

use keyrack_format as format;
use keyrack_jobs::bee::Job;

use super::link;

/// The most jobs on each side; a note counts the rest.
const SIDE_MAX: usize = 12;

const BOX_WIDTH: u32 = 220;
const BOX_HEIGHT: u32 = 40;
const ROW: u32 = 52;
const COLUMN: u32 = 290;
/// Ids that are longer lose their middle.
const LETTERS_MAX: usize = 22;

/// The jobs around a job.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
    pub(super) width: u32,
    pub(super) height: u32,
    /// What did not fit.
    pub(super) note: String,
}

/// A box.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) label: String,
    pub(super) jid: String,
    pub(super) link: String,
    /// Status of the job; `gone` when there is none any more.
    pub(super) status: &'static str,
    /// What it is to the job in the middle.
    pub(super) role: &'static str,
    pub(super) is_self: bool,
}

/// A line between two boxes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) path: String,
    pub(super) is_family: bool,
}

/// A job beside the one in the middle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Neighbour {
    pub(super) jid: String,
    pub(super) status: Option<&'static str>,
    pub(super) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Parent,
    Dependency,
    Child,
    Dependant,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Role::Parent => "parent",
            Role::Dependency => "runs first",
            Role::Child => "child",
            Role::Dependant => "waits for this",
        }
    }

    fn is_before(self) -> bool {
        matches!(self, Role::Parent | Role::Dependency)
    }

    fn is_family(self) -> bool {
        matches!(self, Role::Parent | Role::Child)
    }
}

impl Graph {
    pub(super) const BOX_WIDTH: u32 = BOX_WIDTH;
    pub(super) const BOX_HEIGHT: u32 = BOX_HEIGHT;

    /// The picture of a job and its neighbours; empty when it has none.
    pub(super) fn of(job: &Job, neighbours: &[Neighbour], left_out: u64) -> Graph {
        if neighbours.is_empty() {
            return Graph::default();
        }
        let side = |before: bool| {
            neighbours.iter().filter(move |neighbour| neighbour.role.is_before() == before)
        };
        let (before, after) = (side(true).count().min(SIDE_MAX), side(false).count().min(SIDE_MAX));
        let rows = before.max(after).max(1) as u32;
        let middle_x = if before > 0 { COLUMN } else { 0 };
        let middle_y = (rows - 1) * ROW / 2;
        let mut graph = Graph::default();
        for (is_before, x, n) in [(true, 0, before), (false, middle_x + COLUMN, after)] {
            // The shorter side stands in the middle of the longer.
            let top = (rows - n as u32) * ROW / 2;
            for (row, neighbour) in side(is_before).take(n).enumerate() {
                let y = top + row as u32 * ROW;
                graph.nodes.push(Node::of(neighbour, x, y));
                let (from, to) = match is_before {
                    true => ((x + BOX_WIDTH, y), (middle_x, middle_y)),
                    false => ((middle_x + BOX_WIDTH, middle_y), (x, y)),
                };
                let is_family = neighbour.role.is_family();
                graph.edges.push(Edge { path: path(from, to), is_family });
            }
        }
        graph.nodes.push(Node {
            x: middle_x,
            y: middle_y,
            label: shortened(job.jid()),
            jid: job.jid().to_owned(),
            link: link::job(job.jid()),
            status: job.status().as_str(),
            role: "this job",
            is_self: true,
        });
        graph.width = middle_x + BOX_WIDTH + if after > 0 { COLUMN } else { 0 };
        graph.height = rows * ROW - (ROW - BOX_HEIGHT);
        let shown = before + after;
        let hidden = left_out + (neighbours.len() - shown) as u64;
        if hidden > 0 {
            graph.note = format!("{} not shown", format::counted(hidden, "more job"));
        }
        graph
    }
}

impl Node {
    fn of(neighbour: &Neighbour, x: u32, y: u32) -> Node {
        Node {
            x,
            y,
            label: shortened(&neighbour.jid),
            jid: neighbour.jid.clone(),
            link: link::job(&neighbour.jid),
            status: neighbour.status.unwrap_or("gone"),
            role: neighbour.role.word(),
            is_self: false,
        }
    }
}

fn path(from: (u32, u32), to: (u32, u32)) -> String {
    let (y1, y2) = (from.1 + BOX_HEIGHT / 2, to.1 + BOX_HEIGHT / 2);
    let middle = (from.0 + to.0) / 2;
    format!("M{},{y1} C{middle},{y1} {middle},{y2} {},{y2}", from.0, to.0)
}

/// An id without its middle, if it is long.
pub(super) fn shortened(id: &str) -> String {
    let letters: Vec<char> = id.chars().collect();
    if letters.len() <= LETTERS_MAX {
        return id.to_owned();
    }
    let half = (LETTERS_MAX - 1) / 2;
    let (first, last) = (&letters[..half], &letters[letters.len() - half..]);
    first.iter().chain(&['…']).chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn job() -> Job {
        let store = keyrack_store::Store::open("embedded:memory").await.expect("a store");
        let hive = keyrack_jobs::bee::Hive::open(store).await.expect("a hive");
        let job = keyrack_jobs::bee::Submission::new("emails").expect("a queue");
        let jid = hive.submit(job).await.expect("submitted");
        hive.job(&jid).await.expect("the job")
    }

    fn neighbours(n: usize, role: Role) -> Vec<Neighbour> {
        (0..n).map(|i| Neighbour { jid: format!("j{i}"), status: None, role }).collect()
    }

    #[tokio::test]
    async fn job_alone_has_no_picture() {
        assert_eq!(Graph::of(&job().await, &[], 0), Graph::default());
    }

    #[tokio::test]
    async fn neighbours_stand_on_their_sides_inside_the_picture() {
        let mut around = neighbours(3, Role::Dependency);
        around.extend(neighbours(1, Role::Child));
        let graph = Graph::of(&job().await, &around, 0);
        assert_eq!((graph.nodes.len(), graph.edges.len()), (5, 4));
        for node in &graph.nodes {
            assert!(node.x + BOX_WIDTH <= graph.width && node.y + BOX_HEIGHT <= graph.height);
        }
        let places =
            graph.nodes.iter().map(|node| node.x).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(places.len(), 3);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_counted() {
        let graph = Graph::of(&job().await, &neighbours(20, Role::Dependant), 5);
        assert_eq!(graph.nodes.len(), SIDE_MAX + 1);
        assert_eq!(graph.note, "13 more jobs not shown");
    }

    #[test]
    fn long_ids_lose_their_middle() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&"ü".repeat(40));
        assert_eq!(long.chars().count(), 21);
    }
}
