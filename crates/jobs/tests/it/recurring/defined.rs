//! Recurring jobs that are created, changed and deleted at run time.

use jiff::Timestamp;
use keyrack_jobs::recurring::{DEFINED_MAX, Definition, Draft, Error, Source, keys};
use keyrack_store::ServiceError as _;
use serde_json::{Value as Json, json};

use super::world::{ALONE, NOW, World, hourly, minutely, on_every_store_at};

/// A definition as HTTP clients write it.
fn draft(json: Json) -> Result<Definition, Error> {
    let draft: Draft = serde_json::from_value(json).expect("a draft");
    Definition::try_from(draft)
}

fn every(name: &str, period: &str) -> Definition {
    draft(json!({"name": name, "every": period})).expect("a good definition")
}

fn at(text: &str) -> Option<Timestamp> {
    Some(text.parse().expect("a moment"))
}

#[tokio::test]
async fn jobs_are_created_changed_and_deleted_beside_a_list_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(vec![minutely("listed")]);
        let created = recurring.create(every("poll", "10m")).await.expect("created");
        assert_eq!((created.version, created.paused), (1, false));
        let newsletter: Draft = serde_json::from_str(
            r#"{"name": "newsletter", "cron": "30 6 * * MON", "zone": "Europe/Berlin", "kwargs": {"z": 1, "a": [2]}, "queue": "mail/send", "catch_up": 3}"#,
        )
        .expect("a draft");
        let newsletter = Definition::try_from(newsletter).expect("a good definition");
        assert_eq!(recurring.create(newsletter).await.expect("created").version, 2);

        // Somebody without the list sees them too.
        let others = world.recurring(Vec::new());
        let jobs = others.list().await.expect("a list").jobs;
        let seen: Vec<_> = jobs.iter().map(|job| (job.definition.name(), job.next_run)).collect();
        assert_eq!(
            seen,
            [("newsletter", at("2022-12-12T05:30:00Z")), ("poll", at("2022-12-05T12:10:00Z"))]
        );
        let kwargs = serde_json::to_string(jobs[0].definition.kwargs()).expect("JSON");
        assert_eq!(kwargs, r#"{"z":1,"a":[2]}"#, "the order stays");
        let listing = recurring.list().await.expect("a list");
        assert!(matches!(listing.jobs[0].source, Source::List { .. }), "the list comes first");
        assert_eq!(listing.jobs.len(), 3);

        let changed = others.change(every("poll", "1h"), Some(1)).await.expect("changed");
        assert_eq!(changed.version, 3);
        let listed = &recurring.list().await.expect("a list").jobs[2];
        assert_eq!((listed.version(), listed.next_run), (Some(3), at("2022-12-05T13:00:00Z")));
        world.assert_clean().await;

        others.delete("poll", Some(3)).await.expect("deleted");
        let gone = recurring.delete("poll", None).await.expect_err("it is gone");
        assert!(matches!(gone, Error::NoSuchJob { .. }), "{gone}");
        // Versions do not come again.
        assert_eq!(recurring.create(every("poll", "10m")).await.expect("created").version, 4);
        world.assert_clean().await;
    })
    .await;
}

#[tokio::test]
async fn a_change_based_on_another_version_changes_nothing_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        recurring.create(every("poll", "10m")).await.expect("created");
        recurring.change(every("poll", "20m"), Some(1)).await.expect("changed");
        let text = async || world.command::<String>("HGET", &keys::defined(), "poll").await;
        let before = text().await;
        let error = recurring.change(every("poll", "30m"), Some(1)).await.expect_err("an old base");
        assert_eq!(
            error.to_string(),
            "the recurring job \"poll\" has version 2, not 1: somebody has changed it; look at it and try again"
        );
        assert_eq!(error.code(), "other_version");
        let error = recurring.delete("poll", Some(1)).await.expect_err("an old base");
        assert!(matches!(error, Error::OtherVersion { given: 1, found: 2, .. }), "{error}");
        let error = recurring.create(every("poll", "30m")).await.expect_err("it is there");
        assert!(matches!(error, Error::Exists { version: 2, .. }), "{error}");
        assert_eq!(text().await, before);
    })
    .await;
}

#[tokio::test]
async fn of_many_changes_at_once_on_one_version_one_is_made_on_every_store() {
    on_every_store_at(NOW, async |world| {
        world.recurring(Vec::new()).create(every("poll", "10m")).await.expect("created");
        let mut changes = tokio::task::JoinSet::new();
        for minutes in 1..=8 {
            let recurring = world.recurring(Vec::new());
            let period = format!("{minutes}m");
            changes.spawn(async move { recurring.change(every("poll", &period), Some(1)).await });
        }
        let made = changes.join_all().await.into_iter().filter(Result::is_ok).count();
        assert_eq!(made, 1);
        // Without a base they follow each other.
        let mut changes = tokio::task::JoinSet::new();
        for _ in 0..3 {
            let recurring = world.recurring(Vec::new());
            changes.spawn(async move { recurring.pause("poll").await });
        }
        assert!(changes.join_all().await.iter().all(Result::is_ok));
        let defined = world.recurring(Vec::new()).defined("poll").await.expect("defined");
        assert_eq!((defined.version, defined.paused), (5, true));
    })
    .await;
}

#[tokio::test]
async fn a_job_of_the_list_can_be_paused_and_run_but_not_changed_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring =
            world.recurring(vec![hourly("listed")]).with_origin("[[recurring]] in \"keyrack.toml\"");
        let said = "the recurring job \"listed\" comes from [[recurring]] in \"keyrack.toml\" and cannot be changed at run time; change it there";
        let error = recurring.create(every("listed", "1m")).await.expect_err("it is listed");
        assert_eq!(error.to_string(), said);
        let error = recurring.change(every("listed", "1m"), None).await.expect_err("it is listed");
        assert_eq!((error.to_string().as_str(), error.code()), (said, "recurring_job_fixed"));
        let error = recurring.delete("listed", None).await.expect_err("it is listed");
        assert_eq!(error.to_string(), said);
        assert!(!world.exists(&keys::defined()).await, "nothing is stored");
        recurring.pause("listed").await.expect("paused");
        assert_eq!(recurring.run_now("listed").await.expect("queued"), 1);
        recurring.resume("listed").await.expect("resumed");
    })
    .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_field_and_nothing_is_stored_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        let long = "n".repeat(257);
        let large = "x".repeat(17_000);
        let bad = [
            (json!({"name": "x", "cron": "0 0 30 2 *", "zone": "UTC"}), "cron", "0 0 30 2 *"),
            (json!({"name": "x", "cron": "99 * * * *", "zone": "UTC"}), "cron", "99 * * * *"),
            (json!({"name": "x", "cron": "* * * * *", "zone": "Mars"}), "zone", "Mars"),
            (json!({"name": "x", "cron": "* * * * *"}), "zone", "UTC"),
            (json!({"name": "x", "every": "0s"}), "every", "0s"),
            (json!({"name": "x", "every": "-5m"}), "every", "-5m"),
            (json!({"name": "x", "every": "400d"}), "every", "400d"),
            (json!({"name": "x", "at": "2022-12-05T12:00:00Z"}), "at", "2022-12-05T12:00:00Z"),
            (json!({"name": "x", "at": "3022-12-05T12:00:00Z"}), "at", "3022-12-05T12:00:00Z"),
            (json!({"name": "x", "at": "soon"}), "at", "soon"),
            (
                json!({"name": "x", "every": "1m", "from": "3022-12-05T12:00:00Z"}),
                "from",
                "3022-12-05T12:00:00Z",
            ),
            (json!({"name": "x", "every": "1m", "catch_up": 1001}), "catch_up", "1001"),
            (json!({"name": "x", "every": "1m", "queue": ""}), "queue", "empty"),
            (json!({"name": "", "every": "1m"}), "name", "no name"),
            (json!({"name": "..", "every": "1m"}), "name", ".."),
            (json!({"name": long, "every": "1m"}), "name", "257 bytes; use at most 256"),
            (
                json!({"name": "x", "every": "1m", "kwargs": {"x": large}}),
                "kwargs",
                "at most 16384",
            ),
        ];
        for (json, field, value) in bad {
            let error = match draft(json.clone()) {
                Ok(definition) => recurring.create(definition).await.expect_err("a bad definition"),
                Err(error) => error,
            };
            let message = error.to_string();
            assert_eq!(
                (error.info().code, error.info().field),
                ("invalid", Some(field)),
                "{message}"
            );
            assert!(message.contains(value), "{message} lacks {value}");
        }
        let unknown = serde_json::from_value::<Draft>(json!({"name": "x", "evry": "1m"}));
        let unknown = unknown.expect_err("an unknown field").to_string();
        assert!(unknown.contains("`evry`") && unknown.contains("`every`"), "{unknown}");
        for key in [keys::defined(), keys::defined_due(), keys::defined_version()] {
            assert!(!world.exists(&key).await, "{key:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_number_of_definitions_is_bounded() {
    let world = World::in_memory().await;
    let recurring = world.recurring(Vec::new());
    for n in 0..DEFINED_MAX {
        recurring.create(every(&format!("job {n}"), "1h")).await.expect("created");
    }
    let error = recurring.create(every("one more", "1h")).await.expect_err("too many");
    assert_eq!(error.code(), "too_many_recurring_jobs");
    recurring.change(every("job 7", "2h"), None).await.expect("those there are can be changed");
    recurring.delete("job 8", None).await.expect("deleted");
    recurring.create(every("one more", "1h")).await.expect("there is room again");
    let stored: usize = world.command("HLEN", &keys::defined(), ALONE).await;
    assert_eq!(stored, DEFINED_MAX);
    world.assert_clean().await;
}

#[tokio::test]
async fn a_definition_that_cannot_be_read_hides_no_other_and_can_be_deleted_on_every_store() {
    on_every_store_at(NOW, async |world| {
        let recurring = world.recurring(Vec::new());
        recurring.create(every("good", "1m")).await.expect("created");
        let text = r#"{"version":9,"created_at":1,"changed_at":1,"paused":false,"job":{"name":"newer","sometimes":true}}"#;
        let _: i64 = world.command("HSET", &keys::defined(), ("newer", text)).await;
        let _: i64 = world.command("ZADD", &keys::defined_due(), (0, "newer")).await;
        let listing = recurring.list().await.expect("a list");
        assert_eq!(listing.jobs.len(), 1);
        let (name, why) = &listing.unreadable[0];
        assert!(name == "newer" && why.to_string().contains("`sometimes`"), "{why}");

        world.advance_s(61);
        let mut scheduler = world.scheduler_without_list();
        let turn = scheduler.turn().await.expect("a turn");
        assert_eq!((turn.fired.queued, turn.fired.failed.len()), (1, 1));
        // It stays due for a program that knows it.
        let due: Option<i64> = world.command("ZSCORE", &keys::defined_due(), "newer").await;
        assert_eq!(due, Some(0));
        recurring.delete("newer", Some(9)).await.expect("deleted");
        assert_eq!(scheduler.turn().await.expect("a turn").fired.failed.len(), 0);
    })
    .await;
}
