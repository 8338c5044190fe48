//! Catches panics of user callbacks.

use std::{
    any::Any,
    cell::Cell,
    future::poll_fn,
    panic::{self, AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Once,
    task::Poll,
};

/// Calls `callback`; returns its result, or the message of its panic.
pub(crate) fn caught<R>(callback: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(callback)).map_err(|panic| message(&*panic).to_owned())
}

/// [`caught`], for a panic that the panic hook must not print.
pub(crate) fn caught_silently<R>(callback: impl FnOnce() -> R) -> Result<R, String> {
    thread_local! {
        static SILENT: Cell<bool> = const { Cell::new(false) };
    }
    // The panic hook is global, so it stays installed, and is silent only on threads that set the flag.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let default_hook = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !SILENT.get() {
                default_hook(info);
            }
        }));
    });
    let before = SILENT.replace(true);
    let result = caught(callback);
    SILENT.set(before);
    result
}

/// [`caught_silently`], for a future.
pub(crate) async fn caught_silently_async<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|context| {
        caught_silently(|| future.as_mut().poll(context))
            .map_or_else(|message| Poll::Ready(Err(message)), |poll| poll.map(Ok))
    })
    .await
}

/// Returns the message of a panic payload.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
