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

/// Pages in the forms in which teams have been seen to write them, each counted by hand.
#[test]
fn pages_as_teams_write_them_lose_no_key_and_no_channel() {
    let bullets = include_str!("pages/progress.md");
    let mut expected = vec![
        "list work:now",
        "string login:certs",
        "hash cart:<customer_id>:<shop_name>:<cart_uid>",
        "hash cart:<customer_id>:<shop_name>:<cart_uid>:line:<line_number>",
        "string price:<customer_id>:<shop_name>:<version>:<rule>",
        "hash price:<customer_id>:<shop_name>:<version>:<line_number>:<rule>",
        "sorted set visits:<customer_id>:<shop_name>:<version>",
        "hash visits:<utc_year>:<utc_month>",
        "string trial:<uid>",
        "pub/sub channel ps:cart:<customer_id>:<shop_name>:<cart_uid>",
        "pub/sub channel ps:work:<work_uid>",
        "pub/sub channel releases:<repo>",
    ];
    assert_eq!(drafted(bullets), expected);

    let wrapped = include_str!("pages/services.md");
    expected = vec![
        "list work:now",
        "string login:certs",
        "hash rounds:hash",
        "sorted set rounds",
        "set rounds:leaving",
        "sorted set photos:leaving",
        "hash allowed:<customer_id>",
        "sorted set bank_errors",
        "string allowed:read:again:limit:<customer_id>",
        "string till:card:begin:limit:<customer_id>",
        "string till:card:end:limit:<customer_id>",
        "pub/sub channel ps:work:<work_uid>",
        "pub/sub channel releases:<repo>",
        "pub/sub channel ps:tours:<uid>:events",
        "pub/sub channel ps:allowed:forget",
    ];
    assert_eq!(drafted(wrapped), expected);

    let fenced = include_str!("pages/sums.md");
    expected = vec![
        "set set:shops",
        "set set:<shop>:shelves",
        "set set:<shop>:<shelf>:articles",
        "set set:<shop>:<shelf>:<article>:sums",
        "set set:<shop>:<shelf>:<article>:<sum>:spans",
        "hash hash:<shop>:<shelf>:<article>:values",
        "hash hash:<shop>:<shelf>:<article>:<sum>:<span>",
    ];
    assert_eq!(drafted(fenced), expected);

    let labelled = include_str!("pages/queues.md");
    expected = vec![
        "sorted set cook:ss:stove:<stove_name>",
        "sorted set cook:ss:later:<stove_name>",
        "sorted set cook:ss:cold:<stove_name>",
        "hash cook:h:dishes:<dish>",
        "list cook:l:alike:<stove_name>:<hash>",
        "set cook:s:menus:<menu>",
        "set cook:s:before:<dish>",
        "sorted set cook:ss:cooks:<stove_name>",
        "set cook:s:pans:<cook>",
        "sorted set cook:ss:pans:<stove_name>",
        "string cook:str:calls:<cook>:<dish>",
    ];
    assert_eq!(drafted(labelled), expected);

    let assigned = include_str!("pages/articles.md");
    expected = vec![
        "hash cfg_param",
        "hash row_counts",
        "sorted set new_articles_of_topic<choice>",
        "hash topic_now",
        "hash reader_days",
        "hash article_topic",
        "set <reader_id>_liked",
        "sorted set <reader_id>_wanted_topics",
    ];
    assert_eq!(drafted(assigned), expected);
}

#[test]
fn tables_headings_and_numbers_list_keys_too() {
    let page = "\
## Keys

| Key | Type | TTL |
|-----|------|-----|
| `cart:{user}` | list | 2 days |
| `recent` | sorted set | never expires |

### `guest:GUEST_ID`

A hash.

| Field | Meaning |
|---|---|
| `name` | what to call the guest |
| `since` | unix time |

### seat:<hall>

A string.

1. `flag:{name}` - string
2) `all:flags` - set

| Environment variable | Meaning |
|---|---|
| `REDIS_URL` | where it is |

| Channel | Message |
|---|---|
| `news` | what is new |
";
    assert_eq!(
        drafted(page),
        [
            "list cart:<user>",
            "sorted set recent",
            "hash guest:<guest_id>",
            "string seat:<hall>",
            "string flag:<name>",
            "set all:flags",
            "pub/sub channel news",
        ]
    );
    let drafts = import("page", page);
    assert_eq!(drafts[0].family.ttl, Ttl::Within(2 * 86_400));
    let Content::Hash(fields) = drafts[2].family.content else { panic!() };
    assert_eq!(fields.iter().map(|field| field.name).collect::<Vec<_>>(), ["name", "since"]);
}
