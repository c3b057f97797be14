//! Events and what is calculated from them.

use keyrack::{
    Class,
    prelude::*,
    rollups::Calculation::{Average, LinearRegression as Trend, Sum},
};

use super::tasks::on_every_rack;

#[tokio::test]
async fn events_are_summed_by_the_hour_on_every_store() {
    on_every_rack(async |rack| {
        let shop = rack.rollups("1", "2").await.expect("names");
        let noon: keyrack::Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let sale = |cents: u64, minute: i64| {
            let at = noon.as_second() + 60 * minute;
            let at = keyrack::Timestamp::from_second(at).expect("a time");
            Event::now("revenue", "shop", cents).at(at).hourly([Sum, Average])
        };
        shop.record_all([sale(100, 0), sale(50, 59), sale(7, 60)]).await.expect("recorded");
        let hours = shop.buckets("revenue", "shop", Sum, Interval::Hours).await.expect("a result");
        let sums: Vec<f64> = hours.iter().map(|(_, sum)| *sum).collect();
        assert_eq!(sums, [150.0, 7.0], "{hours:?}");
        assert!(hours[0].0.starts_with("2026-03-01 12"), "{hours:?}");
        assert_eq!(shop.buckets("revenue", "other", Sum, Interval::Hours).await.expect("none"), []);
    })
    .await;
}

#[tokio::test]
async fn an_event_of_now_has_the_time_of_the_store() {
    let start: keyrack::Timestamp = "2026-03-01T12:30:00Z".parse().expect("a time");
    let (rack, time) = Keyrack::in_memory_at(start).await.expect("a rack");
    let shop = rack.rollups("1", "2").await.expect("names");
    for _ in 0..3 {
        shop.record(Event::now("orders", "shop", 1).hourly([Sum, Trend])).await.expect("recorded");
        time.advance(mins(20)).await;
    }
    let hours = shop.buckets("orders", "shop", Sum, Interval::Hours).await.expect("a result");
    let sums: Vec<f64> = hours.iter().map(|(_, sum)| *sum).collect();
    assert_eq!(sums, [2.0, 1.0], "{hours:?}");
}

#[tokio::test]
async fn an_event_that_makes_no_sense_is_refused_and_none_beside_it_is_taken() {
    let rack = Keyrack::open("embedded:memory").await.expect("a rack");
    let shop = rack.rollups("1", "2").await.expect("names");
    for (event, expected) in [
        (Event::now("a:b", "shop", 1).hourly([Sum]), "dimension: \"a:b\" contains \":\""),
        (Event::now("revenue", "", 1).hourly([Sum]), "key: it is empty"),
        (Event::now("revenue", "shop", f64::NAN).hourly([Sum]), "value: "),
        (Event::now("revenue", "shop", 1), "interval: the list is empty"),
        (Event::now("revenue", "shop", 1).daily([]), "calculation: the list is empty"),
    ] {
        let good = Event::now("revenue", "good", 1).hourly([Sum]);
        let error = shop.record_all([good, event]).await.expect_err("no such event");
        assert_eq!(error.class(), Class::Invalid);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let good = shop.buckets("revenue", "good", Sum, Interval::Hours).await.expect("a result");
    assert_eq!(good, []);
    assert_eq!(rack.rollups("", "2").await.expect_err("no name").class(), Class::Invalid);
}
