//! The nightly load, on every store and from every kind of source.

use std::{fs, ops::ControlFlow};

use keyrack_recommender::{Error, Files, Memory, Names, Source, Sql, Table};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store_at, simulated_store};
use sqlx::{AnyConnection, Connection as _, Executor as _};

use crate::world::{LOADED, NOON, ROWS, app, assert_declared, dump, ms, recommender, sync};

#[tokio::test]
async fn every_key_has_its_literal_value_after_a_first_load() {
    on_every_store_at(ms(NOON), async |store, _| {
        let synced = sync(&store, &mut app()).await;
        assert_eq!(dump(&store).await, LOADED);
        assert_declared(&store).await;
        assert_eq!((synced.posts, synced.private, synced.breaks), (3, 1, 2));
        assert_eq!((synced.reactions, synced.skipped), (4, 3));
    })
    .await;
}

#[tokio::test]
async fn a_second_load_on_the_same_day_changes_nothing() {
    on_every_store_at(ms(NOON), async |store, clock| {
        sync(&store, &mut app()).await;
        clock.advance_ms(3_600_000);
        let synced = sync(&store, &mut app()).await;
        assert_eq!(dump(&store).await, LOADED);
        assert!(!synced.new_day);
        assert_eq!((synced.posts, synced.removed, synced.reactions), (0, 0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_new_row_is_loaded_though_an_old_one_was_deleted() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = app();
        sync(&store, &mut app).await;
        app.rows(Table::Posts).retain(|row| row[0].as_deref() != Some("101"));
        app.push(Table::Posts, &["108", "11", "1", "2024-01-12 00:00:00", "Sun"]);
        app.rows(Table::Reactions).remove(0);
        app.push(Table::Reactions, &["6", "108", "12", "0"]);
        sync(&store, &mut app).await;
        let lines = dump(&store).await;
        assert!(lines.contains(&"clg1posts: 100=100 108=108".into()), "{lines:?}");
        assert!(lines.contains(&"12_liked_posts: 100 108".into()), "{lines:?}");
        assert!(lines.contains(&"10_liked_posts: 103".into()), "{lines:?}");
        assert!(lines.contains(&"db_len: clg=5 mmbr=6 post=8 reaction=5 tracking=2".into()));
    })
    .await;
}

#[tokio::test]
async fn a_challenge_that_becomes_private_takes_its_posts_along() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = app();
        sync(&store, &mut app).await;
        app.rows(Table::Challenges)[0][2] = Some("0".into());
        let synced = sync(&store, &mut app).await;
        assert_eq!(synced.removed, 2);
        let lines = dump(&store).await;
        assert!(
            !lines.iter().any(|line| line.starts_with("recent_posts_for_category1")),
            "{lines:?}"
        );
        assert!(!lines.iter().any(|line| line.starts_with("clg1posts")), "{lines:?}");
    })
    .await;
}

#[tokio::test]
async fn a_post_that_moves_to_another_category_keeps_its_day() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = app();
        sync(&store, &mut app).await;
        app.rows(Table::Posts)[1][2] = Some("3".into());
        sync(&store, &mut app).await;
        let lines = dump(&store).await;
        assert!(lines.contains(&"recent_posts_for_category1: 100=0".into()), "{lines:?}");
        assert!(lines.contains(&"recent_posts_for_category4: 101=6 103=6".into()), "{lines:?}");
        assert!(lines.contains(&"clg3posts: 101=101 103=103".into()), "{lines:?}");
    })
    .await;
}

#[tokio::test]
async fn a_rebuild_gives_what_a_first_load_gives() {
    on_every_store_at(ms(NOON), async |store, _| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        let mut watch = |_| ControlFlow::Continue(());
        service.rebuild(&mut app(), &mut watch).await.expect("a rebuild");
        assert_eq!(dump(&store).await, LOADED);
    })
    .await;
}

#[tokio::test]
async fn sqlite_gives_the_same_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("app.db").display());
    fill(&url, "BOOLEAN").await;
    on_every_store_at(ms(NOON), async |store, _| {
        let mut source = Sql::open(&url, Names::default()).await.expect("a database");
        sync(&store, &mut source).await;
        assert_eq!(dump(&store).await, LOADED);
    })
    .await;
}

#[tokio::test]
async fn csv_and_ndjson_give_the_same_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    for (table, values) in ROWS {
        let path = folder.path().join(format!("{}.{}", table.name(), ending(*table)));
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        if *table == Table::Posts {
            let names = table.columns().iter().map(|name| (*name).to_owned());
            let values = values.iter().map(|value| serde_json::Value::from(*value));
            let object: serde_json::Map<_, _> = names.zip(values).collect();
            text.push_str(&format!("{}\n", serde_json::Value::Object(object)));
        } else {
            if text.is_empty() {
                text = format!("{}\n", table.columns().join(","));
            }
            text.push_str(&format!("{}\n", values.join(",")));
        }
        fs::write(&path, text).expect("a file");
    }
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let mut files = Files::open(folder.path(), &Names::default()).expect("good files");
    sync(&store, &mut files).await;
    assert_eq!(dump(&store).await, LOADED);
}

fn ending(table: Table) -> &'static str {
    if table == Table::Posts { "ndjson" } else { "csv" }
}

#[tokio::test]
async fn what_is_wrong_with_a_database_is_told() {
    let open = async |url: &str| Sql::open(url, Names::default()).await.map(|_| ());
    let Err(Error::Invalid { what }) = open("oracle://x").await else { panic!("refused") };
    assert!(what.contains("no known kind"), "{what}");
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("app.db").display());
    let mut source = Sql::open(&url, Names::default()).await.expect("a database");
    let error = source.len(Table::Posts).await.expect_err("no table");
    assert!(error.to_string().contains("\"post\""), "{error}");
}

#[tokio::test]
async fn two_loads_at_once_count_nothing_twice() {
    let (store, _clock) = simulated_store(ms(NOON), 1).await;
    let (one, other) = (recommender(&store), recommender(&store));
    let (mut a, mut b): (Memory, Memory) = (app(), app());
    let (mut go_on, mut go_on_too) = (|_| ControlFlow::Continue(()), |_| ControlFlow::Continue(()));
    let (a, b) = tokio::join!(one.sync(&mut a, &mut go_on), other.sync(&mut b, &mut go_on_too));
    for ended in [a, b] {
        assert!(matches!(ended, Ok(_) | Err(Error::Busy)), "{ended:?}");
    }
    sync(&store, &mut app()).await;
    assert_eq!(dump(&store).await, LOADED);
}

/// Makes the app's tables in a database.
pub(crate) async fn fill(url: &str, boolean: &str) {
    sqlx::any::install_default_drivers();
    let mut db = AnyConnection::connect(url).await.expect("a database");
    let tables = [
        format!("CREATE TABLE challenge (id INTEGER PRIMARY KEY, category INTEGER, is_public {boolean}, duration INTEGER, created_time TIMESTAMP)"),
        "CREATE TABLE groupchallengemembers (challenge_id INTEGER, user_id INTEGER, PRIMARY KEY (challenge_id, user_id))".to_owned(),
        "CREATE TABLE post (id INTEGER PRIMARY KEY, user_id INTEGER, challenge_id INTEGER, created_time TIMESTAMP, written_text TEXT)".to_owned(),
        format!("CREATE TABLE user_reaction_log (log_id INTEGER PRIMARY KEY, post_id INTEGER, user_id INTEGER, is_cancelled {boolean})"),
        format!("CREATE TABLE tracking (follower_id INTEGER, challenge_id INTEGER, is_terminated {boolean})"),
    ];
    for table in tables {
        db.execute(table.as_str()).await.expect("a table");
    }
    for (table, values) in ROWS {
        let names = table.columns().iter().zip(*values);
        let values = names.map(|(name, value)| match (*name, *value) {
            (_, "") => "NULL".to_owned(),
            (name, value) if name.starts_with("is_") => {
                if value == "1" { "TRUE" } else { "FALSE" }.to_owned()
            }
            (_, value) => format!("'{}'", value.replace('\'', "''")),
        });
        let (columns, values) = (table.columns().join(", "), values.collect::<Vec<_>>().join(", "));
        let insert = format!("INSERT INTO {} ({columns}) VALUES ({values})", table.name());
        db.execute(insert.as_str()).await.expect("a row");
    }
}

#[tokio::test]
async fn an_empty_app_gives_no_posts_and_no_error() {
    on_every_store_at(ms(NOON), async |store: Store, _| {
        let synced = sync(&store, &mut Memory::default()).await;
        assert_eq!((synced.posts, synced.skipped), (0, 0));
        assert_declared(&store).await;
    })
    .await;
}
