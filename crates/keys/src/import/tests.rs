use super::*;
use crate::file::{Heading, Source, read, write_draft};

fn drafted(page: &str) -> Vec<String> {
    let drafts = import("page", page);
    let text = write_draft(Heading { name: "page", ..Heading::default() }, &drafts);
    read(&[Source { name: "draft", text: &text }]).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    drafts
        .iter()
        .map(|draft| format!("{} {}", draft.family.content.noun(), draft.family.template))
        .collect()
}

#[test]
fn bullets_with_inline_code_and_nested_fields() {
    let page = "# our redis\n\n## keys\n\n- `basket:{user}:{shop}`: goes to a hash with these keys:\n  - `opened_at`: seconds since the unix epoch\n  - `lines (list)`: json list\n- `recent` a sorted set of articles,\n  scored by unix time\n- `flag:{name}` the string '1'; expires after a day\n\n## pubsub keys\n\n- `ps:basket:{user}`: sent when it changes\n";
    assert_eq!(
        drafted(page),
        [
            "hash basket:<user>:<shop>",
            "sorted set recent",
            "string flag:<name>",
            "pub/sub channel ps:basket:<user>"
        ]
    );
    let drafts = import("page", page);
    let Content::Hash(fields) = drafts[0].family.content else { panic!() };
    assert_eq!(fields.iter().map(|field| field.name).collect::<Vec<_>>(), ["opened_at", "lines"]);
    assert!(drafts[2].notes[0].contains("expiry"), "{:?}", drafts[2].notes);
}

#[test]
fn labels_with_shouted_placeholders_and_a_legend() {
    let page = "### Prefix\n`app:z` - Sorted Set\n`app:h` - Hash\n\n### Lines\nName: `app:z:line:LINE_NAME` - who waits\nScore: time\nValue: ID\n\nName: `app:h:guest:ID`\nFields:\n- `name`\n- `seat` - where\n\nName: `app:z:gone:LINE_NAME`\n";
    assert_eq!(
        drafted(page),
        [
            "sorted set app:z:line:<line_name>",
            "hash app:h:guest:<id>",
            "sorted set app:z:gone:<line_name>"
        ]
    );
}

#[test]
fn times_without_a_unit_are_marked() {
    let notes = |score: &str| {
        let page = format!("Name: `app:z:ORDER` - Sorted set, never expires\nScore: {score}\n");
        import("page", &page)[0].notes.join("\n")
    };
    let unit = "unsure: the page does not say the unit of the scores; seconds are a guess";
    assert!(notes("timestamp of the order").contains(unit));
    assert!(!notes("timestamp in seconds").contains(unit) && !notes("price").contains(unit));
}

#[test]
fn fenced_names_are_told_from_examples() {
    let page = "#### Keys\n\n```\nset:teams\n```\n\nAll teams.\n\n```\nset:TEAM:players\n```\n\nA set of players.\n\nExamples:\n```\nset:7:players\n```\n\nContents of\n```\nset:7:players\n```\nwould be:\n\n```\n1) \"x\"\n```\n";
    assert_eq!(drafted(page), ["set set:teams", "set set:<team>:players"]);
}

#[test]
fn assignments_and_choices() {
    let page = "# -----\n\nredis_key = top{1,2,or 3}\nredis_type = sorted set (zset)\n\n# -----\n\nredis_key  = {user_id}_seen\nredis_type = set\n";
    assert_eq!(drafted(page), ["sorted set top<choice>", "set <user_id>_seen"]);
}

#[test]
fn colons_and_angles_mark_names_too() {
    let page = "Keys:\n\n* session::token - string\n* cart/:user/lines (a list)\n* `<tenant>:quota` - hash of limits\n";
    assert_eq!(
        drafted(page),
        ["string session:<token>", "list cart/<user>/lines", "hash <tenant>:quota"]
    );
}

#[test]
fn a_page_with_all_four_placeholders_loses_no_key_and_no_channel() {
    let page = "\
# What is in Redis

## Keys

- `cart:{user}`: a hash
  - `opened_at`: unix time
* `seat:<hall>:<seat>` - string
- `visits:DAY` (sorted set)
* rooms/:room/guests (a list)

```
set:HALL:rows
```

A set of rows.

Name: `z:LINE_NAME` - Sorted set of who waits
Score: time

redis_key = {user_id}_seen
redis_type = set

## Pub/sub channels

- `ps:cart:{user}`: sent when it changes
- `ps:hall:<hall>` - a seat was taken
- `ps:line:LINE_NAME`
";
    assert_eq!(
        drafted(page),
        [
            "hash cart:<user>",
            "string seat:<hall>:<seat>",
            "sorted set visits:<day>",
            "list rooms/<room>/guests",
            "set set:<hall>:rows",
            "sorted set z:<line_name>",
            "set <user_id>_seen",
            "pub/sub channel ps:cart:<user>",
            "pub/sub channel ps:hall:<hall>",
            "pub/sub channel ps:line:<line_name>",
        ]
    );
}

#[test]
fn keys_and_channels_are_also_introduced_by_a_word() {
    let page = "```\nsession:SESSION_ID   string\n```\nChannel `news:{user}`: what is new\nKey `cart:<user>` a list, TTL 2 days\n";
    assert_eq!(
        drafted(page),
        ["string session:<session_id>", "pub/sub channel news:<user>", "list cart:<user>"]
    );
    assert_eq!(import("page", page)[2].family.ttl, Ttl::Within(2 * 86_400));
}
