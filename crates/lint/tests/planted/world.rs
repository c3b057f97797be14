//! A world of twenty families in which violations of every rule are planted, for a test and for the benchmark.

/// The declarations.
pub(super) const FILE: &str = include_str!("planted.keys.toml");

/// Keys that are as declared, in each row.
pub(super) const FAMILIES: u32 = 20;

/// Where the world is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A server with numbered databases.
    Server,
    /// A cluster, where names have hash tags and there is one database.
    Cluster,
}

/// A command: the database it goes to, and its words.
pub(super) type Line = (u8, Vec<String>);

impl Place {
    fn name(self, family: &str, n: u32) -> String {
        match self {
            Self::Server => format!("{family}:{n}"),
            Self::Cluster => format!("{family}:{{{n}}}"),
        }
    }

    /// The codes of the rules that can be broken here.
    pub(super) fn rules(self) -> impl Iterator<Item = u32> {
        (1..=20).filter(move |rule| self == Self::Server || *rule != WRONG_DATABASE)
    }
}

/// A cluster has one database.
const WRONG_DATABASE: u32 = 14;

fn line(words: &[&str]) -> Line {
    (0, words.iter().map(|&word| word.to_owned()).collect())
}

/// One key of each of the twenty families, as declared.
pub(super) fn row(place: Place, n: u32) -> Vec<Line> {
    let name = |family| place.name(family, n);
    let id = n.to_string();
    let order = name("order");
    let mut lines = vec![
        line(&["HSET", &order, "user", &id, "total", "9.50", "status", "paid"]),
        line(&["SET", &name("session"), r#"{"user":7,"roles":["a"]}"#, "EX", "3000"]),
        line(&["SET", &name("page"), "some text"]),
        line(&["SET", &name("counter"), &id]),
        line(&["SET", &name("flag"), "true"]),
        line(&["SADD", &name("tags"), "1", "2", "3"]),
        line(&["SADD", &name("basket"), &id]),
        line(&["ZADD", &name("ranks"), "1667950000123", &id]),
        line(&["ZADD", &name("recent"), "50", "a", "100", "b"]),
        line(&["RPUSH", &name("queue"), "1", "2"]),
        line(&["RPUSH", &name("log"), r#"{"a":1}"#]),
        line(&["HSET", &name("settings"), "dark", "true"]),
        line(&["HSET", &name("prices"), "7", "1.25"]),
        line(&["XADD", &name("events"), "*", "kind", "paid"]),
        line(&["SETBIT", &name("bits"), "7", "1"]),
        line(&["PFADD", &name("visits"), "a"]),
        line(&["HSET", &name("job"), "status", "waiting", "name", "x"]),
        line(&["ZADD", &name("waiting"), "1", &id]),
        line(&["SET", &name("cache"), "bytes", "EX", "3000"]),
        line(&["SET", &name("link"), &order, "EX", "80000"]),
    ];
    for family in ["order", "basket", "recent", "log", "prices", "events", "visits"] {
        lines.push(line(&["EXPIRE", &name(family), "80000"]));
    }
    lines
}

/// What breaks the rule of this number, and no other, once.
pub(super) fn violation(place: Place, rule: u32, i: u32) -> Vec<Line> {
    let n = rule * 10_000_000 + i;
    let name = |family| place.name(family, n);
    let id = n.to_string();
    let expire = |family| line(&["EXPIRE", &name(family), "3000"]);
    let job = |status| line(&["HSET", &name("job"), "status", status, "name", "x"]);
    match rule {
        1 => vec![line(&["SET", &format!("stray:{n}"), "1"])],
        2 => vec![line(&["RPUSH", &name("counter"), "1"])],
        3 => vec![line(&["SET", &name("session"), r#"{"user":7,"roles":[]}"#])],
        4 => vec![line(&["SET", &name("counter"), "1", "EX", "3000"])],
        5 => vec![line(&["SET", &name("session"), r#"{"user":7,"roles":[]}"#, "EX", "7200"])],
        6 => {
            let words = ["user", "7", "total", "1", "status", "open", "more", "x"];
            vec![line(&[&["HSET", &name("order")], &words[..]].concat()), expire("order")]
        }
        7 => vec![line(&["HSET", &name("order"), "user", "7", "status", "open"]), expire("order")],
        8 => vec![line(&["SET", &name("counter"), "many"])],
        9 => vec![line(&["SADD", &name("tags"), "1", "two"])],
        10 => vec![line(&["ZADD", &name("recent"), "101", "a"]), expire("recent")],
        11 => vec![line(&["RPUSH", &name("queue"), "1", "two"])],
        12 => vec![line(&["SADD", &name("basket"), &id]), expire("basket")],
        13 => {
            // The name of the other kind of place.
            let other = if place == Place::Server { Place::Cluster } else { Place::Server };
            vec![line(&["SET", &other.name("counter", n), "1"])]
        }
        14 => vec![(1, line(&["SET", &name("counter"), "1"]).1)],
        15 => vec![line(&["SET", &name("old"), "x"])],
        16 => vec![line(&["SETRANGE", &name("session"), "1048577", "x"]), expire("session")],
        17 => vec![job("waiting")],
        18 => vec![job("done")],
        19 => vec![job("done"), expire("job"), line(&["ZADD", &name("waiting"), "1", &id])],
        20 => {
            let members: Vec<String> = (0..11).map(|n| n.to_string()).collect();
            let mut words = vec!["SADD".to_owned(), name("tags")];
            words.extend(members);
            vec![(0, words)]
        }
        _ => Vec::new(),
    }
}
