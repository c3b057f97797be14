use super::*;
use crate::{Content, Encoding, Escape, Layout, Registry, Shape, Ttl};

const SHOP: &str = r##"
format = 1

[document]
name = "shop"
owner = "checkout team"
writers = ["shop"]

[parts]
order_id = "uuid"
day = "date"

[parts.sku]
type = "pattern"
pattern = "[A-Z]{3}-[0-9]+"
text = "An article."

[parts.user]
type = "text"
escape = "percent"

[parts.page]
type = "rest"

[schemas.line]
sku = "string"
"note?" = "string | null"

[keys.order]
template = "order:<order_id>"
type = "hash"
ttl = "30d"
text = "One order."

[keys.order.fields]
status = { is = "enum", words = ["open", "paid"], text = "Where it stands." }
lines = { is = "json", schema = ["#line"] }
paid = { is = "boolean", no = "0", yes = "1", optional = true }
parent = { is = "reference", to = "order", optional = true }
card = { is = "text", secret = true, optional = true }

[keys.basket]
template = "basket:{<user>}"
type = "set"
member = { is = "id", part = "sku" }
ttl = "only when the user is a guest"
max_items = 100
readers = ["recommender"]

[keys.visits]
template = "visits:<day>"
type = "hyperloglog"
counts = "users"
ttl = "400d"

[keys.page]
template = "page:<page>"
type = "string"
value = "bytes"
ttl = "5m"

[keys.log]
template = "log"
type = "stream"
max_items = 1000

[keys.log.fields]
at = "iso-time"

[channels.orders]
template = "ps:orders:<user>"
message = { is = "json", schema = { id = "string" } }
"##;

fn shop() -> Document {
    let mut read = read(&[Source { name: "shop.keys.toml", text: SHOP }])
        .unwrap_or_else(|errors| panic!("{}", errors[0]));
    read.remove(0)
}

fn errors(text: &str) -> Vec<String> {
    let errors = read(&[Source { name: "x.keys.toml", text }]).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

/// What is wrong with a key of this declaration; the template is on line 8.
fn errors_of_key(declaration: &str) -> Vec<String> {
    let head = "[document]\nname = \"x\"\n\n[parts]\nid = \"integer\"\n\n[keys.k]\n";
    errors(&format!("{head}{declaration}"))
}

#[test]
fn file_says_what_the_macros_say() {
    let document = shop();
    assert_eq!((document.name, document.team), ("shop", "checkout team"));
    let families = document.families.as_slice();
    let registry = Registry::new(&[families]);
    let order = registry.get("shop.order").unwrap();
    assert_eq!(
        (order.ttl, order.team, order.writers),
        (Ttl::Within(2_592_000), "checkout team", &["shop"][..])
    );
    let Content::Hash(fields) = order.content else { panic!("{:?}", order.content) };
    assert_eq!(fields[3].encoding.target().unwrap().id(), "shop.order");
    assert!(fields[4].encoding.is_secret() && fields[4].optional());
    assert!(fields[1].encoding.check(br#"[{"sku":"A","note":null}]"#).is_ok());
    assert!(fields[1].encoding.check(br#"[{"note":null}]"#).is_err());
    assert!(matches!(fields[2].encoding, Encoding::Optional(Encoding::Bool("0", "1"))));
    assert_eq!(document.lines["shop.order"], 29);
}

#[test]
fn names_are_found_and_taken_apart() {
    let document = shop();
    let registry = Registry::new(&[&document.families]);
    let id = |raw: &str| registry.parse(raw.as_bytes()).map(|parsed| parsed.family.name);
    assert_eq!(id("order:123e4567-e89b-12d3-a456-426614174000"), Some("order"));
    assert_eq!(id("order:123"), None);
    assert_eq!(id("basket:{a%3Ab}"), Some("basket"));
    assert_eq!(id("page:a:b {c} *"), Some("page"));
    assert_eq!(id("visits:2026-11-18"), Some("visits"));
    assert_eq!(id("visits:2026-11-31"), None);
    let parsed = registry.parse(b"basket:{a%3Ab}").unwrap();
    assert_eq!((parsed.layout, parsed.parts), (Layout::Documented, vec!["a:b".to_owned()]));
    assert!(registry.parse_channel(b"ps:orders:x").is_some());
}

#[test]
fn written_document_reads_back_alike() {
    let document = shop();
    let text = write(&document);
    let again = read(&[Source { name: "again", text: &text }])
        .unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    assert_eq!(format!("{:?}", document.families), format!("{:?}", again[0].families));
    assert_eq!(write(&again[0]), text);
    assert_eq!(tidy("again", &text).unwrap(), text);
}

#[test]
fn defaults_of_parts_are_those_of_foreign_programs() {
    let document = shop();
    let page = document.families.iter().find(|family| family.name == "page").unwrap();
    assert_eq!(page.parts[0].kind.escape, Escape::Raw { without: "" });
    assert!(matches!(page.parts[0].kind.shape, Shape::Rest));
}

#[test]
fn errors_name_line_field_and_what_is_allowed() {
    let line = |declaration: &str| errors_of_key(declaration)[0].clone();
    assert_eq!(
        line("template = \"k:<id>\"\ntype = \"zset\""),
        "x.keys.toml:9:8: keys.k.type: \"zset\" is no type of key; give one of string, list, set, \
         sorted-set, hash, map, stream, bitmap, hyperloglog"
    );
    assert!(line("template = \"k:<id>\"\ntype = \"set\"\nttl = \"soon\"").starts_with(
        "x.keys.toml:10:7: keys.k.ttl: \"soon\" is no TTL rule; give \"never\", \"always\""
    ));
    assert!(line("template = \"k:<id>\"\ntype = \"set\"\nttll = \"1d\"").starts_with(
        "x.keys.toml:10:1: keys.k.ttll: unknown field; allowed here: template, parts, type, member"
    ));
    assert_eq!(
        line("template = \"k:<user>\"\ntype = \"set\""),
        "x.keys.toml:8:12: keys.k.template: <user> is not declared; add [parts.user], or parts = { user = \"…\" }"
    );
    assert_eq!(
        line("template = \"k:<id>\"\ntype = \"set\"\nexample = \"k:x\""),
        "x.keys.toml:10:11: keys.k.example: \"k:x\" is no \"k:<id>\"; change the example"
    );
    assert_eq!(
        line("template = \"k\"\ntype = \"set\"\nmember = { is = \"reference\", to = \"nobody\" }"),
        "x.keys.toml:10:35: keys.k.member.to: there is no key \"nobody\"; give the name of one, or DOCUMENT.NAME"
    );
    assert_eq!(
        line("template = \"k\"\ntype = \"set\"\nmember = \"enum\""),
        "x.keys.toml:10:10: keys.k.member: \"enum\" needs more than its name: { is = \"enum\", … }"
    );
}

#[test]
fn every_error_is_told_at_once() {
    let found = errors(
        "[document]\nname = \"x y\"\n[keys.a]\ntype = \"set\"\n[keys.b]\ntemplate = 7\ntype = \"st\"\n",
    );
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
fn text_that_is_not_toml_says_where() {
    assert!(
        errors("a = \n[").iter().all(|error| error.starts_with("x.keys.toml:1:")),
        "{:?}",
        errors("a = \n[")
    );
}

#[test]
fn templates_that_cannot_be_read_back_are_refused() {
    let wrong = |template: &str| {
        errors_of_key(&format!("template = \"{template}\"\ntype = \"set\""))[0].clone()
    };
    assert!(wrong("<id><id>").contains("nothing between them"), "{}", wrong("<id><id>"));
    assert!(wrong("a:<id>:<id>").contains("is there twice"));
    assert!(wrong("a:<id").contains("enclose the name of a part"));
    assert!(wrong("").contains("the name is empty"));
}

#[test]
fn formatting_keeps_comments_order_and_values() {
    let text = "# top\nformat=1\n\n\n[document]\nname   =  'shop'   # why\n# about b\n[keys.b]\n# inner\ntype= \"set\"\ntemplate=\"b\"\n[keys.a]\nwriters = [ \"x\",\"y\" ]\nmember={is=\"text\"}\n# end\n";
    let tidied = tidy("x", text).unwrap();
    assert_eq!(
        tidied,
        "# top\nformat = 1\n\n[document]\nname = 'shop' # why\n\n# about b\n[keys.b]\n# inner\ntype = \"set\"\ntemplate = \"b\"\n\n[keys.a]\nwriters = [\"x\", \"y\"]\nmember = { is = \"text\" }\n\n# end\n"
    );
    assert_eq!(tidy("x", &tidied).unwrap(), tidied);
}
