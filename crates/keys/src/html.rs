//! The reference as one HTML page that needs no other file.

use std::fmt::Write as _;

use crate::describe::line;
use crate::family::Family;
use crate::key::Layout;
use crate::registry::Registry;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#8884;--dim:#777}\
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%;margin:.5rem 0}\
th,td{text-align:left;vertical-align:top;border-bottom:1px solid var(--line);padding:.25rem .75rem .25rem 0}\
code{font:.92em ui-monospace,monospace;overflow-wrap:anywhere}\
section{margin:2.5rem 0}h2{border-bottom:1px solid var(--line)}h3 code{font-size:1em}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{color:var(--dim)}dd{margin:0}\
.tag{color:var(--dim);font-size:.85em}";

/// The page.
pub fn html(title: &str, about: &str, registry: &Registry) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Keys of {0}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Keys of {0}</h1>\n",
        escaped(title)
    );
    for paragraph in about.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let _ = writeln!(page, "<p>{}</p>", marked(&line(paragraph)));
    }
    page.push_str("<table>\n<tr><th>key or channel<th>type<th>expires<th>owner</tr>\n");
    for family in registry.all() {
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{}\"><code>{}</code></a><td>{}<td>{}<td>{}</tr>",
            escaped(&family.id()),
            escaped(family.template),
            family.content.noun(),
            expires(family),
            escaped(owner(family)),
        );
    }
    page.push_str("</table>\n");
    for family in registry.all() {
        section(&mut page, family);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn section(page: &mut String, family: &Family) {
    let id = escaped(&family.id());
    let _ = writeln!(
        page,
        "<section id=\"{id}\">\n<h3><code>{}</code> <span class=\"tag\">{id}</span></h3>",
        escaped(family.template)
    );
    for paragraph in family.text().split("\n\n").filter(|text| !text.is_empty()) {
        let _ = writeln!(page, "<p>{}</p>", marked(paragraph));
    }
    page.push_str("<dl>\n");
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(page, "<dt>{name}<dd>{}", marked(value));
        }
    };
    fact("Type", family.content.noun());
    for slot in family.parts.iter().chain(family.outside) {
        let words = format!("{} ({})", line(slot.kind.prose), slot.kind.shape);
        fact(&format!("<code>&lt;{}&gt;</code>", escaped(slot.name)), words.trim());
    }
    fact("Expires", &expires(family));
    fact("Removed", family.removed);
    fact("Written by", &family.writers.join(", "));
    fact("Read by", &family.readers.join(", "));
    fact("At most", &family.items_max.map(|max| format!("{max} items")).unwrap_or_default());
    fact("Owner", owner(family));
    if !family.example.is_empty() {
        fact("Example", &format!("`{}`", family.example));
    }
    if family.tagged() {
        fact("On a cluster", &format!("`{}`", family.template_in(Layout::Cluster)));
    }
    page.push_str("</dl>\n<table>\n<tr><th>what<th>written as<th>meaning</tr>\n");
    for row in family.content.rows() {
        let mut notes = String::new();
        for (is, note) in [(row.optional, "optional"), (row.secret, "secret")] {
            if is {
                let _ = write!(notes, " <span class=\"tag\">{note}</span>");
            }
        }
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code><td>{}{notes}<td>{}</tr>",
            escaped(row.name),
            marked(&row.encoding),
            marked(&row.prose)
        );
    }
    page.push_str("</table>\n</section>\n");
}

fn expires(family: &Family) -> String {
    if family.is_channel() { String::new() } else { family.ttl.to_string() }
}

fn owner(family: &Family) -> &str {
    if family.team.is_empty() { family.owner_crate() } else { family.team }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Text whose inline code is shown as such.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for (i, piece) in text.split('`').enumerate() {
        let piece = escaped(piece);
        match i % 2 {
            0 => out.push_str(&piece),
            _ => {
                let _ = write!(out, "<code>{piece}</code>");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_file_cannot_become_markup() {
        assert_eq!(
            marked("a <b> `c<d>` \"e\""),
            "a &lt;b&gt; <code>c&lt;d&gt;</code> &quot;e&quot;"
        );
    }
}
