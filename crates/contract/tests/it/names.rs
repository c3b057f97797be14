//! Names of all families: apart from each other, and the same after building and parsing.

use keyrack_contract::registry;
use keyrack_keys::{Family, Kind, Layout, Shape, UserSub};
use proptest::prelude::*;
use proptest::sample::select;

#[test]
fn no_two_families_share_a_key_in_either_layout() {
    assert_eq!(registry().problems(), []);
}

/// Texts that a kind allows, the dangerous ones above all.
fn allowed(kind: &Kind) -> BoxedStrategy<String> {
    let kind = *kind;
    let any = match kind.shape {
        Shape::Words(words) => select(words).prop_map(str::to_owned).boxed(),
        Shape::Number { min, max } => (min..=max).prop_map(|n| n.to_string()).boxed(),
        Shape::Colons { fields_min } => {
            prop::collection::vec("[a-z0-9.% {}é-]{1,5}", fields_min..fields_min + 3)
                .prop_map(|fields| fields.join(":"))
                .boxed()
        }
        // None of our own.
        Shape::Uuid | Shape::Ulid | Shape::Date | Shape::Pattern(_) | Shape::Rest => {
            unreachable!("{kind:?}")
        }
        Shape::Text { .. } => prop_oneof![
            "[a-z0-9._-]{1,12}",
            "[%:{}*?\\[\\]^ a3A🐝\\x00_]{1,8}",
            // Texts that look like the rest of some name.
            select(
                &[
                    "_liked_posts",
                    "x_liked_posts",
                    "tags",
                    "children",
                    "locks",
                    "1:step:2",
                    "values",
                    "keys",
                    "projects",
                    "read:force:ratelimit",
                    "2022",
                    "7",
                    "%3A",
                    "{x}",
                    "hash",
                    "purgatory",
                ][..]
            )
            .prop_map(str::to_owned),
        ]
        .boxed(),
    };
    any.prop_filter("must be allowed", move |text| kind.check(text).is_ok()).boxed()
}

#[derive(Clone, Debug)]
struct Name {
    family: &'static Family,
    shard: Option<String>,
    parts: Vec<String>,
}

impl Name {
    fn render(&self, layout: Layout) -> String {
        let parts: Vec<&str> = self.parts.iter().map(String::as_str).collect();
        self.family.render(layout, self.shard.as_deref(), &parts).unwrap()
    }
}

fn any_name() -> impl Strategy<Value = Name> {
    let families: Vec<&'static Family> = registry().all().collect();
    select(families).prop_flat_map(|family| {
        let shard: Vec<_> = family.outside.iter().map(|slot| allowed(&slot.kind)).collect();
        let parts: Vec<_> = family.parts.iter().map(|slot| allowed(&slot.kind)).collect();
        (shard, parts).prop_map(move |(mut shard, parts)| Name {
            family,
            shard: shard.pop(),
            parts,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn parsing_gives_family_and_parts_back(name in any_name()) {
        for layout in [Layout::Documented, Layout::Cluster] {
            let raw = name.render(layout);
            let parsed = if name.family.is_channel() {
                registry().parse_channel(raw.as_bytes())
            } else {
                registry().parse(raw.as_bytes())
            };
            let parsed = parsed.unwrap_or_else(|| panic!("\"{raw}\" is of no family"));
            prop_assert_eq!(parsed.family.id(), name.family.id(), "{}", raw);
            prop_assert_eq!(&parsed.parts, &name.parts, "{}", raw);
            if layout == Layout::Cluster {
                prop_assert_eq!(&parsed.shard, &name.shard, "{}", raw);
                prop_assert_eq!(parsed.render(Layout::Documented).unwrap(), name.render(Layout::Documented));
            }
        }
    }

    #[test]
    fn different_names_give_different_keys(a in any_name(), b in any_name()) {
        let same = std::ptr::eq(a.family, b.family) && a.parts == b.parts;
        if a.family.is_channel() == b.family.is_channel() {
            prop_assert_eq!(a.render(Layout::Documented) == b.render(Layout::Documented), same);
        }
    }

    #[test]
    fn glob_patterns_match_the_keys(name in any_name()) {
        for layout in [Layout::Documented, Layout::Cluster] {
            let (pattern, raw) = (name.family.pattern(layout), name.render(layout));
            prop_assert!(glob(pattern.as_bytes(), raw.as_bytes()), "{} {}", pattern, raw);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(raw in prop::collection::vec(any::<u8>(), 0..40)) {
        registry().explain(&raw);
    }

    #[test]
    fn almost_keys_never_panic(name in any_name(), at in 0usize..60, byte in any::<u8>()) {
        let mut raw = name.render(Layout::Cluster).into_bytes();
        let at = at.min(raw.len());
        raw.insert(at, byte);
        registry().explain(&raw);
    }
}

/// Redis' glob, as far as our patterns use it.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|at| glob(rest, &text[at..])),
        [byte, rest @ ..] => text.first() == Some(byte) && glob(rest, &text[1..]),
    }
}

#[track_caller]
fn check_key(key: &keyrack_keys::Key, name: &str, cluster: &str) {
    assert_eq!(key.name(), name);
    assert_eq!(key.placed(Layout::Documented), name);
    assert_eq!(key.placed(Layout::Cluster), cluster);
    let parsed = registry()
        .parse(cluster.as_bytes())
        .or_else(|| registry().parse_channel(cluster.as_bytes()));
    assert!(std::ptr::eq(parsed.unwrap().family, key.family()));
}

#[test]
fn builders_give_the_documented_name_and_the_cluster_name() {
    use keyrack_jobs::{bee, hot, recurring};

    let alice = UserSub::new("alice").unwrap();
    let bar = keyrack_progress::keys::BarName::new("import").unwrap();
    let uid = keyrack_progress::keys::TraceUid::new("42").unwrap();
    let trace = keyrack_progress::keys::trace(&alice, &bar, &uid);
    check_key(&trace, "trace:alice:import:42", "trace:{alice}:import:42");

    let group = bee::keys::Group::new("emails").unwrap();
    let jid = bee::keys::Jid::new("j1").unwrap();
    let worker = bee::keys::WorkerId::new("host:1:hive:emails:w").unwrap();
    check_key(&bee::keys::job(&jid, &group), "bee:h:jobs:j1", "{emails}bee:h:jobs:j1");
    check_key(
        &bee::keys::lock_waits(&worker, &jid, &group),
        "bee:str:lock-waits:host:1:hive:emails:w:j1",
        "{emails}bee:str:lock-waits:host:1:hive:emails:w:j1",
    );

    check_key(&hot::keys::hot(), "jobs:hot", "{jobs}:hot");
    check_key(&recurring::keys::rjobs(), "rjobs", "r{jobs}");
    check_key(&recurring::keys::purgatory(), "rjobs:purgatory", "r{jobs}:purgatory");

    let user = keyrack_recommender::keys::UserId::new("123").unwrap();
    let category = keyrack_recommender::keys::CategoryNumber::new(5).unwrap();
    check_key(
        &keyrack_recommender::keys::liked_posts(&user),
        "123_liked_posts",
        "{123}_liked_posts",
    );
    check_key(
        &keyrack_recommender::keys::recent_posts(&category),
        "recent_posts_for_category5",
        "{recommender}recent_posts_for_category5",
    );
    check_key(&keyrack_files::keys::purgatory(), "files:purgatory", "{files}:purgatory");
}

#[test]
fn what_one_script_changes_shares_a_slot_on_a_cluster() {
    use keyrack_jobs::{hot, recurring};

    let keys = [
        hot::keys::hot(),
        recurring::keys::rjobs(),
        recurring::keys::digest(),
        recurring::keys::purgatory(),
        recurring::keys::defined(),
        recurring::keys::defined_due(),
        recurring::keys::defined_version(),
        recurring::keys::defined_events(),
    ];
    assert!(keys.iter().all(|key| key.tag() == Some("jobs")));
}

#[test]
fn real_look_alikes_are_told_apart() {
    for (raw, id) in [
        ("tcount:2022:11", "progress.month_count"),
        ("tcount:2022:11:0", "progress.trace_count"),
        ("entitlements:alice", "entitlements.entitlements"),
        ("entitlements:read:force:ratelimit:alice", "entitlements.read_limit"),
        ("stats:alice:import:0:percentile_75", "progress.overall_stats"),
        ("stats:alice:import:0:3:percentile_75", "progress.step_stats"),
        ("set:projects", "calculations.projects"),
        ("set:keys:dimensions", "calculations.dimensions"),
        ("hash:2:job-skills:python:values", "calculations.values"),
        ("hash:2:job-skills:values:sum:days", "calculations.result"),
        ("recent_posts_for_category1_liked_posts", "recommender.liked_posts"),
        ("bee:s:tags:children", "jobs.bee.tags"),
        ("bee:s:locks:children", "jobs.bee.children"),
        ("bee:s:locks:a:b:c:children", "jobs.bee.worker_locks"),
    ] {
        assert_eq!(
            registry().parse(raw.as_bytes()).map(|parsed| parsed.family.id()).as_deref(),
            Some(id),
            "{raw}"
        );
    }
}

#[test]
fn keys_that_no_family_writes_are_unknown() {
    for raw in [
        "",
        "trace:alice:import",
        "trace::import:42",
        "trace:alice:import:42:step:0",
        "trace:alice:import:42:step:03",
        "trace:al ice:import:42",
        "trace:al%3aice:import:42",
        "tcount:2022:13",
        "recent_posts_for_category6",
        "_liked_posts",
        "bee:s:locks:host",
        "hash:2:job-skills:python:mode:months",
        "{bob}trace:alice:import:42",
        "trace:alice:{import}:42",
        "bee:h:jobs:{j1}",
        "{recommender2}rs_param",
    ] {
        assert!(registry().parse(raw.as_bytes()).is_none(), "{raw}");
    }
}

#[test]
fn members_lead_to_the_key_they_name_in_the_same_shard() {
    let member = match keyrack_jobs::bee::keys::queue::FAMILY.content {
        keyrack_keys::Content::SortedSet { member, .. } => member.encoding,
        _ => unreachable!("a queue is a sorted set"),
    };
    let plain = registry().parse(b"bee:ss:queue:emails").unwrap();
    assert_eq!(plain.target(&member, b"j1").as_deref(), Some("bee:h:jobs:j1"));
    let placed = registry().parse(b"{emails}bee:ss:queue:emails").unwrap();
    assert_eq!(placed.target(&member, b"j1").as_deref(), Some("{emails}bee:h:jobs:j1"));
}
