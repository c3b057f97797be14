//! `docs/keys.md` says what the declarations say.

use keyrack_contract::registry;
use keyrack_keys::Layout;

#[test]
fn reference_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keys.md");
    let committed = std::fs::read_to_string(path).expect("docs/keys.md is readable");
    let stale = committed != keyrack_keys::docs(registry());
    assert!(!stale, "docs/keys.md is stale; run \"cargo xtask docs\"");
}

#[test]
fn reference_page_shows_every_family_in_both_layouts() {
    let page = keyrack_keys::docs(registry());
    for family in registry().all() {
        assert!(page.contains(&format!("### `{}`", family.template)), "{}", family.template);
        assert!(page.contains(&format!("- Example: `{}`", family.example)), "{}", family.template);
        let cluster = family.template_in(Layout::Cluster);
        assert!(page.contains(&format!("- On a cluster: `{cluster}`")), "{}", family.template);
    }
}

#[test]
fn explanation_names_family_parts_type_and_fields() {
    let text = registry().explain(b"trace:{alice}:import:42:step:3").unwrap().to_string();
    for expected in [
        "trace:alice:import:42:step:3\n",
        "family      progress.step\n",
        "template    trace:<user_sub>:<bar>:<trace_uid>:step:<position>\n",
        "type        hash\n",
        "expires     always, within 86400 s\n",
        "on cluster  trace:{alice}:import:42:step:3\n",
        "  user_sub   alice   The subject",
        "  finished_at  unix time in seconds (optional): When it finished.",
    ] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
}
