use super::*;
use crate::file::{Source, read};

fn families(keys: &str) -> Vec<&'static Family> {
    let head = "[document]\nname = \"x\"\n[parts]\nid = \"integer\"\ntext = \"text\"\n";
    let text = format!("{head}{keys}");
    let documents =
        read(&[Source { name: "x", text: &text }]).unwrap_or_else(|e| panic!("{}", e[0]));
    documents.into_iter().flat_map(|document| document.families).collect()
}

const USER: &str = "[keys.user]\ntemplate = \"user:<id>\"\ntype = \"hash\"\nttl = \"1d\"\nfields.name = \"text\"\nfields.age = \"integer\"\n";

fn told(before: &str, after: &str) -> (Vec<String>, Version) {
    let changes = diff(&families(before), &families(after));
    let lines = changes.iter().map(|change| format!("{:?} {}", change.breaks, change.what));
    (lines.collect(), version(&changes))
}

#[track_caller]
fn check(from: &str, to: &str, what: &str, next: Version) {
    let (lines, version) = told(USER, &USER.replace(from, to));
    assert_eq!((lines.join("; ").as_str(), version), (what, next));
}

#[test]
fn same_declarations_need_no_new_version() {
    assert_eq!(told(USER, USER), (Vec::new(), Version::Same));
}

#[test]
fn changes_say_whom_they_break() {
    check("fields.age = \"integer\"\n", "", "Readers field age removed", Version::Major);
    check(
        "fields.age",
        "fields.mail = \"text\"\nfields.age",
        "Writers field mail added",
        Version::Major,
    );
    check(
        "fields.age",
        "fields.mail = { is = \"text\", optional = true }\nfields.age",
        "Nobody field mail added, optional",
        Version::Minor,
    );
    check(
        "fields.age = \"integer\"",
        "fields.age = { is = \"integer\", min = 0 }",
        "Writers field age: integer became integer from 0",
        Version::Major,
    );
    check("user:<id>", "users:<id>", "Both name: user:<id> became users:<id>", Version::Major);
    check("<id>", "<text>", "Readers part <text>: number became text", Version::Major);
    check(
        "\"1d\"",
        "\"2d\"",
        "Nobody expires: always, within 86400 s became always, within 172800 s",
        Version::Minor,
    );
    check(
        "\"1d\"",
        "\"1h\"",
        "Both expires: always, within 86400 s became always, within 3600 s",
        Version::Major,
    );
    check("ttl =", "text = \"A user.\"\nttl =", "Nobody words changed", Version::Patch);
    check(
        "keys.user",
        "keys.person",
        "Nobody added: user:<id>; Nobody renamed to x.person",
        Version::Major,
    );
}

#[test]
fn removed_families_break_everybody() {
    let (lines, version) = told(USER, "");
    assert_eq!((lines, version), (vec!["Both removed: user:<id>".to_owned()], Version::Major));
}
