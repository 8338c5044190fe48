//! Catches panics of user callbacks.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Calls `callback`; returns its result, or the message of its panic.
pub(crate) fn caught<R>(callback: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(callback)).map_err(|panic| message(&*panic).to_owned())
}

/// Returns the message of a panic payload.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
