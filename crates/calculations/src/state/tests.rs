use std::collections::BTreeMap;

use super::*;

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// Sums over buckets the plain way.
fn oracle(sums: &BTreeMap<u64, Decimal>) -> Total {
    let mut total = Total { buckets: sums.len() as u64, ..Total::default() };
    for (rank, (number, sum)) in (1..).zip(sums) {
        total.sum += sum;
        total.squares += &(sum * sum);
        total.ranked += &sum.times(rank);
        total.dated += &sum.times(*number);
        total.values += 1;
    }
    total.first = sums.keys().next().copied().unwrap_or(0);
    total.last = sums.keys().last().copied().unwrap_or(0);
    total
}

#[test]
fn buckets_in_any_order_give_the_same_sums() {
    for &interval in Interval::ALL {
        let mut state = State::new(interval);
        let mut sums = BTreeMap::new();
        // Numbers that jump back and forth, near and far.
        let mut number = 7_u64;
        for step in 0..300_u64 {
            number = (number * 31 + step * step * 7_919) % last_number(interval).min(200_000);
            let value = decimal(&format!("{}.{}", step % 17, step % 10));
            let is_new = !sums.contains_key(&number);
            state.add(number, u64::from(is_new), &value);
            *sums.entry(number).or_insert_with(Decimal::default) += &value;
            assert_eq!(state.total, oracle(&sums), "{interval} after {step}");
        }
    }
}

#[test]
fn what_is_stored_reads_back() {
    let mut state = State::new(Interval::Days);
    for number in [735_000, 735_001, 730_000] {
        state.add(number, 2, &decimal("-1.25"));
    }
    let mut again = State::new(Interval::Days);
    for (name, text) in state.changes() {
        match name.split_once(':') {
            Some((level, at)) => again.load((level.parse().unwrap(), at.parse().unwrap()), &text),
            None => again.load_total(&text),
        }
    }
    assert_eq!((again.total, again.leaves, again.nodes), (state.total, state.leaves, state.nodes));
}

#[test]
fn a_late_bucket_needs_only_the_fields_it_asks_for() {
    let mut whole = State::new(Interval::Hours);
    for number in (0..40_000).step_by(7) {
        whole.add(number, 1, &decimal("3"));
    }
    let stored: BTreeMap<String, String> = whole.changes().into_iter().collect();
    let mut part = State::new(Interval::Hours);
    part.load_total(&stored[TOTAL]);
    let late = 20_001;
    assert!(part.is_late(late));
    let wanted: Vec<_> = part.fields_at(late).chain(part.fields_before(late)).collect();
    assert!(wanted.len() <= 6 * 64, "{}", wanted.len());
    for at in wanted {
        if let Some(text) = stored.get(&field(at)) {
            part.load(at, text);
        }
    }
    part.add(late, 1, &decimal("0.5"));
    whole.add(late, 1, &decimal("0.5"));
    assert_eq!(part.total, whole.total);
}

#[test]
fn gaps_count_as_zeros_where_the_calendar_decides() {
    let mut state = State::new(Interval::Months);
    for (number, sum) in [(24_000, "4"), (24_003, "10")] {
        state.add(number, 1, &decimal(sum));
    }
    assert_eq!(state.moments(Gaps::Skip).average(), Some(7.0));
    assert_eq!(state.moments(Gaps::Calendar).average(), Some(3.5));
    let line = state.moments(Gaps::Calendar).line().unwrap();
    assert!((line.slope - 1.8).abs() < 1e-12, "{line:?}");
}

#[test]
fn without_the_last_bucket_it_is_as_before_it() {
    let mut state = State::new(Interval::Days);
    for (number, sum) in [(700_000, "4"), (700_001, "10"), (700_002, "7")] {
        state.add(number, 1, &decimal(sum));
    }
    let before = state.total.clone();
    state.add(700_003, 1, &decimal("1"));
    let without = state.total.without_last(&decimal("1"));
    assert_eq!(without.moments(Gaps::Skip), before.moments(Gaps::Skip));
    assert_eq!(without.moments(Gaps::Calendar), before.moments(Gaps::Calendar));
}
