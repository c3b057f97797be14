//! Which queues are chosen, and that sums only grow.

use super::*;

fn name(name: &str) -> QueueName {
    QueueName::new(name).expect("a name")
}

fn rules(max: usize, prefixes: &[&str]) -> MetricsQueues {
    MetricsQueues { max, prefixes: prefixes.iter().map(|prefix| (*prefix).to_owned()).collect() }
}

/// A queue in which so many jobs were completed ever.
fn queue(name: &str, activity: u64, completed: u64) -> QueueMetrics {
    let mut queue = QueueMetrics { queue: name.into(), activity, ..QueueMetrics::default() };
    queue.held[0] = activity;
    queue.totals.record.completed = completed;
    queue
}

fn next(rules: &MetricsQueues, read: &[QueueMetrics], before: Option<&Survey>) -> Survey {
    let names: Vec<QueueName> = read.iter().map(|queue| name(&queue.queue)).collect();
    Survey::new(rules, &names, read.to_vec(), before)
}

fn own(survey: &Survey) -> Vec<&str> {
    let mut names: Vec<&str> = survey.own.iter().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn prefixes_come_first_then_activity_then_the_name() {
    let queues = [("a", 1), ("b", 1), ("busy", 9), ("mail/x", 0), ("mail/y", 5), (OTHERS, 99)];
    let chosen = |max, prefixes: &[&str]| {
        let mut chosen: Vec<_> =
            rules(max, prefixes).choose(queues.into_iter()).into_iter().collect();
        chosen.sort_unstable();
        chosen
    };
    assert_eq!(chosen(2, &[]), ["busy", "mail/y"]);
    assert_eq!(chosen(3, &["mail/"]), ["busy", "mail/x", "mail/y"]);
    assert_eq!(chosen(1, &["mail/"]), ["mail/y"]);
    assert_eq!(chosen(4, &["x"]), ["a", "b", "busy", "mail/y"]);
    assert_eq!(chosen(9, &[]), ["a", "b", "busy", "mail/x", "mail/y"]);
    assert!(rules(9, &[]).leave_out_some(&[name(OTHERS)]));
    assert!(!rules(1, &[]).leave_out_some(&[name("a")]));
    assert!(rules(0, &[]).leave_out_some(&[name("a")]));
}

#[test]
fn the_others_are_summed() {
    let read = [queue("a", 9, 100), queue("b", 3, 10), queue("c", 2, 1)];
    let survey = next(&rules(1, &[]), &read, None);
    assert_eq!(own(&survey), ["a"]);
    assert_eq!((survey.others.held[0], survey.others.totals.record.completed), (5, 11));
}

#[test]
fn a_queue_keeps_its_metrics_until_another_is_twice_as_active() {
    let rules = rules(1, &[]);
    let first = next(&rules, &[queue("a", 5, 0), queue("b", 4, 0)], None);
    let second = next(&rules, &[queue("a", 5, 0), queue("b", 9, 0)], Some(&first));
    assert_eq!(own(&second), ["a"]);
    let third = next(&rules, &[queue("a", 5, 0), queue("b", 11, 0)], Some(&second));
    assert_eq!(own(&third), ["b"]);
}

#[test]
fn sums_only_grow_and_by_what_happens_in_the_others() {
    let rules = rules(1, &[]);
    let completed = |survey: &Survey| survey.others.totals.record.completed;
    let first = next(&rules, &[queue("a", 9, 100), queue("b", 1, 10), queue("c", 1, 1)], None);
    assert_eq!(completed(&first), 11);
    let second =
        next(&rules, &[queue("a", 9, 200), queue("b", 1, 15), queue("c", 1, 1)], Some(&first));
    assert_eq!(completed(&second), 16);
    // "b" gets metrics of its own, and "a" loses them: what "a" has told itself is not added.
    let third =
        next(&rules, &[queue("a", 1, 230), queue("b", 99, 40), queue("c", 1, 2)], Some(&second));
    assert_eq!((own(&third), completed(&third)), (vec!["b"], 17));
    let fourth =
        next(&rules, &[queue("a", 1, 231), queue("b", 99, 90), queue("c", 1, 2)], Some(&third));
    assert_eq!(completed(&fourth), 18);
    // "c" is deleted and comes back, and "a" is deleted.
    let fifth = next(&rules, &[queue("b", 99, 90), queue("c", 1, 1)], Some(&fourth));
    assert_eq!(completed(&fifth), 19);
}

#[test]
fn a_queue_that_cannot_be_read_once_is_not_counted_twice() {
    let rules = rules(1, &[]);
    let first = next(&rules, &[queue("a", 9, 0), queue("b", 1, 10)], None);
    let names = [name("a"), name("b")];
    let second = Survey::new(&rules, &names, vec![queue("a", 9, 0)], Some(&first));
    assert_eq!(second.others.totals.record.completed, 10);
    let third = next(&rules, &[queue("a", 9, 0), queue("b", 1, 12)], Some(&second));
    assert_eq!(third.others.totals.record.completed, 12);
}
