//! `keyrack keys` with keys files of another program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use keyrack_testkit::RedisServer;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Run, Serve};

const SHOP: &str = r#"format = 1

[document]
name = "shop"
owner = "checkout team"
text = "What the shop keeps in Redis."
writers = ["shop"]

[parts]
user = "text"
order = "integer"

[keys.order]
template = "order:<order>"
type = "hash"
text = "One order."
ttl = "30d"
readers = ["mailer"]
example = "order:7"

[keys.order.fields]
user = { is = "id", part = "user", text = "Who bought." }
total = "decimal"

[keys.basket]
template = "basket:<user>"
type = "set"
member = { is = "reference", to = "order" }
ttl = "1h"
max_items = 10
example = "basket:ann"

[channels.orders]
template = "ps:orders"
message = { is = "reference", to = "order" }
readers = ["mailer"]
example = "ps:orders"
"#;

fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("shop.keys.toml"), SHOP).unwrap();
    dir
}

fn seeded(lines: &[&str]) -> RedisServer {
    let server = RedisServer::start();
    for line in lines {
        let mut words = line.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap());
        words.for_each(|word| {
            cmd.arg(word);
        });
        cmd.exec(&mut server.connection()).unwrap();
    }
    server
}

#[test]
fn file_takes_the_place_of_our_own_declarations() {
    let dir = folder();
    let list = Run::line_in(dir.path(), "keys list --keys shop.keys.toml");
    assert_eq!(list.stdout.lines().count(), 4, "{list:?}");
    let explained = Run::line_in(dir.path(), "keys explain order:7 --keys shop.keys.toml");
    assert!(explained.stdout.contains("family      shop.order"), "{explained:?}");
    let markdown = Run::line_in(dir.path(), "keys doc --keys shop.keys.toml").stdout;
    assert!(
        markdown.starts_with("# Keys and channels of shop\n\nWhat the shop keeps"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| `basket:<user>` | set | always, within 3600 s | checkout team |\n")
    );
    let page = Run::line_in(dir.path(), "keys doc --html --keys shop.keys.toml").stdout;
    assert!(page.starts_with("<!doctype html>") && page.contains("order:&lt;order&gt;"), "{page}");
    assert!(!page.contains("http"), "the page needs no other host");
    let both = Run::line_in(dir.path(), "keys list --keys keyrack,shop.keys.toml").stdout;
    assert!(both.contains("jobs.bee.queue") && both.contains("shop.order"));
}

#[test]
fn files_can_be_named_in_the_settings() {
    let dir = folder();
    fs::write(dir.path().join("keyrack.toml"), "keys = [\"shop.keys.toml\"]\n").unwrap();
    let explained = Run::line_in(dir.path(), "keys explain basket:ann");
    assert!(explained.stdout.contains("shop.basket"), "{explained:?}");
}

#[test]
fn wrong_file_is_told_with_line_and_field() {
    let dir = folder();
    fs::write(dir.path().join("x.keys.toml"), SHOP.replace("\"30d\"", "\"soon\"")).unwrap();
    let run = Run::line_in(dir.path(), "keys list --keys x.keys.toml");
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("x.keys.toml:17:7: keys.order.ttl: \"soon\" is no TTL rule"),
        "{run:?}"
    );
    let run = Run::line_in(dir.path(), "keys list --keys none.keys.toml");
    assert_eq!(run.code, Some(3), "{run:?}");
}

#[test]
fn lint_compares_a_database_with_the_file() {
    let dir = folder();
    let server = seeded(&[
        "HSET order:7 user ann total 9.50",
        "EXPIRE order:7 1000",
        "SADD basket:ann 7",
        "EXPIRE basket:ann 100",
    ]);
    let line = format!("keys lint --keys shop.keys.toml --store {}", server.url());
    let clean = Run::line_in(dir.path(), &line);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    redis::cmd("SADD").arg("basket:ann").arg(8).exec(&mut server.connection()).unwrap();
    let found = Run::line_in(dir.path(), &line);
    assert_eq!(found.code, Some(10), "{found:?}");
    assert!(
        found.stdout.starts_with("KL12 basket:ann: member \"8\" refers to order:8"),
        "{found:?}"
    );
}

#[test]
fn check_ends_with_10_and_speaks_the_languages_of_ci() {
    let dir = folder();
    let clean = Run::line_in(dir.path(), "keys check --keys shop.keys.toml");
    assert_eq!((clean.code, clean.stdout.as_str()), (Some(0), ""), "{clean:?}");
    fs::write(dir.path().join("x.keys.toml"), SHOP.replace("ttl = \"1h\"\nmax_items = 10\n", ""))
        .unwrap();
    let found = Run::line_in(dir.path(), "keys check --keys x.keys.toml");
    assert_eq!(found.code, Some(10), "{found:?}");
    assert!(found.stdout.starts_with("x.keys.toml:25: KC02 shop.basket: no TTL rule"), "{found:?}");
    let allowed = Run::line_in(dir.path(), "keys check --keys x.keys.toml --allow KC02,KC03");
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let json: Value = serde_json::from_str(
        &Run::line_in(dir.path(), "keys check --keys x.keys.toml --json").stdout,
    )
    .unwrap();
    assert_eq!(
        (json["problems"].as_u64(), json["findings"][0]["line"].as_u64()),
        (Some(2), Some(25))
    );
    let sarif = Run::line_in(dir.path(), "keys check --keys x.keys.toml --format sarif").stdout;
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let result = &sarif["runs"][0]["results"][1];
    assert_eq!(result["ruleId"], "KC03");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 25);
    let github = Run::line_in(dir.path(), "keys check --keys x.keys.toml --format github").stdout;
    assert!(
        github.starts_with(
            "::error file=x.keys.toml,line=25,title=KC02 family without a TTL rule::shop.basket: "
        ),
        "{github}"
    );
}

#[test]
fn diff_says_what_breaks_and_which_version_comes_next() {
    let dir = folder();
    fs::write(dir.path().join("new.keys.toml"), SHOP.replace("total = \"decimal\"\n", "")).unwrap();
    let run = Run::line_in(dir.path(), "keys diff shop.keys.toml new.keys.toml");
    assert!(
        run.stdout.starts_with("shop.order: field total removed (breaks readers)\n"),
        "{run:?}"
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), "next version: major\n"));
    assert_eq!(
        Run::line_in(dir.path(), "keys diff --check shop.keys.toml new.keys.toml").code,
        Some(10)
    );
}

#[test]
fn fmt_changes_only_the_layout() {
    let dir = folder();
    let loose = SHOP.replace("type = \"set\"", "type=\"set\"   # why");
    fs::write(dir.path().join("x.keys.toml"), &loose).unwrap();
    assert_eq!(Run::line_in(dir.path(), "keys fmt --check x.keys.toml").code, Some(10));
    assert_eq!(Run::line_in(dir.path(), "keys fmt x.keys.toml shop.keys.toml").code, Some(0));
    let after = fs::read_to_string(dir.path().join("x.keys.toml")).unwrap();
    assert_eq!(after, SHOP.replace("type = \"set\"", "type = \"set\" # why"));
    assert_eq!(fs::read_to_string(dir.path().join("shop.keys.toml")).unwrap(), SHOP);
}

#[test]
fn own_declarations_are_exported_as_a_file_that_can_be_used() {
    let dir = folder();
    let text = Run::line_in(dir.path(), "keys export").stdout;
    fs::write(dir.path().join("own.keys.toml"), &text).unwrap();
    let again = Run::line_in(dir.path(), "keys list --keys own.keys.toml").stdout;
    let own = Run::line_in(dir.path(), "keys list").stdout;
    let lines = |text: &str| -> std::collections::BTreeSet<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(lines(&again), lines(&own));
    let schema = Run::line_in(dir.path(), "keys schema").stdout;
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "Keys file");
}

#[test]
fn program_may_do_what_the_file_says_and_nothing_else() {
    let dir = folder();
    let server = RedisServer::start();
    let user = |program: &str| {
        let line = format!("keys acl --program {program} --password pw --keys shop.keys.toml");
        let run = Run::line_in(dir.path(), &line);
        let rules: Vec<&str> = run.stdout.trim().split(' ').skip(1).collect();
        redis::cmd("ACL").arg("SETUSER").arg(rules).exec(&mut server.connection()).unwrap();
        let url = format!("redis://{program}:pw@{}", server.addr());
        redis::Client::open(url).unwrap().get_connection().unwrap()
    };
    let (mut shop, mut mailer) = (user("shop"), user("mailer"));
    let send = |connection: &mut redis::Connection, line: &str| -> Result<(), String> {
        let mut words = line.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap());
        words.for_each(|word| {
            cmd.arg(word);
        });
        cmd.query::<redis::Value>(connection)
            .map(drop)
            .map_err(|error| error.code().unwrap_or("").to_owned())
    };
    let refused = Err("NOPERM".to_owned());
    for line in [
        "HSET order:7 user ann total 1",
        "EXPIRE order:7 100",
        "SADD basket:ann 7",
        "PUBLISH ps:orders 7",
    ] {
        assert_eq!(send(&mut shop, line), Ok(()), "{line}");
    }
    for line in [
        "SET other 1",
        "KEYS *",
        "CONFIG GET *",
        "FLUSHALL",
        "PUBLISH other x",
        "HSET orders:7 a b",
    ] {
        assert_eq!(send(&mut shop, line), refused, "{line}");
    }
    assert_eq!(send(&mut mailer, "HGETALL order:7"), Ok(()));
    for line in
        ["HSET order:7 total 2", "DEL order:7", "SMEMBERS basket:ann", "PUBLISH ps:orders 7"]
    {
        assert_eq!(send(&mut mailer, line), refused, "{line}");
    }
    // Who writes one channel and reads another may not write that one.
    let more = "[channels.stock]\ntemplate = \"ps:stock\"\nmessage = \"integer\"\nwriters = [\"depot\"]\nreaders = [\"shop\"]\n";
    fs::write(dir.path().join("shop.keys.toml"), format!("{SHOP}\n{more}")).unwrap();
    let (mut shop, mut depot) = (user("shop"), user("depot"));
    for (line, expected) in [
        ("PUBLISH ps:orders 7", Ok(())),
        ("HSET order:7 total 2", Ok(())),
        ("PUBLISH ps:stock 7", refused.clone()),
        ("SUBSCRIBE ps:stock", Ok(())),
    ] {
        assert_eq!(send(&mut shop, line), expected, "{line}");
    }
    assert_eq!(send(&mut depot, "PUBLISH ps:stock 7"), Ok(()));
    assert_eq!(send(&mut depot, "PUBLISH ps:orders 7"), refused);
    let unknown = Run::line_in(dir.path(), "keys acl --program nobody --keys shop.keys.toml");
    assert_eq!(unknown.code, Some(3));
    assert!(unknown.stderr.contains("programs are depot, mailer, shop"), "{unknown:?}");
}

#[test]
fn inferred_file_lints_clean_and_takes_in_what_is_new() {
    let dir = folder();
    let server = seeded(&["SET page:1:hits 3", "SET page:2:hits 4", "SADD seen:a b"]);
    let store = format!("--store {}", server.url());
    let inferred = Run::line_in(dir.path(), &format!("keys infer --name site {store}")).stdout;
    let path = dir.path().join("site.keys.toml");
    fs::write(&path, format!("# ours\n{inferred}")).unwrap();
    let lint = format!("keys lint --keys site.keys.toml {store}");
    assert_eq!(Run::line_in(dir.path(), &lint).code, Some(0), "{inferred}");
    redis::cmd("LPUSH").arg("mail:1").arg("x").exec(&mut server.connection()).unwrap();
    assert_eq!(Run::line_in(dir.path(), &lint).code, Some(10));
    let update = Run::line_in(dir.path(), &format!("keys infer --update site.keys.toml {store}"));
    assert_eq!(update.code, Some(0), "{update:?}");
    assert_eq!(Run::line_in(dir.path(), &lint).code, Some(0));
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with(&format!("# ours\n{inferred}")) && text.contains("mail:<mail>"),
        "{text}"
    );
}

#[test]
fn update_leaves_out_what_other_files_declare() {
    let dir = folder();
    let server = seeded(&["HSET order:7 user ann total 1", "SET page:1 x", "SET page:2 x"]);
    let store = format!("--store {}", server.url());
    let site = "format = 1\n\n[document]\nname = \"site\"\n";
    fs::write(dir.path().join("site.keys.toml"), site).unwrap();
    let line = format!("keys infer --update site.keys.toml --keys shop.keys.toml {store}");
    let updated = Run::line_in(dir.path(), &line);
    assert_eq!(updated.code, Some(0), "{updated:?}");
    let text = fs::read_to_string(dir.path().join("site.keys.toml")).unwrap();
    assert!(text.contains("page:<page>") && !text.contains("order:"), "{text}");
    // The file knows its own keys, whichever other files are named.
    assert_eq!(Run::line_in(dir.path(), &line).code, Some(0));
    assert_eq!(fs::read_to_string(dir.path().join("site.keys.toml")).unwrap(), text);
}

#[test]
fn page_of_text_becomes_a_draft() {
    let dir = folder();
    fs::write(
        dir.path().join("page.md"),
        "# keys\n\n- `seen:{user}` a set of articles\n\n## pubsub\n\n- `ps:seen`: sent when\n",
    )
    .unwrap();
    let run = Run::line_in(dir.path(), "keys import page.md --name site");
    assert_eq!(run.stderr, "1 key and 1 channel; \"# unsure\" marks guesses\n");
    fs::write(dir.path().join("site.keys.toml"), &run.stdout).unwrap();
    let list = Run::line_in(dir.path(), "keys list --keys site.keys.toml").stdout;
    assert!(list.contains("seen:<user>") && list.contains("ps:seen"), "{list}");
    fs::write(dir.path().join("none.md"), "nothing here\n").unwrap();
    assert_eq!(Run::line_in(dir.path(), "keys import none.md").code, Some(3));
}

#[test]
fn key_browser_shows_the_keys_of_files() {
    let dir = folder();
    let serve = Serve::start_with(dir.path(), "--keys shop.keys.toml", &[]);
    let mut hset = redis::cmd("HSET");
    hset.arg(&["order:7", "user", "ann", "total", "9.50"]).exec(&mut serve.redis()).unwrap();
    let (_, families) = serve.get("/keys");
    assert!(families.contains("shop.order") && families.contains("jobs.bee.queue"), "{families}");
    let (_, family) = serve.get("/keys/shop.order");
    assert!(family.contains("One order.") && family.contains("order:7"), "{family}");
    let (_, key) = serve.get("/key?name=order:7");
    assert!(key.contains("9.50") && key.contains("Who bought."), "{key}");
    let wrong = SHOP.replace("\"30d\"", "\"soon\"");
    fs::write(dir.path().join("wrong.keys.toml"), wrong).unwrap();
    let refused = Run::line_in(dir.path(), "serve --keys wrong.keys.toml --data other");
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Types that the embedded engine does not have, so the store is a real server.
const MORE: &str = r#"
[keys.visits]
template = "visits:<user>"
type = "stream"
fields = { at = "unix-ms", bot = { is = "boolean", no = "0", yes = "1", text = "No person." } }

[keys.profile]
template = "profile:<user>"
type = "string"
value = "msgpack"

[keys.days]
template = "days:<user>"
type = "bitmap"

[keys.seen]
template = "seen:<user>"
type = "hyperloglog"
"#;

#[test]
fn key_browser_tells_what_values_mean_and_what_families_take() {
    let dir = folder();
    fs::write(dir.path().join("shop.keys.toml"), format!("{SHOP}{MORE}")).unwrap();
    let server = seeded(&[
        "XADD visits:ann 1000-0 at 1000 bot 1",
        "XADD visits:ann 2000-0 at 2000 bot 0",
        "SETBIT days:ann 3 1",
        "PFADD seen:ann a b c",
        "PFCOUNT seen:ann",
    ]);
    let mut set = redis::cmd("SET");
    set.arg("profile:ann").arg(b"\x82\xa1n\x07\xa2ok\xc3").exec(&mut server.connection()).unwrap();
    let arguments = format!("--keys shop.keys.toml --store {}", server.url());
    let serve = Serve::start_with(dir.path(), &arguments, &[]);
    let page = |name: &str| serve.get(&format!("/key?name={name}")).1;
    let visits = page("visits:ann");
    assert!(visits.contains("stream, 2 entries") && visits.contains("No person."), "{visits}");
    assert!(visits.contains("1000-0 bot") && visits.contains("<small>true</small>"), "{visits}");
    let (first, last) = (visits.find("1000-0 at"), visits.find("2000-0 at"));
    assert!(last < first && visits.contains("<small>1970-01-01 00:00:02 UTC</small>"), "{visits}");
    let profile = page("profile:ann");
    let json = "<small>{&#34;n&#34;:7,&#34;ok&#34;:true}</small>";
    assert!(profile.contains(json), "{profile}");
    assert!(page("days:ann").contains("<small>set bits: 3</small>"));
    assert!(page("seen:ann").contains("<small>about 3</small>"));

    keyrack_testkit::wait_for("the memory of each family", || {
        let (_, families) = serve.get("/keys");
        let measured = |id: &str| {
            let (_, row) = families.split_once(&format!("href=\"/keys/{id}\""))?;
            let (row, _) = row.split_once("</tr>")?;
            let (_, memory) = row.split_once("number memory\">")?;
            memory.starts_with(|first: char| ('1'..='9').contains(&first)).then_some(())
        };
        ["shop.visits", "shop.profile", "shop.days", "shop.seen"].into_iter().try_for_each(measured)
    });
}

#[test]
fn server_checks_its_store_all_the_time_if_asked_to() {
    let dir = folder();
    fs::write(dir.path().join("keyrack.toml"), "keys = [\"shop.keys.toml\"]\n").unwrap();
    let server = seeded(&[
        "HSET order:7 user ann total 9.50",
        "EXPIRE order:7 1000",
        "HSET order:8 user bob total much",
        "SET what:1 x",
    ]);
    let arguments = format!("--store {} --lint-watch 100000", server.url());
    let serve = Serve::start_with(dir.path(), &arguments, &[]);
    let metrics = keyrack_testkit::wait_for("the end of a walk", || {
        let (_, body) = serve.get("/metrics");
        body.contains("keyrack_lint_walks_total").then_some(body)
    });
    // It does not expire, and "much" is no number.
    let violations = "keyrack_lint_family_violations{family=\"shop.order\"} 2\n";
    assert!(metrics.contains(violations), "{metrics}");
    assert!(metrics.contains("keyrack_lint_family_keys{family=\"shop.order\"} 2\n"), "{metrics}");
    assert!(metrics.contains("keyrack_lint_family_memory_bytes{family=\"shop.order\"} "));
    assert!(metrics.contains("keyrack_lint_undeclared_keys 1\n"), "{metrics}");
    let wrong = Run::line("serve --store embedded:memory --lint-watch often");
    let error = "error: \"lint-watch\" cannot be \"often\"; give keys a second, or \"off\"";
    assert_eq!((wrong.code, wrong.failure().0), (Some(2), error));
}

#[test]
fn every_keys_file_is_as_the_schema_for_editors_says() {
    let dir = folder();
    let schema = Run::line("keys schema").stdout;
    fs::write(dir.path().join("schema.json"), schema).unwrap();
    fs::write(dir.path().join("own.keys.toml"), Run::line("keys export").stdout).unwrap();
    let wrong = SHOP.replace("type = \"hash\"", "type = \"table\"").replace("ttl = ", "tll = ");
    fs::write(dir.path().join("wrong.toml"), wrong).unwrap();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let files = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.to_string_lossy().ends_with(".keys.toml"))
    };
    let mut paths: Vec<PathBuf> = files(workspace.join("keysets"))
        .chain(files(workspace.join("crates/keys/tests")))
        .chain(files(workspace.join("crates/lint/tests/planted")))
        .chain(files(dir.path().to_owned()))
        .collect();
    paths.sort();
    assert!(paths.len() >= 10, "{paths:?}");
    let python = workspace.join("target/clients/api/bin/python");
    assert!(python.exists(), "\"{}\" is missing; run `cargo xtask setup`", python.display());
    let errors = |path: &Path| {
        let mut command = std::process::Command::new(&python);
        command.current_dir(dir.path()).args(["-c", VALIDATE]).arg(path);
        let run = Run::of(command);
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    };
    for path in paths {
        assert_eq!(errors(&path), "", "{}", path.display());
    }
    let wrong = errors(&dir.path().join("wrong.toml"));
    assert!(wrong.contains("'tll'") && wrong.lines().count() >= 2, "{wrong}");
}

/// Prints what is wrong with a keys file, a line each.
const VALIDATE: &str = "
import json, sys, tomllib, jsonschema_rs
validator = jsonschema_rs.validator_for(json.load(open('schema.json')))
for error in validator.iter_errors(tomllib.load(open(sys.argv[1], 'rb'))):
    print(error.instance_path, error.message)
";
