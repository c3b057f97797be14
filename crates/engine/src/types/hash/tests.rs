use proptest::{collection::vec, prelude::*};

use super::*;

/// A change, with fields and values of few kinds, so that they meet again.
#[derive(Debug, Clone)]
enum Change {
    Set(Vec<(Vec<u8>, Vec<u8>)>),
    Remove(Vec<u8>),
}

/// Short names that often have the same length and ends.
fn field() -> impl Strategy<Value = Vec<u8>> {
    vec(prop::sample::select(b"abc".to_vec()), 0..4)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    (any::<u8>(), prop_oneof![9 => 0usize..10, 2 => 60usize..200, 1 => 1000usize..2000])
        .prop_map(|(byte, n)| vec![byte; n])
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => vec((field(), value()), 1..20).prop_map(Change::Set),
        1 => field().prop_map(Change::Remove),
    ]
}

fn set(model: &mut Vec<(Vec<u8>, Vec<u8>)>, field: &[u8], value: &[u8]) -> bool {
    let old = model.iter_mut().find(|(name, _)| name == field);
    let is_new = old.is_none();
    match old {
        Some((_, old)) => *old = value.to_vec(),
        None => model.push((field.to_vec(), value.to_vec())),
    }
    is_new
}

#[test]
fn fields_agree_with_a_list_over_random_changes() {
    let check = |changes: Vec<Change>, asked: Vec<Vec<u8>>| {
        let mut hash = Hash::new();
        let mut model = Vec::new();
        for change in changes {
            match change {
                Change::Set(pairs) => {
                    let n_new = pairs.iter().filter(|(f, v)| set(&mut model, f, v)).count();
                    let pairs: Vec<[&[u8]; 2]> = pairs.iter().map(|(f, v)| [&**f, &**v]).collect();
                    prop_assert_eq!(hash.set_each(&pairs, 1), n_new);
                }
                Change::Remove(field) => {
                    let was = model.len();
                    model.retain(|(name, _)| *name != field);
                    prop_assert_eq!(hash.remove(&field), model.len() < was);
                }
            }
            let mut all: Vec<_> = hash.iter().map(|(f, v)| (f.to_vec(), v.to_vec())).collect();
            // In a table they have an order of their own.
            if matches!(hash, Hash::Large(_)) {
                all.sort();
                model.sort();
            }
            prop_assert_eq!(&all, &model);
        }
        let asked: Vec<&[u8]> = asked.iter().map(Vec::as_slice).collect();
        let mut found = Vec::new();
        hash.get_each(&asked, |value| found.push(value));
        let value = |field: &&[u8]| model.iter().find(|(f, _)| f == field).map(|(_, v)| &**v);
        prop_assert_eq!(found, asked.iter().map(value).collect::<Vec<_>>());
        Ok(())
    };
    proptest!(|(changes in vec(change(), 0..8), asked in vec(field(), 0..40))| {
        check(changes, asked)?;
    });
}
