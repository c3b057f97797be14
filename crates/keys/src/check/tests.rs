mod disjoint;

use super::*;
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
