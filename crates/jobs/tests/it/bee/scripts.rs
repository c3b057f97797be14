//! The scripts themselves: they name the keys that are declared, and no variable that is not there.

mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use keyrack_jobs::bee::keys::{
    self, Group, Hostname, Jid, JobHash, LimitName, QueueName, RateMs, Tag, Tenant, WorkerId,
};
use keyrack_keys::{Key, Layout};
use keyrack_store::{Script, Source, Store};
use keyrack_testkit::RedisServer;

/// Keys that no script names: they belong to no group.
const GLOBAL: [&str; 2] = ["queues", "hive_options"];

/// What the generated script calls its arguments: the parameters of the functions that make keys.
const PARAMETERS: [&str; 9] =
    ["jid", "name", "queue", "hash", "tenant", "worker", "host", "rate_ms", "limit"];
/// Names with everything that has a meaning in keys or patterns; ids of jobs are never coded.
const NAMES: [&str; 9] = [
    "mail~0192-x_y.z",
    "a tag: 100% {of} *?[]\\^é",
    "ein: Name {mit} 50% *",
    "#?[x]^",
    "tenant/1 ü",
    "ho-st:1:u_u:q ü%*:x{y}",
    "höst.example",
    "86400000",
    "api:example.com/v1 50% {x}",
];

/// The keys as they are declared, by the names of their families.
fn declared() -> BTreeMap<&'static str, Key> {
    let group = Group::new("bee").expect("a group");
    let [jid, name, queue, hash, tenant, worker, host, rate_ms, limit] = NAMES;
    let (jid, name) = (Jid::new(jid).expect("an id"), Tag::new(name).expect("a tag"));
    let (queue, hash) =
        (QueueName::new(queue).expect("a queue"), JobHash::new(hash).expect("a hash"));
    let tenant = Tenant::new(tenant).expect("a tenant");
    let worker = WorkerId::new(worker).expect("a worker");
    let host = Hostname::new(host).expect("a host");
    let rate_ms = RateMs::new(rate_ms.parse().expect("a number")).expect("a time");
    let limit = LimitName::new(limit).expect("a limit");
    BTreeMap::from([
        ("job", keys::job(&jid, &group)),
        ("logs", keys::logs(&jid, &group)),
        ("log_events", keys::log_events(&jid, &group)),
        ("dependencies", keys::dependencies(&jid, &group)),
        ("children", keys::children(&jid, &group)),
        ("tags", keys::tags(&name, &group)),
        ("queue", keys::queue(&queue, &group)),
        ("delayed", keys::delayed(&queue, &group)),
        ("waiting", keys::waiting(&queue, &group)),
        ("failed", keys::failed(&queue, &group)),
        ("expires", keys::expires(&queue, &group)),
        ("locks", keys::locks(&queue, &group)),
        ("reserved", keys::reserved(&queue, &group)),
        ("bees", keys::bees(&queue, &group)),
        ("workers", keys::workers(&queue, &group)),
        ("settings", keys::settings(&queue, &group)),
        ("rate", keys::rate(&queue, &group)),
        ("ranked", keys::ranked(&queue, &group)),
        ("stopping", keys::stopping(&queue, &group)),
        ("timeouts", keys::timeouts(&queue, &group)),
        ("start_by", keys::start_by(&queue, &group)),
        ("unique", keys::unique(&queue, &group)),
        ("unique_looks", keys::unique_looks(&queue, &group)),
        ("minutes", keys::minutes(&queue, &group)),
        ("times_minutes", keys::times_minutes(&queue, &group)),
        ("times_quarters", keys::times_quarters(&queue, &group)),
        ("times_hours", keys::times_hours(&queue, &group)),
        ("slowest", keys::slowest(&queue, &group)),
        ("errors", keys::errors(&queue, &group)),
        ("error_ranks", keys::error_ranks(&queue, &group)),
        ("error_mutes", keys::error_mutes(&queue, &group)),
        ("hashes", keys::hashes(&queue, &hash, &group)),
        ("tenants", keys::tenants(&queue, &group)),
        ("parked", keys::parked(&queue, &tenant, &group)),
        ("tenant_running", keys::tenant_running(&queue, &tenant, &group)),
        ("tenant_wakes", keys::tenant_wakes(&queue, &group)),
        ("tenant_rate", keys::tenant_rate(&queue, &tenant, &rate_ms, &group)),
        ("limit_held", keys::limit_held(&queue, &limit, &group)),
        ("limit_running", keys::limit_running(&queue, &limit, &group)),
        ("limit_rate", keys::limit_rate(&queue, &limit, &rate_ms, &group)),
        ("worker_locks", keys::worker_locks(&worker, &group)),
        ("lock_waits", keys::lock_waits(&worker, &jid, &group)),
        ("outbox_kinds", keys::outbox_kinds(&group)),
        ("outbox", keys::outbox(&group)),
        ("outbox_dropped", keys::outbox_dropped(&group)),
        ("queue_events", keys::queue_events(&queue, &group)),
        ("host_events", keys::host_events(&host, &group)),
        ("worker_events", keys::worker_events(&worker, &group)),
        ("scripts", keys::scripts()),
    ])
}

/// The functions of `keys.lua` that make keys: the family and the parameters of each.
fn key_functions(text: &str) -> BTreeMap<&str, &str> {
    let functions = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("local function ")?.split_once("_key(")?;
        Some((name, rest.split_once(')')?.0))
    });
    functions.collect()
}

#[tokio::test]
async fn scripts_name_the_keys_that_are_declared() {
    let text = include_str!("../../../src/bee/include/keys.lua");
    let functions = key_functions(text);
    let declared = declared();
    let families: BTreeSet<&str> = keys::FAMILIES.iter().map(|family| family.name).collect();
    let of_groups: BTreeSet<&str> =
        families.into_iter().filter(|name| !GLOBAL.contains(name)).collect();
    assert_eq!(functions.keys().copied().collect::<BTreeSet<_>>(), of_groups, "in keys.lua");
    assert_eq!(declared.keys().copied().collect::<BTreeSet<_>>(), of_groups, "in this test");

    let calls = functions.iter().map(|(name, params)| format!("{name}_key({params})"));
    let script = format!(
        "local tag, hive, now = ARGV[1], ARGV[2], ARGV[3]\n{}\n{text}\nlocal {} = unpack(ARGV, 4)\nreturn {{ {} }}",
        include_str!("../../../src/bee/include/call.lua"),
        PARAMETERS.join(", "),
        calls.collect::<Vec<_>>().join(", "),
    );
    let server = RedisServer::start();
    for url in ["embedded:memory", &server.url()] {
        let store = Store::open(url).await.expect("a store");
        for (layout, tag) in [(Layout::Documented, ""), (Layout::Cluster, "{bee}")] {
            let mut cmd = redis::cmd("EVAL");
            cmd.arg(&script).arg(0).arg(tag).arg("hive").arg(0).arg(&NAMES);
            let made: Vec<String> =
                cmd.query_async(&mut store.connection()).await.expect("the keys");
            let made: BTreeMap<&str, String> = functions.keys().copied().zip(made).collect();
            let expected: BTreeMap<&str, String> =
                declared.iter().map(|(name, key)| (*name, key.placed(layout).into())).collect();
            assert_eq!(made, expected, "on {url}");
        }
    }
}

#[tokio::test]
async fn scripts_compile_and_know_every_name_they_use() {
    let store = Store::open("embedded:memory").await.expect("a store");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let includes = scripts_below(&folder.join("bee/include"));
    let includes: &[_] = includes.iter().map(|path| file(path)).collect::<Vec<_>>().leak();
    let scripts = scripts_below(&folder);
    assert!(scripts.len() > 10, "{scripts:?}");
    for path in scripts {
        let (name, text) = file(&path);
        let script = Script::new(Source { name, text, includes });
        let body = script.body(Layout::Documented);
        let unknown = names::unknown(body);
        assert!(unknown.is_empty(), "{name} uses {unknown:?}");
        let mut cmd = redis::cmd("SCRIPT");
        cmd.arg("LOAD").arg(body);
        let loaded: Result<String, _> = cmd.query_async(&mut store.connection()).await;
        loaded.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// All scripts that are called, which are those that no other includes.
fn scripts_below(folder: &Path) -> Vec<PathBuf> {
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "include") {
            scripts.extend(scripts_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            scripts.push(path);
        }
    }
    scripts
}

/// A script's file as `include_str!` would have it: its name and text, for as long as the tests run.
fn file(path: &Path) -> (&'static str, &'static str) {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (path.display().to_string().leak(), text.leak())
}
