//! Callbacks of users may panic; whoever called them goes on.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// What `callback` returns, or what it said when it panicked.
pub(crate) fn caught<R>(callback: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(callback)).map_err(|panic| message(&*panic).to_owned())
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
