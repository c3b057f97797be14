//! Freeing large values away from the commands that remove them.

use crate::types::Value;

/// Frees a value, on a thread of its own if that takes long.
pub(super) fn discard(value: Value) {
    // Freeing this many items takes about as long as starting a thread.
    const ITEMS_MAX: usize = 1000;
    let n_items = match &value {
        Value::Str(_) => 1,
        Value::List(list) => list.len(),
        Value::Hash(hash) => hash.len(),
        Value::Set(set) => set.len(),
        Value::ZSet(zset) => zset.len(),
    };
    if n_items > ITEMS_MAX {
        discard_later(value);
    }
}

/// Frees something on a thread of its own.
pub(super) fn discard_later(garbage: impl Send + 'static) {
    let thread = std::thread::Builder::new().name("keyrack-free".into());
    // A thread that cannot be started drops its closure, and the garbage with it, here and now.
    let _ = thread.spawn(move || drop(garbage));
}
