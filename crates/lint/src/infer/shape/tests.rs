//! Names fall into the shapes that a reader would see in them.

use super::{affixes, group};

/// The templates of these keys, all strings, with the number of keys of each.
fn shapes(names: &[String]) -> Vec<String> {
    let names: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "string")).collect();
    group(&names)
        .into_iter()
        .map(|(shape, members)| format!("{} {}", members.len(), shape.template()))
        .collect()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn ids_vary_and_words_do_not() {
    let names = ["user:1:cart", "user:2:cart", "user:2:name", "config:colour", "config:size"];
    assert_eq!(
        shapes(&owned(&names)),
        ["1 config:colour", "1 config:size", "2 user:<user>:cart", "1 user:<user>:name"]
    );
}

#[test]
fn many_words_with_the_same_keys_below_vary() {
    let names = ["ann", "bob", "cat", "dan"];
    let names: Vec<String> =
        names.iter().flat_map(|n| [format!("user:{n}:cart"), format!("user:{n}:name")]).collect();
    assert_eq!(shapes(&names), ["4 user:<user>:cart", "4 user:<user>:name"]);
}

#[test]
fn many_last_words_vary() {
    let names: Vec<String> =
        ('a'..='l').map(|letter| format!("seen:{letter}{letter}{letter}")).collect();
    assert_eq!(shapes(&names), ["12 seen:<seen>"]);
}

#[test]
fn many_different_things_stay_apart() {
    let names: Vec<String> =
        ('a'..='z').flat_map(|letter| (0..9).map(move |n| format!("{letter}thing:{n}"))).collect();
    assert_eq!(shapes(&names).len(), 26);
}

#[test]
fn fixed_text_around_an_id_is_kept() {
    let names = ["12_liked_posts", "13_liked_posts", "posts_for_category1", "posts_for_category2"];
    assert_eq!(shapes(&owned(&names)), ["2 posts_for_category<category>", "2 <id>_liked_posts"]);
    assert_eq!(affixes("cart/17/line/3"), Some(("cart/", "")));
    assert_eq!(affixes("b671c480-54e5-11e3-9023-57b39a72bd38"), Some(("", "")));
    assert_eq!(affixes("Items.applyProfile.static"), None);
}

#[test]
fn number_that_never_changes_is_part_of_the_word() {
    assert_eq!(
        shapes(&owned(&["api:v1:hits", "api:v1:errors"])),
        ["1 api:v1:errors", "1 api:v1:hits"]
    );
}

#[test]
fn placeholders_of_one_name_are_told_apart() {
    assert_eq!(shapes(&owned(&["pair:1:2", "pair:3:4"])), ["2 pair:<pair>:<pair_2>"]);
}

#[test]
fn short_ids_of_letters_and_digits_are_not_taken_apart() {
    let hex: Vec<String> = (0x1000..0x1100).map(|n| format!("basket:u{n:x}")).collect();
    assert_eq!(shapes(&hex), ["256 basket:<basket>"]);
    // Of random ids some have no digit, and some begin with a letter.
    let ids = ["k9x2", "aaab", "7f3a", "x1yz", "0q8r", "zz9a", "qwer", "1abc", "m2n3"];
    let names: Vec<String> = ids.iter().map(|id| format!("job:task-{id}:state")).collect();
    assert_eq!(shapes(&names), ["9 job:task-<task>:state"]);
    let mut names: Vec<String> = ids.iter().map(|id| format!("job:{id}")).collect();
    names.push("job:settings".to_owned());
    assert_eq!(shapes(&names), ["1 job:settings", "9 job:<job>"]);
}

#[test]
fn numbered_things_of_different_names_stay_apart() {
    let names: Vec<String> = ["page", "item", "user", "post"]
        .iter()
        .flat_map(|thing| (1..40).map(move |n| format!("cache:{thing}{n}")))
        .collect();
    assert_eq!(shapes(&names).len(), 4);
}

#[test]
fn a_number_among_names_is_one_of_them() {
    let names = ["ann", "bob", "cat", "dan", "eva", "fay", "gus", "hal", "ida", "u1", "u2"];
    let names: Vec<String> = names.iter().map(|name| format!("basket:{name}")).collect();
    assert_eq!(shapes(&names), ["11 basket:<basket>"]);
}
