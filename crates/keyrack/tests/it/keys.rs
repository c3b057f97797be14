//! `keyrack keys`, as its users see it.

use insta::assert_snapshot;
use keyrack_testkit::RedisServer;
use tempfile::TempDir;

use crate::program::{Run, keyrack};

/// What a run printed; it must have gone well and said nothing else.
#[track_caller]
fn printed(arguments: &str) -> String {
    let run = Run::line(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    run.stdout
}

fn seeded(lines: &[&str]) -> RedisServer {
    let server = RedisServer::start();
    for line in lines {
        let mut words = line.split(' ');
        let mut cmd = redis::cmd(words.next().expect("a command"));
        cmd.arg(words.collect::<Vec<_>>());
        cmd.exec(&mut server.connection()).expect("the server takes it");
    }
    server
}

const GOOD: &[&str] = &["SET example:a 7 EX 600", "SADD 12_liked_posts 1 2 3"];
const BAD: &[&str] = &[
    "SET who:am:i 1",
    "SET example:b none EX 600",
    "SADD 13_liked_posts 1 two three",
    "ZADD bee:ss:queue:emails 1 j-1",
    "HSET bee:scripts submit 01",
];

fn lint(server: &RedisServer, more: &str) -> Run {
    Run::line(&format!("keys lint --store {} {more}", server.url()))
}

/// The server's address differs from run to run, and so may the memory of a key.
fn settled(text: &str, server: &RedisServer) -> String {
    let text = text.replace(&server.url(), "redis://SERVER");
    let lines = text.lines().map(|line| match line.rsplit_once("  ") {
        Some((start, end)) if end.ends_with("bytes") || end.ends_with("kB") => {
            format!("{start}  MEMORY")
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn help_lists_the_commands() {
    assert_snapshot!(printed("keys -h"));
}

#[test]
fn help_of_lint_lists_the_rules() {
    assert_snapshot!(printed("keys lint --help"));
}

#[test]
fn list_shows_keys_and_channels_of_an_owner() {
    assert_snapshot!(printed("keys list --owner jobs"));
}

#[test]
fn list_shows_everything_declared() {
    let count = keyrack_contract::registry().all().count();
    assert_eq!(printed("keys list").lines().count(), count + 1);
    let listed: Vec<serde_json::Value> =
        serde_json::from_str(&printed("keys list --json")).unwrap();
    assert_eq!(listed.len(), count);
}

#[test]
fn unknown_owner_is_not_found() {
    let run = Run::line("keys list --owner nobody");
    assert_eq!(run.code, Some(3));
    let (error, hint) = run.failure();
    assert_eq!(error, "error: \"nobody\" owns no keys");
    assert!(
        hint.is_some_and(|hint| hint.starts_with("hint: owners are jobs.bee, jobs.hot,")),
        "{hint:?}"
    );
}

#[test]
fn doc_is_the_reference_page() {
    assert_eq!(printed("keys doc"), keyrack_keys::docs(keyrack_contract::registry()));
}

#[test]
fn doc_of_a_family_is_its_section() {
    assert_snapshot!(printed("keys doc progress.trace"));
}

#[test]
fn explain_tells_what_a_key_is_without_a_store() {
    let dir = TempDir::new().unwrap();
    let run = Run::line_in(dir.path(), "keys explain trace:alice:import:42:step:3");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(run.stdout);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "no store was opened");
}

#[test]
fn explain_decodes_parts_and_takes_cluster_names() {
    assert_snapshot!(printed("keys explain {emails}bee:h:jobs:a%3Ab"));
}

#[test]
fn explain_tells_the_same_as_json() {
    let told: serde_json::Value =
        serde_json::from_str(&printed("keys explain trace:a%20b:import:42 --json")).unwrap();
    assert_eq!(told["family"]["id"], "progress.trace");
    assert_eq!(told["parts"][0]["value"], "a b");
    assert_eq!(told["cluster"], "trace:{a%20b}:import:42");
}

#[test]
fn unknown_key_says_so_names_the_nearest_and_is_not_found() {
    for (key, hint) in [
        (
            "trace:alice:import:42:steps:3",
            "hint: the nearest is trace:<user_sub>:<bar>:<trace_uid>:step:<position>, such as trace:alice:import:42:step:3",
        ),
        (
            "tcount:2022:13",
            "hint: the nearest is tcount:<year>:<month>, but \"13\" is no month; give a whole number from 1 to 12",
        ),
        ("zzz", "hint: \"keyrack keys list\" shows all families"),
    ] {
        let run = Run::line(&format!("keys explain {key}"));
        assert_eq!(run.code, Some(3), "{run:?}");
        let error = format!("error: \"{key}\" belongs to no declared family");
        assert_eq!(run.failure(), (error.as_str(), Some(hint)));
    }
}

#[test]
fn lint_of_a_good_database_ends_well() {
    let server = seeded(GOOD);
    let run = lint(&server, "");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_snapshot!(settled(&format!("{}---\n{}", run.stdout, run.stderr), &server));
}

#[test]
fn lint_lists_what_is_wrong_and_ends_with_10() {
    let server = seeded(&[GOOD, BAD].concat());
    let run = lint(&server, "");
    assert_eq!(run.code, Some(10), "{run:?}");
    assert_snapshot!(settled(&format!("{}---\n{}", run.stdout, run.stderr), &server));
}

#[test]
fn lint_tells_the_same_as_json() {
    let server = seeded(&[GOOD, BAD].concat());
    let run = lint(&server, "--json --quiet");
    assert_eq!((run.code, run.stderr.as_str()), (Some(10), ""));
    let told: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&told["clean"], &told["keys"]), (&false.into(), &7.into()));
    assert_eq!(told["counts"]["KL09"], 1);
    assert_eq!(told["families"]["recommender.liked_posts"]["keys"], 2);
    let first = &told["findings"][0];
    assert_eq!((&first["code"], &first["key"]), (&"KL09".into(), &"13_liked_posts".into()));
    assert_eq!((&first["severity"], &first["places"]), (&"problem".into(), &2.into()));
}

#[test]
fn lint_of_one_family_with_a_limit_tells_what_it_leaves_out() {
    let server = seeded(&["SET example:a x", "SET example:b x", "SET who:am:i 1"]);
    let run = lint(&server, "--family progress.example --limit 1");
    assert_eq!(run.code, Some(10));
    assert_eq!(
        run.stdout.lines().next(),
        Some("KL03 example:a: has no TTL; it must expire within 600 s")
    );
    assert!(run.stderr.ends_with("3 findings not listed; --limit lists more\n"), "{run:?}");
    let run = lint(&server, "--family progress.exampel");
    assert_eq!(run.code, Some(3));
    assert_eq!(
        run.failure().1,
        Some("hint: did you mean \"progress.example\"? \"keyrack keys list\" shows all")
    );
}

#[test]
fn reports_about_secret_values_do_not_tell_them() {
    let long = "hushhush".repeat(40);
    let server = seeded(&[
        &format!("HSET calculations:tokens:7 2 {long}"),
        &format!("HSET calculations:admins {long} never"),
        "HSET identity:token:ep_ut_uid_x digest hushhush parent hushhush role none",
        &format!("ZADD identity:tokens:alice 1 {long}"),
        "ZADD checkout:open:alice 1 hushhush",
        "HSET entitlements:customer:alice revenue_cat_id hushhush created_at never",
    ]);
    for line in ["keys lint", "keys lint --json", "keys infer", "keys infer --all", "store stats"] {
        let run = Run::line(&format!("{line} --store {}", server.url()));
        assert!(run.code != Some(2) && !run.stdout.is_empty(), "{run:?}");
        assert!(!run.stdout.contains("hushhush") && !run.stderr.contains("hushhush"), "{run:?}");
    }
    let run = lint(&server, "");
    assert!(run.stdout.contains("field (hidden): expected unix time"), "{run:?}");
    let explained = printed("keys explain entitlements:customer:alice");
    assert!(explained.contains("secret      names and content are for admins only"), "{explained}");
    assert!(explained.contains("revenue_cat_id      text (secret): "), "{explained}");
}

#[test]
fn lint_of_an_unreachable_store_ends_with_6() {
    let run = Run::line("keys lint --store redis://127.0.0.1:1");
    assert_eq!(run.code, Some(6), "{run:?}");
}

#[test]
fn infer_prints_declarations() {
    let server = seeded(&["SET page:1:hits 3", "SET page:2:hits 4", "SET rjobs:hash 1"]);
    let run = Run::line(&format!("keys infer --store {}", server.url()));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_snapshot!(settled(&format!("{}---\n{}", run.stdout, run.stderr), &server));
}

#[test]
fn acl_line_loads_into_a_server() {
    let server = RedisServer::start();
    let run = Run::line("keys acl --user app --password pw --projects 1");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let rules: Vec<&str> = run.stdout.trim().split(' ').skip(1).collect();
    redis::cmd("ACL").arg("SETUSER").arg(rules).exec(&mut server.connection()).unwrap();
    let run = Run::line(&format!("keys lint --store redis://app:pw@{}", server.addr()));
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn acl_takes_its_password_from_the_environment_and_says_when_there_is_none() {
    let dir = TempDir::new().unwrap();
    let mut command = keyrack(dir.path());
    command.args(["keys", "acl"]).env("KEYRACK_ACL_PASSWORD", "pw");
    let from_env = Run::of(command);
    assert_eq!(from_env.stdout, Run::line("keys acl --password pw").stdout);
    let without = Run::line("keys acl");
    assert!(without.stdout.starts_with("user keyrack reset on ~"), "{without:?}");
    assert!(without.stderr.contains("nobody can log in"), "{without:?}");
}

#[test]
fn acl_for_calculations_needs_their_projects() {
    let without = Run::line("keys acl --password pw --services calculations");
    assert_eq!(without.code, Some(2), "{without:?}");
    assert!(without.stderr.contains("--projects"), "{without:?}");
    let unknown = Run::line("keys acl --services job");
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.contains("jobs, progress"), "{unknown:?}");
    let all = Run::line("keys acl --password pw");
    assert!(all.stderr.contains("may not access calculations"), "{all:?}");
    assert!(!all.stdout.contains(" ~*:"), "{all:?}");
    let jobs = Run::line("keys acl --password pw --services jobs,progress");
    assert_eq!((jobs.code, jobs.stderr.as_str()), (Some(0), ""));
    assert!(jobs.stdout.contains(" ~bee:") && jobs.stdout.contains(" ~trace:"), "{jobs:?}");
    assert!(!jobs.stdout.contains("entitlements"), "{jobs:?}");
}
