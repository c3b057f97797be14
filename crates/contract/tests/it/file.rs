//! Our own declarations as a keys file: one model with two notations.

use keyrack_contract::registry;
use keyrack_keys::Family;
use keyrack_keys::file::{Draft, Heading, Source, read, tidy, write_draft};

fn exported() -> String {
    let drafts: Vec<Draft> = registry().all().map(Draft::from).collect();
    let heading = Heading { name: "keyrack", team: "", version: "", prose: "" };
    write_draft(heading, &drafts)
}

/// Everything that a declaration says, with line breaks in prose taken as spaces.
fn told(family: &Family) -> String {
    let words = format!("{family:?}").replace("\\n", " ");
    words.split_whitespace().collect::<Vec<_>>().join(" ").replace("\" ", "\"").replace(" \"", "\"")
}

#[test]
fn declarations_survive_the_way_through_a_file() {
    let text = exported();
    let documents = read(&[Source { name: "keyrack.keys.toml", text: &text }])
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    let families = &documents[0].families;
    for (before, after) in registry()
        .all()
        .filter(|family| !family.is_channel())
        .chain(registry().channels())
        .zip(families)
    {
        assert_eq!(told(before), told(after));
        assert_eq!(before.text(), after.text());
        assert_eq!(keyrack_keys::docs_of(before), keyrack_keys::docs_of(after));
    }
    assert_eq!(registry().all().count(), families.len());
}

#[test]
fn exported_file_is_formatted() {
    let text = exported();
    assert_eq!(tidy("keyrack.keys.toml", &text).unwrap(), text);
}
