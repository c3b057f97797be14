//! Finding the names of keys on a page, and the words that belong to each.

use super::table::Table;

/// A key or channel that a page lists.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The name as the page writes it.
    pub(super) name: String,
    pub(super) is_channel: bool,
    /// The words behind the name and below it.
    pub(super) lines: Vec<String>,
    /// Named fields below it, and the words about each.
    pub(super) fields: Vec<(String, String)>,
}

impl Entry {
    fn new(name: &str, is_channel: bool, rest: &str) -> Self {
        let rest = rest.trim().trim_start_matches([':', '-', '–', '—']).trim();
        let lines = if rest.is_empty() { Vec::new() } else { vec![rest.to_owned()] };
        Self { name: name.trim().to_owned(), is_channel, lines, fields: Vec::new() }
    }

    pub(super) fn prose(&self) -> String {
        self.lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// Every key and channel on a page, once.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let mut reader = PageReader::default();
    let mut lines = text.lines().peekable();
    let mut before = String::new();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.trim_start().strip_prefix("```") {
            let mut block: Vec<&str> = Vec::new();
            for inner in lines.by_ref() {
                if inner.trim_start().starts_with("```") {
                    break;
                }
                block.push(inner.trim());
            }
            reader.fenced(&before, rest.trim(), &block);
            continue;
        }
        reader.line(line);
        if !line.trim().is_empty() {
            before = line.trim().to_owned();
        }
    }
    let mut found: Vec<Entry> = Vec::new();
    for entry in reader.found {
        let same =
            |other: &&mut Entry| other.name == entry.name && other.is_channel == entry.is_channel;
        match found.iter_mut().find(same) {
            Some(first) => first.lines.extend(entry.lines),
            None => found.push(entry),
        }
    }
    found
}

/// Types by the beginning of names, where a page has such a list.
pub(super) fn legend(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| {
        let (prefix, rest) = line.trim().strip_prefix('`')?.split_once('`')?;
        let kind = rest.trim().strip_prefix('-')?.trim().to_lowercase();
        let known = ["set", "sorted set", "string", "hash", "list", "stream", "pubsub channel"];
        known.contains(&kind.as_str()).then(|| (format!("{prefix}:"), kind))
    });
    lines.collect()
}

#[derive(Default)]
struct PageReader {
    found: Vec<Entry>,
    table: Table,
    /// Whether the section is about channels.
    is_channel: bool,
    /// Whether further lines belong to the last entry.
    open: bool,
    /// How far the last entry's bullet is indented.
    indent: usize,
}

impl PageReader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(row) = self.table.row(trimmed) {
            self.row(&row);
        } else if let Some(heading) = trimmed.strip_prefix('#') {
            self.heading(heading);
        } else if let Some(assigned) = assignment(trimmed, &["redis_key", "key", "channel"]) {
            let name = assigned.trim().trim_matches(['`', '"', '\'']);
            self.start(name, "", indent);
        } else if let Some((label, rest)) = labelled(trimmed) {
            self.labelled(label, rest, indent);
        } else if let Some((name, rest, is_channel)) = introduced(trimmed) {
            let in_section = std::mem::replace(&mut self.is_channel, is_channel);
            self.start(name, rest, indent);
            self.is_channel = in_section;
        } else if let Some(item) = bullet(trimmed) {
            self.item(item, indent);
        } else if self.open
            && !trimmed.is_empty()
            && let Some(last) = self.found.last_mut()
        {
            last.lines.push(trimmed.to_owned());
        }
    }

    fn heading(&mut self, heading: &str) {
        let heading = heading.trim_start_matches('#').trim();
        if !heading.chars().any(char::is_alphabetic) {
            self.open = false;
            return;
        }
        let says = ["pubsub", "pub/sub", "pub sub", "channel"];
        let words = heading.to_lowercase();
        self.is_channel = says.iter().any(|word| words.contains(word));
        // A heading may itself name a key.
        self.open = false;
        let bare = (!heading.contains(char::is_whitespace)).then_some((heading, ""));
        if let Some((name, rest)) =
            code(heading).or(bare).filter(|(name, _)| looks_like_a_key(name))
        {
            self.start(name, rest, 0);
        }
    }

    /// A row of a table: a key, and what the other columns say of it. Or a field of the key above.
    fn row(&mut self, row: &[(String, String)]) {
        let Some((at, name)) = row.iter().enumerate().find_map(|(at, (label, cell))| {
            let marked = code(cell).map(|(name, _)| name);
            let titles = ["key", "pattern", "template", "channel"];
            let is_titled = label == "name" || titles.iter().any(|word| label.contains(word));
            let name =
                marked.filter(|_| cell.starts_with('`') && (is_titled || label.contains("field")));
            let plain = cell.trim_matches('`');
            let named = (!plain.contains(' ') && looks_like_a_key(plain)).then_some(plain);
            Some((at, name.or(named)?.to_owned()))
        }) else {
            return;
        };
        let others = row.iter().enumerate().filter(|(other, _)| *other != at);
        let said: Vec<String> = others
            .filter(|(_, (_, cell))| !cell.is_empty())
            .map(|(_, (label, cell))| format!("{label}: {cell}"))
            .collect();
        if row[at].0.contains("field") || self.lists_fields() {
            if let Some(last) = self.found.last_mut().filter(|_| self.open) {
                last.fields.push((name, said.join(" ")));
            }
            return;
        }
        self.start(&name, "", 0);
        if let Some(entry) = self.found.last_mut() {
            entry.is_channel |= row[at].0.contains("channel");
            entry.lines.extend(said);
        }
    }

    /// `Name: …`, `Score: …`, `Value: …`.
    fn labelled(&mut self, label: &str, rest: &str, indent: usize) {
        match label {
            "name" | "key" | "channel" => {
                if let Some((name, rest)) = code(rest) {
                    self.start(name, rest, indent);
                }
            }
            "fields" => {
                // Bullets below it are fields, however they are indented.
                self.indent = 0;
                if let Some(last) = self.found.last_mut() {
                    last.lines.push("hash with fields".to_owned());
                    self.open = true;
                }
            }
            _ => {
                if let Some(last) = self.found.last_mut().filter(|_| self.open) {
                    last.lines.push(format!("{label}: {rest}"));
                }
            }
        }
    }

    /// Does the last key say that its fields follow?
    fn lists_fields(&self) -> bool {
        self.found.last().is_some_and(|last| {
            self.open && last.lines.iter().any(|line| line == "hash with fields")
        })
    }

    /// A bullet: a key of its own, or a field of the key above.
    fn item(&mut self, item: &str, indent: usize) {
        let lists_fields = self.lists_fields();
        match code(item).filter(|_| item.starts_with('`')) {
            Some((name, rest)) if self.open && (indent > self.indent || lists_fields) => {
                let name = name.split(['(', ' ']).next().unwrap_or(name).to_owned();
                let rest = rest.trim().trim_start_matches([':', '-']).trim().to_owned();
                let words = format!("{} {rest}", code(item).map_or("", |(name, _)| name));
                if let Some(last) = self.found.last_mut() {
                    last.fields.push((name, words));
                }
            }
            Some((name, rest)) if !name.contains(' ') => self.start(name, rest, indent),
            _ => {
                // Keys are also listed without marks.
                let (name, rest) = item.split_once([' ', '\t']).unwrap_or((item, ""));
                let name = name.trim_end_matches(':');
                if indent <= self.indent.max(1) && looks_like_a_key(name) {
                    self.start(name, rest, indent);
                } else if let Some(last) = self.found.last_mut().filter(|_| self.open) {
                    last.lines.push(item.to_owned());
                }
            }
        }
    }

    fn start(&mut self, name: &str, rest: &str, indent: usize) {
        if name.is_empty() {
            return;
        }
        self.found.push(Entry::new(name, self.is_channel, rest));
        self.open = true;
        self.indent = indent;
    }

    /// A block of its own: names, one on each line, unless the line before says that they are examples.
    fn fenced(&mut self, before: &str, language: &str, block: &[&str]) {
        let before = before.to_lowercase();
        let example =
            ["content", "example", "i.e", "e.g", "the key", "would", "such as", "for instance"];
        // A placeholder in capitals makes it a template, whatever stands before it.
        let shouted = |line: &&str| {
            line.split(':').any(|word| {
                word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            })
        };
        let is_example =
            !block.iter().any(shouted) && example.iter().any(|word| before.contains(word));
        if !language.is_empty() || is_example {
            return;
        }
        let names: Vec<&str> = block.iter().copied().filter(|line| !line.is_empty()).collect();
        let all_names = names.iter().all(|line| {
            let name = line.split([' ', '\t']).next().unwrap_or_default();
            looks_like_a_key(name)
        });
        if names.is_empty() || !all_names {
            return;
        }
        for line in names {
            let (name, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
            self.start(name, rest.trim().trim_start_matches('#'), 0);
        }
    }
}

/// `redis_key = name`.
fn assignment<'l>(line: &'l str, names: &[&str]) -> Option<&'l str> {
    let (name, value) = line.split_once('=')?;
    names.contains(&name.trim()).then_some(value)
}

/// `Name: rest`, where the label is one plain word.
fn labelled(line: &str) -> Option<(&'static str, &str)> {
    let (label, rest) = line.split_once(':')?;
    let known = ["name", "key", "channel", "fields", "score", "value", "type", "ttl", "members"];
    let label = label.trim_matches(['*', '_', ' ']).to_lowercase();
    known.iter().find(|word| **word == label).map(|word| (*word, rest.trim()))
}

/// ``Channel `name` …`` or ``Key `name` …``, and whether it is a channel.
fn introduced(line: &str) -> Option<(&str, &str, bool)> {
    let (word, _) = line.split_once(" `")?;
    let is_channel = match word.to_lowercase().as_str() {
        "channel" => true,
        "key" => false,
        _ => return None,
    };
    let (name, rest) = code(line).filter(|(name, _)| looks_like_a_key(name))?;
    Some((name, rest, is_channel))
}

/// What follows `-`, `*`, `+`, `1.` or `1)`.
fn bullet(line: &str) -> Option<&str> {
    let after_number = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = [". ", ") "].iter().find_map(|mark| after_number.strip_prefix(mark));
    let marked = ["- ", "* ", "+ ", "-\t"].iter().find_map(|mark| line.strip_prefix(mark));
    marked.or(numbered.filter(|_| after_number.len() < line.len())).map(str::trim)
}

/// The first inline code of a text, and what follows it.
fn code(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('`')?;
    rest.split_once('`')
}

/// Has it separators or placeholders, as names of keys have?
fn looks_like_a_key(name: &str) -> bool {
    let separated = name.contains(':') && !name.ends_with(':') && !name.contains("://");
    let marked =
        (name.contains('{') && name.contains('}')) || (name.contains('<') && name.contains('>'));
    (separated || marked) && !name.contains(['(', ')', '"', '=', ','])
}
