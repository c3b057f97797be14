//! Sources with faults: bad rows, missing columns, a database that stops answering.

use std::{fs, ops::ControlFlow};

use keyrack_recommender::{
    Error, Files, From, Memory, Names, Recommender, Request, Row, Source, Sql, Table,
};
use keyrack_testkit::on_every_store_at;
use sqlx::{AnyConnection, Connection as _, Executor as _};

use crate::{
    load::fill,
    world::{DAY_MS, LOADED, NOON, app, dump, ms, recommender, sync, user},
};

/// Tables whose posts cannot be read beyond an id, as when a connection is lost.
struct Failing {
    tables: Memory,
    posts_after: u64,
}

impl Source for Failing {
    async fn page(&mut self, table: Table, from: From, limit: usize) -> Result<Vec<Row>, Error> {
        let page = self.tables.page(table, from, limit).await?;
        let ids = page.iter().filter_map(|row| row[0].as_deref()?.parse::<u64>().ok());
        if table == Table::Posts && ids.max() > Some(self.posts_after) {
            return Err(Error::Source { table: "post".into(), reason: "connection lost".into() });
        }
        Ok(page)
    }

    async fn posts(&mut self, ids: &[u64]) -> Result<Vec<Row>, Error> {
        self.tables.posts(ids).await
    }

    async fn len(&mut self, table: Table) -> Result<u64, Error> {
        self.tables.len(table).await
    }
}

async fn try_sync(service: &Recommender, source: &mut impl Source) -> Result<(), Error> {
    service.sync(source, &mut |_| ControlFlow::Continue(())).await.map(drop)
}

#[tokio::test]
async fn nights_in_which_the_source_fails_expire_nothing_on_every_store() {
    on_every_store_at(ms(NOON), async |store, clock| {
        sync(&store, &mut app()).await;
        for _ in 0..10 {
            clock.advance_ms(DAY_MS);
            let mut failing = Failing { tables: app(), posts_after: 104 };
            let failed = try_sync(&recommender(&store), &mut failing).await;
            assert!(matches!(failed, Err(Error::Source { .. })), "{failed:?}");
            assert_eq!(dump(&store).await, LOADED);
        }
        // What the source has again, it has lost no day for.
        let synced = sync(&store, &mut app()).await;
        assert!(synced.new_day);
    })
    .await;
}

/// A database with the app's tables, and a statement that spoils it.
async fn spoiled(folder: &tempfile::TempDir, statement: &str) -> String {
    let url = format!("sqlite:{}?mode=rwc", folder.path().join("app.db").display());
    fill(&url, "BOOLEAN").await;
    let mut db = AnyConnection::connect(&url).await.expect("a database");
    db.execute(statement).await.expect("spoiled");
    url
}

#[tokio::test]
async fn rows_that_are_not_utf8_are_left_out_and_counted_in_sqlite() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad =
        "INSERT INTO post VALUES (108, 11, 1, '2024-01-11 20:00:00', CAST(x'52ff6e' AS TEXT))";
    let url = spoiled(&folder, bad).await;
    on_every_store_at(ms(NOON), async |store, _| {
        let mut source = Sql::open(&url, Names::default()).await.expect("a database");
        let synced = sync(&store, &mut source).await;
        assert_eq!((synced.posts, synced.skipped), (3, 4));
        let mut expected: Vec<String> = LOADED.iter().map(|line| (*line).to_owned()).collect();
        for line in &mut expected {
            // It was read, so it is not read again.
            *line = line.replace("post=107", "post=108").replace("post=8", "post=9");
        }
        assert_eq!(dump(&store).await, expected);
    })
    .await;
}

#[tokio::test]
async fn rows_that_are_not_utf8_are_left_out_and_counted_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, bytes: &[u8]| {
        fs::write(folder.path().join(name), bytes).expect("a file");
    };
    write("challenge.csv", b"id,category,is_public,duration,created_time\n1,0,1,30,2024-01-05\n");
    write(
        "post.csv",
        b"id,user_id,challenge_id,created_time,written_text\n\
          1,10,1,2024-01-11,\"R\xffn\"\n2,10,1,2024-01-11,Ran\n",
    );
    write(
        "user_reaction_log.ndjson",
        b"{\"log_id\":1,\"post_id\":2,\"user_id\":\"1\xff\"}\n{\"log_id\":2,\"post_id\":2,\"user_id\":\"12\"}\n",
    );
    on_every_store_at(ms(NOON), async |store, _| {
        let mut files = Files::open(folder.path(), &Names::default()).expect("good files");
        let synced = sync(&store, &mut files).await;
        assert_eq!((synced.posts, synced.reactions, synced.skipped), (1, 1, 2));
        assert!(dump(&store).await.contains(&"12_liked_posts: 2".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn a_column_that_is_missing_or_misspelt_is_named_before_anything_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let url = spoiled(&folder, "ALTER TABLE post RENAME COLUMN user_id TO author").await;
    on_every_store_at(ms(NOON), async |store, _| {
        let mut source = Sql::open(&url, Names::default()).await.expect("a database");
        let error = try_sync(&recommender(&store), &mut source).await.expect_err("no column");
        let text = error.to_string();
        assert!(text.contains("user_id") && text.contains("--rename post.COLUMN=NAME"), "{text}");
        assert_eq!(dump(&store).await, [""; 0]);

        let names = Names::parse(["post.user_id=athor"]).expect("good names");
        let mut source = Sql::open(&url, names).await.expect("a database");
        let error = try_sync(&recommender(&store), &mut source).await.expect_err("no column");
        assert!(error.to_string().contains("athor"), "{error}");

        let names = Names::parse(["post.user_id=author"]).expect("good names");
        sync(&store, &mut Sql::open(&url, names).await.expect("a database")).await;
        assert_eq!(dump(&store).await, LOADED);
        let own = recommender(&store).recommend(&Request::of(user("10"))).await.expect("a page");
        assert!(own.items.iter().all(|item| item.author_id != "10"), "{own:?}");
    })
    .await;
}

#[tokio::test]
async fn a_database_file_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("nowhere.db");
    for url in [format!("sqlite:{}", path.display()), format!("sqlite://{}", path.display())] {
        let error = Sql::open(&url, Names::default()).await.expect_err("no file");
        let text = error.to_string();
        assert!(text.contains("there is no file") && text.contains("nowhere.db"), "{text}");
    }
}

#[tokio::test]
async fn a_rebuild_keeps_tastes_learned_from_posts_that_have_left_on_every_store() {
    on_every_store_at(ms(NOON), async |store, clock| {
        let service = recommender(&store);
        sync(&store, &mut app()).await;
        clock.advance_ms(9 * DAY_MS);
        sync(&store, &mut app()).await;
        let tastes = async || -> Vec<String> {
            let lines = dump(&store).await;
            lines.into_iter().filter(|line| line.contains("_clgs_preference")).collect()
        };
        let before = tastes().await;
        assert_eq!(before, ["10_clgs_preference: 1=1", "12_clgs_preference: 1=0.4"]);
        let mut watch = |_| ControlFlow::Continue(());
        service.rebuild(&mut app(), &mut watch).await.expect("a rebuild");
        assert_eq!(tastes().await, before);
        let lines = dump(&store).await;
        for key in ["post_popularity", "10_liked_posts", "post_clg_pair"] {
            assert!(!lines.iter().any(|line| line.starts_with(key)), "{key} in {lines:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_challenge_that_changes_its_category_takes_its_posts_along_on_every_store() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = app();
        sync(&store, &mut app).await;
        app.rows(Table::Challenges)[0][1] = Some("2".into());
        sync(&store, &mut app).await;
        let lines = dump(&store).await;
        assert!(lines.contains(&"recent_posts_for_category3: 100=0 101=6".into()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with("recent_posts_for_category1")));
        assert!(lines.contains(&"clg1posts: 100=100 101=101".into()), "{lines:?}");
    })
    .await;
}

#[tokio::test]
async fn a_post_whose_date_is_no_date_is_not_new_on_every_store() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut app = app();
        app.push(Table::Posts, &["108", "11", "1", "yesterday", "Ran"]);
        app.push(Table::Posts, &["109", "11", "1", "", "Ran"]);
        let synced = sync(&store, &mut app).await;
        assert_eq!((synced.posts, synced.skipped), (3, 5), "first load");
        app.push(Table::Posts, &["110", "11", "1", "0000-00-00 00:00:00", "Ran"]);
        app.push(Table::Posts, &["111", "11", "1", "", "Ran"]);
        let synced = sync(&store, &mut app).await;
        // One that came since then and does not say when is of today.
        assert_eq!(synced.posts, 1, "second load");
        let lines = dump(&store).await;
        assert!(lines.contains(&"post_clg_pair: 100=1 101=1 103=3 111=1".into()), "{lines:?}");
    })
    .await;
}
