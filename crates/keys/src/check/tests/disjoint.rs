//! The proof and the lint agree: what the check calls disjoint shares no key, and what it shows as shared is shared.

use proptest::prelude::*;
use proptest::strategy::BoxedStrategy;
use proptest::string::string_regex;

use super::families;
use crate::overlap::Overlap;
use crate::registry::overlap_of;
use crate::{Family, Layout, Registry};

/// A way to declare a part, and texts that it allows.
#[derive(Clone, Copy, Debug)]
struct PartCase {
    declared: &'static str,
    texts: &'static str,
}

const PARTS: [PartCase; 14] = [
    PartCase { declared: r#""text""#, texts: "[a-z0-9 %{}*é._-]{1,6}" },
    PartCase { declared: r#""integer""#, texts: "0|[1-9][0-9]{0,5}" },
    PartCase { declared: r#"{ type = "integer", min = 3, max = 12 }"#, texts: "[3-9]|1[0-2]" },
    PartCase {
        declared: r#"{ type = "integer", min = 1000, max = 4500 }"#,
        texts: "[1-3][0-9]{3}|4[0-4][0-9]{2}|4500",
    },
    PartCase {
        declared: r#""uuid""#,
        texts: "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    },
    PartCase { declared: r#""ulid""#, texts: "[0-7][0-9A-HJKMNP-TV-Z]{25}" },
    PartCase { declared: r#""date""#, texts: "20[0-9]{2}-0[1-9]-(0[1-9]|1[0-9]|2[0-8])" },
    PartCase { declared: r#"{ type = "enum", words = ["all", "a-b", "7"] }"#, texts: "all|a-b|7" },
    PartCase {
        declared: r#"{ type = "pattern", pattern = "[a-c]{2}(-[0-9]+)?" }"#,
        texts: "[a-c]{2}(-[0-9]{1,3})?",
    },
    PartCase { declared: r#"{ type = "text", escape = "percent" }"#, texts: "[a-z0-9:%{}é]{1,6}" },
    PartCase {
        declared: r#"{ type = "text", except = ["all", "7"] }"#,
        texts: "[b-z][a-z0-9-]{0,4}",
    },
    PartCase { declared: r#"{ type = "text", max_bytes = 3 }"#, texts: "[a-z0-9{}]{1,3}" },
    PartCase {
        declared: r#"{ type = "colons", fields = 2 }"#,
        texts: "[a-z]{1,3}(:[a-z0-9]{1,3}){1,2}",
    },
    PartCase { declared: r#""rest""#, texts: "[a-z0-9:%{}é -]{1,9}" },
];

impl PartCase {
    fn is_rest(self) -> bool {
        self.declared.contains("rest")
    }

    fn holds_colons(self) -> bool {
        self.is_rest() || self.declared.contains("colons")
    }
}

/// A family, and texts for its parts.
#[derive(Clone, Debug)]
struct Declared {
    template: String,
    parts: Vec<PartCase>,
    /// Is the first part the hash tag on a cluster?
    is_tagged: bool,
    texts: Vec<Vec<String>>,
}

/// Fixed text that is often shared, and one or two parts.
fn declared() -> impl Strategy<Value = Declared> {
    let first = prop::sample::select(vec!["", "a:", "a:b:", "all-", "{a}:"]);
    let parts = prop::collection::vec(prop::sample::select(PARTS.to_vec()), 1..3);
    let last = prop::sample::select(vec!["", ":x", "-7", ":all"]);
    (first, parts, last, any::<bool>()).prop_flat_map(|(first, mut parts, last, tag)| {
        // The rest of a key is its end, and one part at most holds colons.
        if parts[0].is_rest() || parts.iter().all(|part| part.holds_colons()) {
            parts.truncate(1);
        }
        let last = if parts.last().is_some_and(|part| part.is_rest()) { "" } else { last };
        let names: Vec<String> = (0..parts.len()).map(|i| format!("<p{i}>")).collect();
        let template = format!("{first}{}{last}", names.join(":"));
        let is_tagged = tag && !first.contains('{') && !parts[0].holds_colons();
        let texts: Vec<BoxedStrategy<String>> =
            parts.iter().map(|part| string_regex(part.texts).expect("a pattern").boxed()).collect();
        prop::collection::vec(texts, 8).prop_map(move |texts| Declared {
            template: template.clone(),
            parts: parts.clone(),
            is_tagged,
            texts,
        })
    })
}

/// The two as a keys file.
fn file(pair: [&Declared; 2]) -> String {
    let (mut parts, mut keys) = (String::new(), String::new());
    for (name, declared) in ["a", "b"].into_iter().zip(pair) {
        let mut used = Vec::new();
        for (i, part) in declared.parts.iter().enumerate() {
            parts += &format!("{name}{i} = {}\n", part.declared);
            used.push(format!("p{i} = \"{name}{i}\""));
        }
        let (template, used) = (&declared.template, used.join(", "));
        keys += &format!("[keys.{name}]\ntemplate = \"{template}\"\ntype = \"string\"\n");
        keys += &format!("parts = {{ {used} }}\n");
        if declared.is_tagged {
            keys += "cluster = { part = \"p0\" }\n";
        }
    }
    format!("[document]\nname = \"x\"\n[parts]\n{parts}{keys}")
}

/// Does the lint take this key for one of that family, where there is no other?
fn has(family: &'static Family, key: &str) -> bool {
    Registry::new(&[&[family]]).family_of(key.as_bytes()).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_key_matches_two_families_that_are_called_disjoint(a in declared(), b in declared()) {
        let text = file([&a, &b]);
        let families = families(&text);
        let overlap = overlap_of(families[0], families[1]);
        if let Some(Overlap::Key(key)) = &overlap {
            for family in &families {
                prop_assert!(has(family, key), "{key} is no {}\n{text}", family.template);
            }
        }
        for (own, other, declared) in [(families[0], families[1], &a), (families[1], families[0], &b)] {
            for texts in &declared.texts {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                for layout in [Layout::Documented, Layout::Cluster] {
                    let Ok(key) = own.render(layout, None, &texts) else { continue };
                    prop_assert!(has(own, &key), "{key} is no {}\n{text}", own.template);
                    let is_shared = has(other, &key);
                    prop_assert!(!is_shared || overlap.is_some(), "{key} is in both\n{text}");
                }
            }
        }
    }
}
