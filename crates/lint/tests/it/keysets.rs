//! Databases of well-known libraries, recorded in `keysets/dumps`: what is inferred from them fits them, and none of
//! their keys counts as one of ours.

use std::fs;
use std::path::PathBuf;

use keyrack_contract::registry;
use keyrack_keys::Registry;
use keyrack_keys::file::{Source, read};
use keyrack_lint::{InferOptions, Options, Report, declarations, infer, lint};
use keyrack_store::Store;

fn keysets() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../keysets")
}

/// Each line is a command; each character of its words is a byte.
async fn load(store: &Store, dump: &str) {
    for line in dump.lines() {
        let words: Vec<String> = serde_json::from_str(line).unwrap();
        let bytes = |word: &String| word.chars().map(|letter| letter as u8).collect::<Vec<u8>>();
        let mut cmd = redis::cmd(&words[0]);
        words[1..].iter().for_each(|word| {
            cmd.arg(bytes(word));
        });
        let reply: redis::RedisResult<redis::Value> =
            cmd.query_async(&mut store.connection()).await;
        reply.unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

async fn report(store: &Store, text: &str) -> Report {
    let documents = read(&[Source { name: "keyset", text }])
        .unwrap_or_else(|errors| panic!("{}\n{text}", errors[0]));
    let registry = Registry::new(&[&documents[0].families]);
    lint(store, &registry, &Options::default(), |_| {}).await.unwrap()
}

fn told(report: &Report) -> Vec<String> {
    report.findings.iter().map(ToString::to_string).collect()
}

/// The recordings have streams, so they need a real server.
#[tokio::test(flavor = "multi_thread")]
async fn inferred_files_fit_their_databases() {
    let mut seen = 0;
    for file in fs::read_dir(keysets().join("dumps")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let server = keyrack_testkit::RedisServer::start();
        let store = Store::open(&server.url()).await.unwrap();
        load(&store, &fs::read_to_string(&path).unwrap()).await;

        let ours = lint(&store, registry(), &Options::default(), |_| {}).await.unwrap();
        assert!(ours.families.is_empty(), "{name}: {:?}", ours.families);

        let inference = infer(&store, registry(), &InferOptions::default(), |_| {}).await.unwrap();
        assert_eq!((inference.declared, inference.undeclarable), (0, 0), "{name}");
        let text = declarations(&inference, &name);
        let inferred = report(&store, &text).await;
        assert!(inferred.is_clean(), "{name}: {:#?}\n{text}", told(&inferred));

        let shipped = keysets().join(format!("{name}.keys.toml"));
        let shipped = report(&store, &fs::read_to_string(&shipped).unwrap()).await;
        assert!(shipped.is_clean(), "{name}: {:#?}", told(&shipped));
        seen += 1;
    }
    assert_eq!(seen, 6);
}
