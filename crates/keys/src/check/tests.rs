use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use crate::Registry;
use crate::file::{Source, read};

fn families(text: &str) -> Vec<&'static Family> {
    let source = Source { name: "x.keys.toml", text };
    let documents = read(&[source]).unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    documents.into_iter().flat_map(|document| document.families).collect()
}

const HEAD: &str = "[document]\nname = \"x\"\nowner = \"us\"\n[parts]\nid = \"integer\"\ntext = \"text\"\nname = \"text\"\n";

fn found(keys: &str) -> Vec<String> {
    let findings = check(&families(&format!("{HEAD}{keys}")));
    let told = findings.iter().filter(|finding| finding.rule != CheckRule::NoExample);
    told.map(|finding| format!("{} {}: {}", finding.rule, finding.family, finding.detail)).collect()
}

#[test]
fn overlap_comes_with_a_key_that_both_match() {
    let keys = "[keys.a]\ntemplate = \"user:<id>\"\ntype = \"string\"\nttl = \"1d\"\n\
                [keys.b]\ntemplate = \"user:<text>\"\ntype = \"string\"\nttl = \"1d\"\n";
    assert_eq!(
        found(keys),
        [
            "KC01 x.a: \"user:0\" is a \"user:<id>\" and a \"user:<text>\" too; narrow a part, or except the word"
        ]
    );
}

#[test]
fn what_a_declaration_leaves_open_is_told() {
    let keys = "[keys.a]\ntemplate = \"a\"\ntype = \"set\"\n\
                [keys.b]\ntemplate = \"b:<name>-<text>\"\ntype = \"string\"\nttl = \"never\"\n\
                [keys.c]\ntemplate = \"c:{<id>}\"\ntype = \"string\"\nttl = \"1d\"\nowner = \"\"\nvalue = { is = \"key\", to = \"a\" }\n";
    let codes: Vec<String> =
        found(keys).iter().map(|line| line.split(':').next().unwrap().to_owned()).collect();
    assert_eq!(codes, ["KC02 x.a", "KC03 x.a", "KC07 x.b", "KC04 x.b", "KC05 x.c", "KC06 x.c"]);
}

/// A declaration of one part, and texts that it allows.
fn part() -> impl Strategy<Value = (&'static str, &'static str)> {
    prop::sample::select(vec![
        ("\"text\"", "[a-z0-9 %{}*é._-]{1,6}"),
        ("\"integer\"", "0|[1-9][0-9]{0,5}"),
        ("{ type = \"integer\", min = 3, max = 12 }", "[3-9]|1[0-2]"),
        ("\"uuid\"", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
        ("\"ulid\"", "[0-7][0-9A-HJKMNP-TV-Z]{25}"),
        ("\"date\"", "20[0-9]{2}-0[1-9]-(0[1-9]|1[0-9]|2[0-8])"),
        ("{ type = \"enum\", words = [\"all\", \"a-b\", \"7\"] }", "all|a-b|7"),
        ("{ type = \"pattern\", pattern = \"[a-c]{2}(-[0-9]+)?\" }", "[a-c]{2}(-[0-9]{1,3})?"),
        ("{ type = \"text\", escape = \"percent\" }", "[a-z0-9:%{}é]{1,6}"),
        ("{ type = \"text\", except = [\"all\", \"7\"] }", "[b-z][a-z0-9-]{0,4}"),
        ("{ type = \"colons\", fields = 2 }", "[a-z]{1,3}(:[a-z0-9]{1,3}){1,2}"),
        ("\"rest\"", "[a-z0-9:%{}é -]{1,9}"),
    ])
}

prop_compose! {
    /// A template with fixed text that is often shared, and one or two parts.
    fn template()(
        first in prop::sample::select(vec!["", "a:", "a:b:", "all-", "{a}:"]),
        parts in prop::collection::vec(part(), 1..3),
        last in prop::sample::select(vec!["", ":x", "-7", ":all"]),
    ) -> (String, Vec<(&'static str, &'static str)>) {
        let parts = if parts.len() == 2 && (parts[0].0 == "\"rest\"" || parts.iter().filter(|part| part.0.contains("colons") || part.0 == "\"rest\"").count() > 1) { vec![parts[0]] } else { parts };
        let last = if parts.last().is_some_and(|part| part.0 == "\"rest\"") { "" } else { last };
        let names: Vec<String> = (0..parts.len()).map(|i| format!("<p{i}>")).collect();
        (format!("{first}{}{last}", names.join(":")), parts)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The proof and the parser agree: a key of a family matches no family that is called disjoint from it.
    #[test]
    fn no_key_matches_two_families_that_are_called_disjoint(
        (a, b) in (template(), template()),
        seeds in prop::collection::vec(any::<u64>(), 8),
    ) {
        let mut text = String::from("[document]\nname = \"x\"\n");
        for (key, (_, parts)) in [("a", &a), ("b", &b)] {
            for (i, (declaration, _)) in parts.iter().enumerate() {
                text += &format!("[parts]\n{key}{i} = {declaration}\n").replace("[parts]\n", if key == "a" && i == 0 { "[parts]\n" } else { "" });
            }
        }
        for (key, (template, parts)) in [("a", &a), ("b", &b)] {
            let names: Vec<String> = (0..parts.len()).map(|i| format!("p{i} = \"{key}{i}\"")).collect();
            text += &format!("[keys.{key}]\ntemplate = \"{template}\"\ntype = \"string\"\nparts = {{ {} }}\n", names.join(", "));
        }
        let families = families(&text);
        let registries = families.iter().map(|family| Registry::new(&[&[*family][..]])).collect::<Vec<_>>();
        let witness = overlap_witness(families[0], families[1]);
        for (i, (_, parts)) in [&a, &b].into_iter().enumerate() {
            for seed in &seeds {
                let texts: Vec<String> = parts.iter().enumerate().map(|(n, (_, pattern))| {
                    let strategy = proptest::string::string_regex(pattern).unwrap();
                    let rng_seed =
                            proptest::test_runner::RngSeed::Fixed(seed.wrapping_add(n as u64));
                        let config = ProptestConfig { rng_seed, ..ProptestConfig::default() };
                        let mut runner = proptest::test_runner::TestRunner::new(config);
                    strategy.new_tree(&mut runner).unwrap().current()
                }).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let Ok(key) = families[i].render(Layout::Documented, None, &texts) else { continue };
                prop_assert!(registries[i].family_of(key.as_bytes()).is_some(), "{key} is no {}", families[i].template);
                let other = registries[1 - i].family_of(key.as_bytes());
                prop_assert!(other.is_none() || witness.is_some(), "{key} fits both, and no witness was found\n{text}");
            }
        }
    }
}
