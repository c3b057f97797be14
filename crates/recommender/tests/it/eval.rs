//! Recommendations against simple lists, on a made-up app.

use keyrack_recommender::eval::{GeneratedApp, Size, evaluate};

#[tokio::test]
async fn lists_are_half_as_good_again_as_the_best_simple_ones() {
    let size = Size { users: 300, challenges: 80, days: 24 };
    let world = GeneratedApp::generate(size, 1);
    let found = evaluate(&world, size.days, 1).await.expect("an evaluation");
    assert!(found.users > 200, "{found:#?}");
    assert!(found.ratio.value >= 1.5 && found.ratio.low > 1.0, "{found:#?}");
    let named = |name: &str| {
        found.measured.iter().find(|measured| measured.name == name).expect("measured")
    };
    assert!(named("keyrack").coverage >= named("newest").coverage, "{found:#?}");
    assert!(named("keyrack").scores.diversity >= named("newest").scores.diversity, "{found:#?}");
}

#[tokio::test]
async fn an_app_that_is_too_short_is_refused() {
    let world = GeneratedApp::generate(Size { users: 5, challenges: 2, days: 3 }, 1);
    assert!(evaluate(&world, 3, 1).await.is_err());
}
