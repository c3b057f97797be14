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
    check(
        "<id>",
        "<text>",
        "Nobody part <id> renamed to <text>; Readers part <text>: number became text",
        Version::Major,
    );
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

/// The changes of one text within declarations that have all that the file format knows.
#[track_caller]
fn check_all(from: &str, to: &str, what: &str, next: Version) {
    const ALL: &str = "[document]\nname = \"x\"\n\
        [parts]\nid = { type = \"text\", max_bytes = 100, without = \":/\", except = [\"all\"] }\npage = \"rest\"\n\
        [keys.a]\ntemplate = \"a:<id>\"\ntype = \"hash\"\nttl = \"1d\"\n\
        fields.j = { is = \"json\", schema = { id = \"string\", \"n?\" = \"number | null\" } }\n\
        [keys.p]\ntemplate = \"p:<page>\"\ntype = \"string\"\nttl = \"1d\"\n\
        [channels.n]\ntemplate = \"n\"\nmessage = \"integer\"\n";
    assert!(ALL.contains(from), "{from}");
    let families = |text: &str| -> Vec<&'static Family> {
        let documents =
            read(&[Source { name: "x", text }]).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
        documents.into_iter().flat_map(|document| document.families).collect()
    };
    let changes = diff(&families(ALL), &families(&ALL.replace(from, to)));
    let lines: Vec<String> =
        changes.iter().map(|change| format!("{:?} {}", change.breaks, change.what)).collect();
    assert_eq!((lines.join("; ").as_str(), version(&changes)), (what, next), "{from}");
}

#[test]
fn narrower_parts_break_writers_and_wider_ones_readers() {
    let id = "<id>";
    for (from, to, breaks, what) in [
        ("max_bytes = 100", "max_bytes = 50", "Writers", "max_bytes: 100 became 50"),
        ("max_bytes = 100", "max_bytes = 200", "Readers", "max_bytes: 100 became 200"),
        ("\":/\"", "\":\"", "Readers", "without \":/\" became without \":\""),
        ("\":/\"", "\":/.\"", "Writers", "without \":/\" became without \":/.\""),
        ("\":/\"", "\":.\"", "Both", "without \":/\" became without \":.\""),
        (
            "[\"all\"]",
            "[\"all\", \"me\"]",
            "Writers",
            "text, not `all` became text, not `all`, `me`",
        ),
        ("[\"all\"]", "[]", "Readers", "text, not `all` became text"),
    ] {
        check_all(from, to, &format!("{breaks} part {id}: {what}"), Version::Major);
    }
    let became = "Writers part <page>: the rest of the key became text";
    check_all(
        "page = \"rest\"",
        "page = { type = \"text\", without = \":\" }",
        became,
        Version::Major,
    );
}

#[test]
fn a_renamed_part_needs_new_code_and_no_new_keys() {
    let text = "page = \"rest\"\n";
    check_all(
        "<page>\"",
        "<path>\"\nparts = { path = \"page\" }",
        "Nobody part <page> renamed to <path>",
        Version::Major,
    );
    check_all(text, text, "", Version::Same);
}

#[test]
fn other_fields_and_secrets_are_changes() {
    let hash = "type = \"hash\"\n";
    check_all(
        hash,
        "type = \"hash\"\nother_fields = true\n",
        "Readers other fields became allowed",
        Version::Major,
    );
    check_all(hash, "type = \"hash\"\nsecret = true\n", "Nobody became secret", Version::Minor);
}

#[test]
fn members_of_json_break_like_fields() {
    let before = "JSON: {id: string, n?: number or null}";
    for (from, to, breaks, after, next) in [
        (
            "schema = {",
            "schema = { \"a?\" = \"any\",",
            "Nobody",
            "{a?: anything, id: string, n?: number or null}",
            Version::Minor,
        ),
        (
            "schema = {",
            "schema = { a = \"any\",",
            "Writers",
            "{a: anything, id: string, n?: number or null}",
            Version::Major,
        ),
        ("id = \"string\", ", "", "Readers", "{n?: number or null}", Version::Major),
        ("\"n?\"", "n", "Writers", "{id: string, n: number or null}", Version::Major),
        ("number | null", "number", "Writers", "{id: string, n?: number}", Version::Major),
        ("number | null", "string", "Both", "{id: string, n?: string}", Version::Major),
    ] {
        check_all(from, to, &format!("{breaks} field j: {before} became JSON: {after}"), next);
    }
}

#[test]
fn messages_are_not_migrated() {
    let changes = |message: &str| {
        families(&format!("[channels.n]\ntemplate = \"n\"\nmessage = \"{message}\"\n"))
    };
    let changes = diff(&changes("text"), &changes("integer"));
    assert_eq!(changes[0].migration, "readers take both forms first, then writers change");
}
