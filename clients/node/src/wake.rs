//! Tells the event loop that there is something to take: at most one call of JavaScript is under way,
//! however often it is told.

use std::sync::atomic::{AtomicBool, Ordering};

use napi::{
    bindgen_prelude::Function,
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};

/// Does not keep the event loop alive: `ts/alive.ts` decides for how long that is.
type Callback = ThreadsafeFunction<(), (), (), napi::Status, false, true>;

pub(crate) struct Wake {
    callback: Callback,
    is_up: AtomicBool,
}

impl Wake {
    pub(crate) fn new(callback: Function<'_, (), ()>) -> napi::Result<Wake> {
        let callback = callback
            .build_threadsafe_function()
            .callee_handled::<false>()
            .weak::<true>()
            .build()?;
        Ok(Wake { callback, is_up: AtomicBool::new(false) })
    }

    pub(crate) fn raise(&self) {
        if !self.is_up.swap(true, Ordering::SeqCst) {
            // A loop that has ended takes nothing more.
            self.callback.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }

    /// To be called before looking at what was raised for: what comes later raises it again.
    pub(crate) fn lower(&self) {
        self.is_up.store(false, Ordering::SeqCst);
    }
}
