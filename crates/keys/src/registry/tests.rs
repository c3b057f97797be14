//! A registry finds families, and finds fault with bad ones.

use super::*;

mod good {
    #![allow(
        unreachable_pub,
        missing_docs,
        dead_code,
        reason = "the macros make whole public types"
    )]

    use crate::declare::*;

    parts! {
        /// The owner of things.
        text Owner;
        /// A thing.
        text Thing;
        /// A worker.
        colons Worker 3;
    }

    keys! {
        owner = "shop", origin = Added, removed = "never";

        /// Things of an owner.
        things(owner: Owner) = "things:<owner>"
            => set(Refers(&thing::FAMILY).means("a thing")), shard = Shard::Part("owner"), example = "things:a";

        /// A thing.
        thing(thing: Thing) in owner: Owner = "thing:<thing>"
            => string(Text.means("its name")), example = "thing:1";

        /// How often a worker touched a thing.
        touches(worker: Worker, thing: Thing) in owner: Owner = "touches:<worker>:<thing>"
            => string(COUNT.means("times")), example = "touches:a:b:c:1";

        /// Owners by name, under a name that ends in a word.
        friends(owner: Owner) = "<owner>_friends"
            => set(Text.means("a name")), shard = Shard::Part("owner"), example = "a_friends";

        /// All things that changed.
        changed() = "thing:changed:all"
            => list(Text.means("a thing")), shard = Shard::Word("thing"), example = "thing:changed:all";

        /// Says that things changed.
        news(owner: Owner) = "things:<owner>"
            => channel(Text.means("anything")), shard = Shard::Part("owner"), example = "things:a";
    }
}

mod bad {
    #![allow(
        unreachable_pub,
        missing_docs,
        dead_code,
        reason = "the macros make whole public types"
    )]

    use super::good::Owner;
    use crate::declare::*;

    keys! {
        owner = "shop", origin = Added, removed = "never";

        /// Called like another family, and named like it for one owner.
        things() = "things:all" => set(Text.means("a thing")), example = "things:all";

        /// Its example is of another family.
        odd(owner: Owner) = "odd:<owner>" => set(Text.means("a thing")), example = "even:1";
    }
}

fn registry() -> Registry {
    Registry::new(&[good::FAMILIES])
}

#[test]
fn sound_declarations_have_no_problems() {
    assert_eq!(registry().problems(), []);
}

#[test]
fn contradictions_are_found_and_named() {
    let problems = Registry::new(&[good::FAMILIES, bad::FAMILIES]).problems();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "two families are called \"shop.things\"; rename one",
            "\"things:all\" could be a \"things:<owner>\" or a \"things:all\"; change one template or reserve a word",
            "\"things:all\" is no \"things:all\"; change the example",
            "\"even:1\" is no \"odd:<owner>\"; change the example",
        ]
    );
}

#[test]
fn keys_and_channels_of_one_name_are_kept_apart() {
    assert!(std::ptr::eq(registry().parse(b"things:a").unwrap().family, &good::things::FAMILY));
    assert!(std::ptr::eq(
        registry().parse_channel(b"things:a").unwrap().family,
        &good::news::FAMILY
    ));
}

#[track_caller]
fn check(raw: &str, id: &str, layout: Layout, shard: Option<&str>, parts: &[&str]) {
    let parsed = registry().parse(raw.as_bytes()).unwrap();
    assert_eq!(parsed.family.id(), id);
    assert_eq!(parsed.layout, layout);
    assert_eq!(parsed.shard.as_deref(), shard);
    assert_eq!(parsed.parts, parts);
    assert_eq!(parsed.render(layout).as_deref(), Some(raw));
}

#[test]
fn raw_keys_of_both_layouts_are_taken_apart() {
    use Layout::{Cluster, Documented};
    check("things:a%3Ab", "shop.things", Documented, None, &["a:b"]);
    check("things:{a%3Ab}", "shop.things", Cluster, None, &["a:b"]);
    check("{o}thing:1", "shop.thing", Cluster, Some("o"), &["1"]);
    check("touches:a:b:c:d:1", "shop.touches", Documented, None, &["a:b:c:d", "1"]);
    check("x_friends_friends", "shop.friends", Documented, None, &["x_friends"]);
    check("{x}_friends", "shop.friends", Cluster, None, &["x"]);
    check("{thing}:changed:all", "shop.changed", Cluster, None, &[]);
}

#[test]
fn tags_in_the_wrong_place_belong_to_no_family() {
    for raw in [
        "{o}things:a",
        "thing:{1}",
        "{}thing:1",
        "{o}{o}thing:1",
        "{o:p}thing:1",
        "{x}friends",
        "things:{a",
    ] {
        assert!(registry().parse(raw.as_bytes()).is_none(), "{raw}");
    }
}

#[test]
fn documented_name_comes_back_from_either_layout() {
    for raw in ["thing:1", "{o}thing:1"] {
        assert_eq!(registry().documented_name(raw.as_bytes()).as_deref(), Some("thing:1"));
    }
    assert_eq!(registry().documented_name(b"{a}_friends").as_deref(), Some("a_friends"));
    assert_eq!(registry().documented_name(b"unknown"), None);
}

#[test]
fn cluster_name_needs_the_shard() {
    let parsed = registry().parse(b"thing:1").unwrap();
    assert_eq!(parsed.render(Layout::Cluster), None);
    assert_eq!(
        good::thing::FAMILY.render(Layout::Cluster, None, &["1"]).unwrap_err().to_string(),
        "a cluster key of \"thing:<thing>\" needs its owner; the name does not hold it"
    );
}

#[test]
fn typed_builders_and_texts_make_the_same_key() {
    let (owner, thing) = (good::Owner::new("o p").unwrap(), good::Thing::new("1:2").unwrap());
    let worker = good::Worker::new("h:1:q").unwrap();
    for layout in [Layout::Documented, Layout::Cluster] {
        let typed = good::touches(&worker, &thing, &owner);
        let texts = good::touches::FAMILY.render(layout, Some("o p"), &["h:1:q", "1:2"]);
        assert_eq!(typed.placed(layout), texts.unwrap());
        assert_eq!(typed.tag(), Some("o%20p"));
    }
    assert!(good::touches::FAMILY.render(Layout::Documented, None, &["h", "1"]).is_err());
    assert!(good::touches::FAMILY.render(Layout::Documented, None, &["h:1:q"]).is_err());
}

#[test]
fn keys_of_different_shards_differ() {
    let thing = good::Thing::new("1").unwrap();
    let key = |owner| good::thing(&thing, &good::Owner::new(owner).unwrap());
    assert_eq!(key("a"), key("a"));
    assert_ne!(key("a"), key("b"));
}

#[test]
fn endless_keys_are_refused_at_once() {
    assert!(registry().parse("things:".repeat(1 << 20).as_bytes()).is_none());
}
