use serde_json::json;

use super::{filter::is_like, *};

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
struct Row {
    uid: String,
    name: String,
    size: u32,
    expires_at: Option<f64>,
    iterated: bool,
}

const ROWS: Listing<Row> = Listing {
    columns: &[
        Column::text("uid", |row: &Row| Value::Text(&row.uid)).sorts(),
        Column::text("name", |row: &Row| Value::Text(&row.name)).sorts(),
        Column::integer("size", |row: &Row| Value::Number(row.size.into())).sorts(),
        Column::number("expires_at", |row: &Row| Value::or_null(row.expires_at)).or_null().sorts(),
        Column::bool("iterated", |row: &Row| Value::Bool(row.iterated)),
    ],
    limit_max: 100,
};

fn row(uid: &str, name: &str, size: u32, expires_at: Option<f64>) -> Row {
    Row { uid: uid.into(), name: name.into(), size, expires_at, iterated: size > 2 }
}

fn rows() -> Vec<Row> {
    vec![
        row("c", "Émile", 3, Some(1.5)),
        row("a", "emile", 1, None),
        row("d", "Zoë", 2, Some(2.5)),
        row("b", "zoe", 3, None),
        row("e", "", 2, Some(1.5)),
    ]
}

fn search(request: Json) -> Result<Page<Row>, Problem> {
    ROWS.page(serde_json::from_value(request).expect("a search"), rows(), |row| row)
}

#[track_caller]
fn found(request: Json) -> String {
    let page = search(request.clone()).unwrap_or_else(|problem| panic!("{request}: {problem:?}"));
    page.items.iter().map(|row| row.uid.as_str()).collect()
}

#[track_caller]
fn check_filter(column: &str, operator: &str, value: Json, expected: &str) {
    let request = json!({"filters": {column: {"operator": operator, "value": value}}});
    assert_eq!(found(request.clone()), expected, "{request}");
}

#[track_caller]
fn check_refused(request: Json, field: &str) {
    let problem = search(request.clone()).expect_err("refused");
    let body = serde_json::to_value(problem.body()).expect("JSON");
    assert_eq!(
        (&body["status"], &body["field"]),
        (&422.into(), &field.into()),
        "{request}: {body}"
    );
}

#[test]
fn numbers_are_compared_by_every_operator() {
    for (operator, expected) in [
        ("eq", "de"),
        ("neq", "abc"),
        ("gt", "bc"),
        ("gte", "bcde"),
        ("lt", "a"),
        ("lte", "ade"),
        ("gtn", "bc"),
        ("gten", "bcde"),
        ("ltn", "a"),
        ("lten", "ade"),
    ] {
        check_filter("size", operator, json!(2), expected);
    }
}

#[test]
fn rows_without_a_value_meet_conditions_that_say_so_and_no_others() {
    for (operator, expected) in [
        ("eq", "ce"),
        ("neq", "abd"),
        ("gt", "d"),
        ("gte", "cde"),
        ("lt", ""),
        ("lte", "ce"),
        ("gtn", "abd"),
        ("gten", "abcde"),
        ("ltn", "ab"),
        ("lten", "abce"),
    ] {
        check_filter("expires_at", operator, json!(1.5), expected);
    }
    check_filter("expires_at", "eq", Json::Null, "ab");
    check_filter("expires_at", "neq", Json::Null, "cde");
    check_filter("expires_at", "gt", Json::Null, "");
    check_filter("expires_at", "gtn", Json::Null, "ab");
}

#[test]
fn texts_are_compared_by_every_operator() {
    for (operator, value, expected) in [
        ("eq", "zoe", "b"),
        ("neq", "zoe", "acde"),
        ("ieq", "ZOË", "d"),
        ("ineq", "ZOË", "abce"),
        ("ieq", "ÉMILE", "c"),
        ("gt", "emile", "bc"),
        ("gte", "emile", "abc"),
        ("lt", "emile", "de"),
        ("lte", "emile", "ade"),
        ("ilike", "_MILE", "ac"),
        ("ilike", "Z%", "bd"),
        ("ilike", "%", "abcde"),
        ("ilike", "", "e"),
    ] {
        check_filter("name", operator, json!(value), expected);
    }
}

#[test]
fn bools_are_equal_or_not() {
    check_filter("iterated", "eq", json!(true), "bc");
    check_filter("iterated", "neq", json!(true), "ade");
}

#[test]
fn all_filters_have_to_hold_and_empty_ones_are_none() {
    let filters = json!({
        "size": {"operator": "gte", "value": 2},
        "expires_at": {"operator": "lt", "value": 2},
        "name": null,
    });
    assert_eq!(found(json!({"filters": filters})), "ce");
    for nothing in [json!({}), json!({"filters": null}), json!({"filters": {}, "sort": null})] {
        assert_eq!(found(nothing), "abcde");
    }
}

#[test]
fn what_a_request_says_about_the_owner_is_not_looked_at() {
    let filters = json!({"user_sub": {"operator": "eq", "value": "somebody else"}});
    assert_eq!(found(json!({"filters": filters})), "abcde");
}

#[test]
fn patterns_stand_for_any_text_and_any_character() {
    for (text, pattern, expected) in [
        ("abc", "abc", true),
        ("abc", "a%", true),
        ("abc", "%c", true),
        ("abc", "%b%", true),
        ("abc", "a_c", true),
        ("abc", "a_", false),
        ("abc", "%d%", false),
        ("abcbc", "a%bc", true),
        ("é", "_", true),
        ("", "%%", true),
        ("", "_", false),
        ("a%b", "a%b", true),
    ] {
        assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
    }
    let hostile = "%a".repeat(1000) + "b";
    assert!(!is_like(&"a".repeat(10_000), &hostile), "and it ends soon");
}

fn sorted(sort: Json) -> String {
    found(json!({ "sort": sort }))
}

#[test]
fn rows_are_sorted_by_several_columns_and_by_uid_at_last() {
    assert_eq!(sorted(json!([])), "abcde");
    assert_eq!(sorted(json!([{"key": "uid", "dir": "desc"}])), "edcba");
    assert_eq!(sorted(json!([{"key": "size", "dir": "desc"}])), "bcdea");
    assert_eq!(sorted(json!([{"key": "name", "dir": "asc_eq"}])), "edabc");
    assert_eq!(sorted(json!([{"key": "expires_at", "dir": "asc"}])), "abced");
    let nulls_last =
        json!([{"key": "expires_at", "dir": "desc_eq"}, {"key": "uid", "dir": "desc"}]);
    assert_eq!(sorted(nulls_last), "decba");
    let after_unique = json!([{"key": "uid", "dir": "asc"}, {"key": "size", "dir": "desc"}]);
    assert_eq!(sorted(after_unique), "abcde");
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat_for_every_order() {
    for key in ["uid", "name", "size", "expires_at"] {
        for dir in ["asc", "asc_eq", "desc", "desc_eq"] {
            let sort = json!([{"key": key, "dir": dir}]);
            let whole = found(json!({"sort": sort, "limit": 100}));
            for limit in 1..=5 {
                let (mut paged, mut sort, mut pages) = (String::new(), sort.clone(), 0);
                loop {
                    let page = search(json!({"sort": sort, "limit": limit})).expect("a page");
                    paged.extend(page.items.iter().map(|row| row.uid.as_str()));
                    pages += 1;
                    let Some(next) = page.next_page_sort else { break };
                    assert_eq!(page.items.len(), limit);
                    sort = serde_json::to_value(next).expect("JSON");
                }
                assert_eq!(
                    (paged, pages),
                    (whole.clone(), 5_usize.div_ceil(limit)),
                    "{key} {dir} {limit}"
                );
            }
        }
    }
}

#[test]
fn the_next_page_begins_after_the_last_row_of_this_one() {
    let sort = json!([{"key": "size", "dir": "desc_eq"}]);
    let first = search(json!({"sort": sort, "limit": 2})).expect("a page");
    let next = serde_json::to_value(first.next_page_sort).expect("JSON");
    let expected = json!([
        {"key": "size", "dir": "desc", "before": null, "after": 3},
        {"key": "uid", "dir": "asc", "before": null, "after": "c"},
    ]);
    assert_eq!(next, expected);
    let second = search(json!({"sort": next, "limit": 1})).expect("a page");
    let next = serde_json::to_value(second.next_page_sort).expect("JSON");
    assert_eq!((&next[0]["before"], &next[1]["before"]), (&json!(2), &json!("d")));
}

#[test]
fn a_cursor_gives_the_row_it_names_only_with_eq() {
    let after = |dir: &str| sorted(json!([{"key": "uid", "dir": dir, "after": "c"}]));
    assert_eq!((after("asc"), after("asc_eq")), ("de".into(), "cde".into()));
    assert_eq!((after("desc"), after("desc_eq")), ("ba".into(), "cba".into()));
    let gone = json!([{"key": "uid", "dir": "asc", "after": "bb"}]);
    assert_eq!(sorted(gone), "cde", "the row may have gone");
    let no_value = json!([{"key": "expires_at", "dir": "asc", "after": null}, {"key": "uid", "dir": "asc", "after": "a"}]);
    assert_eq!(sorted(no_value), "bced");
}

#[test]
fn what_makes_no_sense_is_refused_by_its_field() {
    let filter = |column: &str, operator: &str, value: Json| json!({"filters": {column: {"operator": operator, "value": value}}});
    for (request, field) in [
        (filter("nothing", "eq", json!(1)), "filters.nothing"),
        (filter("size", "ilike", json!("1")), "filters.size.operator"),
        (filter("name", "gtn", json!("x")), "filters.name.operator"),
        (filter("iterated", "gt", json!(true)), "filters.iterated.operator"),
        (filter("size", "eq", json!("1")), "filters.size.value"),
        (filter("size", "eq", json!(1.5)), "filters.size.value"),
        (filter("size", "eq", Json::Null), "filters.size.value"),
        (filter("name", "eq", json!(1)), "filters.name.value"),
        (filter("iterated", "eq", json!(1)), "filters.iterated.value"),
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 101}), "limit"),
        (json!({"sort": [{"key": "nothing", "dir": "asc"}]}), "sort[0].key"),
        (json!({"sort": [{"key": "iterated", "dir": "asc"}]}), "sort[0].key"),
        (
            json!({"sort": [{"key": "size", "dir": "asc"}, {"key": "size", "dir": "desc"}]}),
            "sort[1].key",
        ),
        (json!({"sort": [{"key": "size", "dir": "asc", "after": 1}]}), "sort"),
        (
            json!({"sort": [{"key": "size", "dir": "asc"}, {"key": "uid", "dir": "asc", "after": "a"}]}),
            "sort[0].after",
        ),
        (
            json!({"sort": [{"key": "size", "dir": "asc", "after": 1}, {"key": "uid", "dir": "asc"}]}),
            "sort[1].after",
        ),
        (json!({"sort": [{"key": "uid", "dir": "asc", "after": 7}]}), "sort[0].after"),
    ] {
        check_refused(request, field);
    }
    for request in [
        json!({"filters": {"size": {"operator": "like", "value": 1}}}),
        json!({"filters": {"size": {"value": 1}}}),
        json!({"sort": [{"key": "uid", "dir": "up"}]}),
        json!({"limit": -1}),
        json!({"sorts": []}),
    ] {
        assert!(serde_json::from_value::<Search>(request.clone()).is_err(), "{request}");
    }
}
