//! The general limiter.

use std::time::Duration;

use keyrack_entitlements::{
    Error, Limit, Limiter, RateLimitDecision, keys,
    keys::{LimitName, LimitSubject},
};
use keyrack_store::Store;
use keyrack_testkit::{on_every_store_at, simulated_store};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::world::{NOW_MS, ask, assert_clean};

const MINUTE: Duration = Duration::from_secs(60);

/// One who is limited.
struct Subject {
    limiter: Limiter,
    name: LimitName,
    subject: LimitSubject,
}

impl Subject {
    fn new(store: &Store, subject: &str) -> Subject {
        Subject {
            limiter: Limiter::new(store.clone()),
            name: LimitName::new("search").expect("a name"),
            subject: LimitSubject::new(subject).expect("a subject"),
        }
    }

    async fn take(&self, limit: Limit, amount: u64) -> RateLimitDecision {
        self.limiter.take(&self.name, &self.subject, limit, amount).await.expect("a verdict")
    }
}

fn verdict(
    allowed: bool,
    remaining: u64,
    retry_ms: Option<u64>,
    reset_ms: u64,
) -> RateLimitDecision {
    let retry_after = retry_ms.map(Duration::from_millis);
    RateLimitDecision {
        allowed,
        remaining,
        retry_after,
        reset_after: Duration::from_millis(reset_ms),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_allows_so_much_and_begins_with_the_first_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let alice = Subject::new(&store, "alice:{1}");
        let limit = Limit::Window { max: 3, period: MINUTE };
        assert_eq!(alice.take(limit, 0).await, verdict(true, 3, Some(0), 0));
        assert_eq!(alice.take(limit, 2).await, verdict(true, 1, Some(0), 60_000));
        clock.advance_ms(10_000);
        assert_eq!(alice.take(limit, 2).await, verdict(false, 1, Some(50_000), 50_000));
        assert_eq!(alice.take(limit, 4).await, verdict(false, 1, None, 50_000));
        assert_eq!(alice.take(limit, 1).await, verdict(true, 0, Some(0), 50_000));
        assert_eq!(Subject::new(&store, "bob").take(limit, 1).await.remaining, 2);
        clock.advance_ms(49_999);
        assert_eq!(alice.take(limit, 1).await, verdict(false, 0, Some(1), 1));
        clock.advance_ms(1);
        assert_eq!(alice.take(limit, 1).await, verdict(true, 2, Some(0), 60_000));
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steady_rate_allows_a_burst_and_then_one_at_a_time_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let alice = Subject::new(&store, "alice");
        let limit = Limit::Steady { max: 6, period: MINUTE, burst: 3 };
        assert_eq!(alice.take(limit, 1).await, verdict(true, 2, Some(0), 10_000));
        assert_eq!(alice.take(limit, 2).await, verdict(true, 0, Some(0), 30_000));
        assert_eq!(alice.take(limit, 1).await, verdict(false, 0, Some(10_000), 30_000));
        assert_eq!(alice.take(limit, 4).await, verdict(false, 0, None, 30_000));
        clock.advance_ms(9_999);
        assert_eq!(alice.take(limit, 1).await, verdict(false, 0, Some(1), 20_001));
        clock.advance_ms(1);
        assert_eq!(alice.take(limit, 1).await, verdict(true, 0, Some(0), 30_000));
        clock.advance_ms(3_600_000);
        assert_eq!(alice.take(limit, 3).await, verdict(true, 0, Some(0), 30_000));
        let key = keys::limit(&alice.name, &alice.subject);
        let ttl: i64 = ask(&store, "PTTL", &key, &[]).await;
        assert!((1..=30_000).contains(&ttl), "{ttl}");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_at_once_as_many_as_allowed_get_through_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let limits = [
            ("window", Limit::Window { max: 37, period: MINUTE }),
            ("steady", Limit::Steady { max: 7, period: MINUTE, burst: 37 }),
        ];
        for (name, limit) in limits {
            let subject = Subject::new(&store, name);
            let taking = (0..1000).map(|_| subject.take(limit, 1));
            let verdicts = futures_util::future::join_all(taking).await;
            assert_eq!(verdicts.iter().filter(|verdict| verdict.allowed).count(), 37, "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_that_make_no_sense_are_refused_and_leave_nothing_behind() {
    let (store, _clock) = simulated_store(NOW_MS, 1).await;
    let alice = Subject::new(&store, "alice");
    let limits = [
        (Limit::Window { max: 0, period: MINUTE }, 1, "max"),
        (Limit::Window { max: 1, period: Duration::ZERO }, 1, "period"),
        (Limit::Window { max: 1, period: Duration::MAX }, 1, "period"),
        (Limit::Window { max: u64::MAX, period: MINUTE }, 1, "max"),
        (Limit::Window { max: 1, period: MINUTE }, u64::MAX, "amount"),
        (Limit::Steady { max: 1, period: MINUTE, burst: 0 }, 1, "burst"),
    ];
    for (limit, amount, wrong) in limits {
        match alice.limiter.take(&alice.name, &alice.subject, limit, amount).await {
            Err(Error::Invalid { field, .. }) => assert_eq!(field, wrong),
            other => panic!("{limit:?} is not refused: {other:?}"),
        }
    }
    let exists: bool = ask(&store, "EXISTS", &keys::limit(&alice.name, &alice.subject), &[]).await;
    assert!(!exists);
}

/// A kind, how much is allowed, its period and its burst; then waits and amounts.
type Story = (bool, u64, u64, u64, Vec<(u64, u64)>);

fn story() -> impl Strategy<Value = Story> {
    let steps = prop::collection::vec((0_u64..5_000, 0_u64..6), 1..60);
    (any::<bool>(), 1_u64..20, 1_u64..20_000, 1_u64..10, steps)
}

/// proptest prints the story that fails, the seed with which it was found, and takes one by `PROPTEST_RNG_SEED`.
#[test]
fn in_no_stretch_of_time_is_more_allowed_than_the_limit_says() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome =
        TestRunner::new(config).run(&story(), |(steady, max, period_ms, burst, steps)| {
            let period = Duration::from_millis(period_ms);
            let limit = match steady {
                true => Limit::Steady { max, period, burst },
                false => Limit::Window { max, period },
            };
            let taken = runtime.block_on(taken(limit, &steps))?;
            for (first, (from, _)) in taken.iter().enumerate() {
                let mut sum = 0;
                for (until, amount) in &taken[first..] {
                    sum += amount;
                    let stretch = until - from;
                    let most = match steady {
                        true => burst as f64 + (stretch * max) as f64 / period_ms as f64 + 1e-6,
                        false => (max * (stretch / period_ms + 2)) as f64,
                    };
                    prop_assert!(sum as f64 <= most, "{sum} within {stretch} ms, at most {most}");
                }
            }
            Ok(())
        });
    outcome.expect("no story breaks the limit");
}

/// What was taken when. On the way, what a refusal promises is put to the test.
async fn taken(limit: Limit, steps: &[(u64, u64)]) -> Result<Vec<(u64, u64)>, TestCaseError> {
    let (store, clock) = simulated_store(NOW_MS, 1).await;
    let subject = Subject::new(&store, "alice");
    let mut taken = Vec::new();
    for (wait_ms, amount) in steps {
        clock.advance_ms(*wait_ms);
        let mut verdict = subject.take(limit, *amount).await;
        if !verdict.allowed {
            prop_assert!(verdict.remaining < *amount);
            let Some(retry_after) = verdict.retry_after else { continue };
            let retry_ms = u64::try_from(retry_after.as_millis()).expect("a short time");
            prop_assert!(retry_ms > 0);
            clock.advance_ms(retry_ms - 1);
            prop_assert!(!subject.take(limit, *amount).await.allowed, "too early by a millisecond");
            clock.advance_ms(1);
            verdict = subject.take(limit, *amount).await;
            prop_assert!(verdict.allowed, "after the time that was promised");
        }
        taken.push((clock.now_ms(), *amount));
    }
    Ok(taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_keeps_no_more_limits_than_the_quota_says_on_every_store() {
    on_every_store_at(NOW_MS, async |store, clock| {
        let name = LimitName::new("alice:search").expect("a name");
        let of = |user: &str, max: u64| {
            Limiter::new(store.clone()).of_user(&crate::world::user(user), max)
        };
        let (alice, bob) = (of("alice", 2), of("bob", 2));
        let take = async |limiter: &Limiter, subject: &str, limit: Limit| {
            let subject = LimitSubject::new(subject).expect("a subject");
            limiter.take(&name, &subject, limit, 1).await
        };
        let window = Limit::Window { max: 3, period: MINUTE };
        let steady = Limit::Steady { max: 60, period: MINUTE, burst: 30 };
        take(&alice, "10.0.0.1", window).await.expect("the first");
        clock.advance_ms(10_000);
        take(&alice, "10.0.0.2", steady).await.expect("the second");
        let room_in = |refused: Result<RateLimitDecision, Error>| match refused {
            Err(Error::TooManyLimits { max: 2, retry_after }) => retry_after.as_secs(),
            other => panic!("not refused: {other:?}"),
        };
        // The steady limit is back after a second, and counts for the 30 that it can last besides.
        assert_eq!(room_in(take(&alice, "10.0.0.3", window).await), 31);
        assert!(take(&alice, "10.0.0.1", window).await.expect("one that is there").allowed);
        assert!(take(&bob, "10.0.0.4", window).await.expect("not hers").allowed);
        for _ in 0..20 {
            clock.advance_ms(20_000);
            for _ in 0..15 {
                assert!(take(&alice, "10.0.0.2", steady).await.expect("it goes on").allowed);
            }
            assert!(take(&alice, "10.0.0.1", window).await.is_ok(), "its window begins anew");
        }
        room_in(take(&alice, "10.0.0.3", window).await);
        clock.advance_ms(60_000);
        take(&alice, "10.0.0.3", window).await.expect("there is room");
        assert_clean(&store).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_race_gets_round_the_quota_of_limits_on_every_store() {
    on_every_store_at(NOW_MS, async |store, _| {
        let limiter = Limiter::new(store).of_user(&crate::world::user("alice"), 5);
        let mut taking = tokio::task::JoinSet::new();
        for n in 0..20 {
            let limiter = limiter.clone();
            taking.spawn(async move {
                let name = LimitName::new("alice:search").expect("a name");
                let subject = LimitSubject::new(format!("10.0.0.{n}")).expect("a subject");
                let limit = Limit::Window { max: 3, period: MINUTE };
                limiter.take(&name, &subject, limit, 1).await.is_ok()
            });
        }
        assert_eq!(taking.join_all().await.into_iter().filter(|taken| *taken).count(), 5);
    })
    .await;
}
