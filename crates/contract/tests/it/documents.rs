//! Nothing from the five key documents may go missing: names and types, copied from them by hand.

use keyrack_contract::registry;
use keyrack_keys::Origin;

/// Name, type, document. Placeholders as we call them; everything else as the documents have it.
const DOCUMENTED: &[(&str, &str, &[&str])] = &[
    // 000: progress bars.
    ("jobs:hot", "list", &["000", "001"]),
    ("cognito:jwks", "string", &["000", "001"]),
    ("trace:<user_sub>:<bar>:<trace_uid>", "hash", &["000"]),
    ("trace:<user_sub>:<bar>:<trace_uid>:step:<position>", "hash", &["000"]),
    ("stats:<user_sub>:<bar>:<version>:<technique>", "string", &["000"]),
    ("stats:<user_sub>:<bar>:<version>:<position>:<technique>", "hash", &["000"]),
    ("tcount:<user_sub>:<bar>:<version>", "zset", &["000"]),
    ("tcount:<year>:<month>", "hash", &["000"]),
    ("example:<uid>", "string", &["000"]),
    ("ps:trace:<user_sub>:<bar>:<trace_uid>", "channel", &["000"]),
    ("ps:job:<job_uid>", "channel", &["000", "001"]),
    ("updates:<repo>", "channel", &["000", "001"]),
    // 001: recurring jobs, files, entitlements, journeys.
    ("rjobs:hash", "string", &["001"]),
    ("rjobs", "zset", &["001"]),
    ("rjobs:purgatory", "set", &["001"]),
    ("files:purgatory", "zset", &["001"]),
    ("entitlements:<user_sub>", "hash", &["001"]),
    ("revenue_cat_errors", "zset", &["001"]),
    ("entitlements:read:force:ratelimit:<user_sub>", "string", &["001"]),
    ("checkout:stripe:start:ratelimit:<user_sub>", "string", &["001"]),
    ("checkout:stripe:finish:ratelimit:<user_sub>", "string", &["001"]),
    ("ps:journeys:<uid>:events", "channel", &["001"]),
    ("ps:entitlements:purge", "channel", &["001"]),
    // 002: calculations.
    ("set:projects", "set", &["002"]),
    ("set:<project>:dimensions", "set", &["002"]),
    ("set:<project>:<dimension>:keys", "set", &["002"]),
    ("set:<project>:<dimension>:<key>:calculations", "set", &["002"]),
    ("set:<project>:<dimension>:<key>:<calculation>:intervals", "set", &["002"]),
    ("hash:<project>:<dimension>:<key>:values", "hash", &["002"]),
    ("hash:<project>:<dimension>:<key>:<calculation>:<interval>", "hash", &["002"]),
    // 003: the Bee queue. Of the channels it names the prefix only.
    ("bee:ss:queue:<queue>", "zset", &["003"]),
    ("bee:ss:delayed:<queue>", "zset", &["003"]),
    ("bee:ss:expires:<queue>", "zset", &["003"]),
    ("bee:h:jobs:<jid>", "hash", &["003"]),
    ("bee:l:hashes:<queue>:<hash>", "list", &["003"]),
    ("bee:s:tags:<tag>", "set", &["003"]),
    ("bee:s:dependencies:<jid>", "set", &["003"]),
    ("bee:ss:bees:<queue>", "zset", &["003"]),
    ("bee:s:locks:<worker>", "set", &["003"]),
    ("bee:ss:locks:<queue>", "zset", &["003"]),
    ("bee:str:lock-waits:<worker>:<jid>", "string", &["003"]),
    ("bee:ch:q:<queue>", "channel", &["003"]),
    ("bee:ch:host:<hostname>", "channel", &["003"]),
    // 004: the recommender.
    ("rs_param", "hash", &["004"]),
    ("db_len", "hash", &["004"]),
    ("recent_posts_for_category<category>", "zset", &["004"]),
    ("on_clg_info", "hash", &["004"]),
    ("user_contribution", "hash", &["004"]),
    ("post_clg_pair", "hash", &["004"]),
    ("<user_id>_liked_posts", "set", &["004"]),
    ("<user_id>_clgs_preference", "zset", &["004"]),
];

/// Fields of the hashes whose fields the documents name.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "trace:<user_sub>:<bar>:<trace_uid>",
        &["created_at", "last_updated_at", "current_step", "done"],
    ),
    (
        "trace:<user_sub>:<bar>:<trace_uid>:step:<position>",
        &["step_name", "iteration", "iterations", "started_at", "finished_at"],
    ),
    ("stats:<user_sub>:<bar>:<version>:<position>:<technique>", &["a", "b"]),
    (
        "bee:h:jobs:<jid>",
        &[
            "jid",
            "queue",
            "data",
            "options",
            "worker",
            "status",
            "retries",
            "result",
            "parent",
            "hash",
            "tags",
            "history",
            "dependants",
        ],
    ),
    ("rs_param", &["max_post_age", "distinct_category", "day_index"]),
    ("db_len", &["clg", "mmbr", "post", "reaction", "tracking"]),
];

#[test]
fn every_documented_name_is_declared_with_its_type_and_documents() {
    for &(template, redis_type, documents) in DOCUMENTED {
        let family = registry().all().find(|family| family.template == template);
        let family = family.unwrap_or_else(|| panic!("\"{template}\" is not declared"));
        assert_eq!(family.content.redis_type(), redis_type, "{template}");
        assert_eq!(family.origin, Origin::Document(documents), "{template}");
    }
}

#[test]
fn nothing_else_claims_to_be_documented() {
    for family in registry().all().filter(|family| matches!(family.origin, Origin::Document(_))) {
        let documented = DOCUMENTED.iter().any(|&(template, ..)| template == family.template);
        assert!(documented, "\"{}\" is in no key document", family.template);
    }
}

#[test]
fn every_documented_field_is_declared() {
    for &(template, names) in FIELDS {
        let family = registry().all().find(|family| family.template == template).unwrap();
        let rows = family.content.rows();
        for name in names {
            assert!(rows.iter().any(|row| row.name == *name), "\"{template}\" lacks \"{name}\"");
        }
    }
}
