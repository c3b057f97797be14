//! A load that is cut off after any write, and repeated, ends where an undisturbed one does.

use std::ops::ControlFlow;

use keyrack_recommender::{Error, Memory, Progress, Table};
use keyrack_testkit::{on_every_store_at, simulated_store};

use crate::world::{DAY_MS, NOON, app, dump, ms, recommender, sync};

/// An app of several nights; enough rows for several pages of each table.
fn night(number: u64) -> Memory {
    let mut app = app();
    for challenge in 10..40 {
        let (id, category) = (challenge.to_string(), (challenge % 5).to_string());
        let public = if challenge % 7 == 0 { "0" } else { "1" };
        app.push(Table::Challenges, &[&id, &category, public, "60", "2024-01-05 00:00:00"]);
    }
    for member in 0..300 {
        app.push(
            Table::Members,
            &[&(10 + member % 30).to_string(), &(20 + member % 50).to_string()],
        );
    }
    for post in 0..2500 + 700 * number {
        let written = format!("2024-01-{:02} 00:00:00", 6 + (post / 500).min(6 + number));
        let text = if post % 11 == 0 { "I have a break today." } else { "Ran" };
        let ids = [1000 + post, 20 + post % 50, 10 + post % 30].map(|id| id.to_string());
        app.push(Table::Posts, &[&ids[0], &ids[1], &ids[2], &written, text]);
    }
    for reaction in 0..2600 + 900 * number {
        let ids = [100 + reaction, 1000 + (reaction * 7) % 2500, 20 + reaction % 23]
            .map(|id| id.to_string());
        let cancelled = if reaction % 10 == 9 { "1" } else { "0" };
        app.push(Table::Reactions, &[&ids[0], &ids[1], &ids[2], cancelled]);
    }
    for follower in 20..40 {
        app.push(
            Table::Tracking,
            &[&follower.to_string(), &(10 + (follower + number) % 30).to_string(), "0"],
        );
    }
    app
}

#[tokio::test]
async fn a_load_cut_off_at_any_of_200_points_is_made_good_by_the_next() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1u64);
    print_seed(seed);
    let (whole, clock) = simulated_store(ms(NOON), 1).await;
    let mut expected = Vec::new();
    let mut writes = Vec::new();
    for number in 0..2 {
        let mut count = 0u64;
        let mut watch = |_: Progress| {
            count += 1;
            ControlFlow::Continue(())
        };
        recommender(&whole).sync(&mut night(number), &mut watch).await.expect("a load");
        expected.push(dump(&whole).await);
        writes.push(count);
        clock.advance_ms(DAY_MS);
    }
    let mut random = seed;
    let mut below = |n: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    for _ in 0..100 {
        let (store, clock) = simulated_store(ms(NOON), 1).await;
        for number in 0..2 {
            let fatal = below(writes[number as usize]) + 1;
            let mut count = 0;
            let mut watch = |_: Progress| {
                count += 1;
                if count == fatal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let ended = recommender(&store).sync(&mut night(number), &mut watch).await;
            assert!(
                matches!(ended, Err(Error::Stopped)),
                "night {number}, write {fatal}: {ended:?}"
            );
            sync(&store, &mut night(number)).await;
            let is = dump(&store).await;
            let wrong = is.iter().zip(&expected[number as usize]).find(|(is, wanted)| is != wanted);
            assert_eq!(wrong, None, "night {number}, write {fatal}");
            assert_eq!(is.len(), expected[number as usize].len());
            clock.advance_ms(DAY_MS);
        }
    }
}

#[tokio::test]
async fn a_load_cut_off_at_each_write_is_made_good_on_every_store() {
    on_every_store_at(ms(NOON), async |store, _| {
        let mut fatal = 1;
        loop {
            let mut count = 0;
            let mut watch = |_: Progress| {
                count += 1;
                if count == fatal { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            match recommender(&store).rebuild(&mut app(), &mut watch).await {
                Err(Error::Stopped) => {}
                Ok(_) => break,
                Err(error) => panic!("{error:?}"),
            }
            sync(&store, &mut app()).await;
            assert_eq!(dump(&store).await, crate::world::LOADED, "write {fatal}");
            fatal += 1;
        }
        assert!(fatal > 10, "{fatal}");
    })
    .await;
}

#[expect(clippy::print_stdout, reason = "the test runner shows it with a failure")]
fn print_seed(seed: u64) {
    println!("repeat with SEED={seed}");
}
