use super::*;
use crate::file::{Source, read};

const SHOP: &str = include_str!("../../tests/shop.keys.toml");
const ALL: [Language; 4] = [Language::Rust, Language::TypeScript, Language::Python, Language::Go];

fn families(text: &str) -> Vec<&'static Family> {
    let documents = read(&[Source { name: "shop.keys.toml", text }])
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    documents.into_iter().flat_map(|document| document.families).collect()
}

fn code(language: Language, families: &[&'static Family], layout: Layout) -> String {
    let files = generate(language, "shop", families, layout);
    files.into_iter().map(|file| file.text).collect()
}

#[test]
fn order_of_declarations_and_runs_do_not_change_the_code() {
    let families = families(SHOP);
    let mut reversed = families.clone();
    reversed.reverse();
    for language in ALL {
        let once = code(language, &families, Layout::Documented);
        assert_eq!(once, code(language, &families, Layout::Documented), "{language:?}");
        assert_eq!(once, code(language, &reversed, Layout::Documented), "{language:?}");
    }
}

#[test]
fn cluster_code_has_the_hash_tags() {
    let families = families(SHOP);
    for language in ALL {
        let documented = code(language, &families, Layout::Documented);
        let cluster = code(language, &families, Layout::Cluster);
        assert!(!documented.contains("session:{<"), "{language:?}");
        assert!(cluster.contains("session:{<user>}"), "{language:?}");
    }
}
