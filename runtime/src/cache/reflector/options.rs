//! What can be chosen about how reflectors list and watch.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{
    cache::{Backoff, ExponentialBackoff, ListWatchError},
    panics::caught,
};

/// Switches [`ReflectorOptions::check_consistency`] on when it is `true`.
const CONSISTENCY_CHECK: &str = "KUBEWRIGHT_CACHE_CONSISTENCY_CHECK";

/// How the reflectors of a factory's informers list and watch. The defaults are client-go's.
///
/// Whatever is chosen, the cache comes to hold what the API server has; this is about what that costs, and whom. An informer keeps what it
/// was started with.
#[derive(Clone)]
pub struct ReflectorOptions {
    /// Lists come as streams where the server can do that (on by default): a list costs the server several times its length in memory,
    /// a stream next to nothing. A server that cannot, or that does not say when all objects have come, is listed instead: at once when it
    /// refuses, after half a minute of silence when it ignores the question; it is asked again after an hour.
    pub streaming_lists: bool,
    /// Objects in a page of each list. None: 500 where the server does not answer from its cache anyway, else the list comes whole.
    /// Pages are always read from the server's storage, which costs it far more than its cache: choose with care.
    pub page_size: Option<u32>,
    /// For how long a watch that ends with an internal error is begun again before a new list is tried. Zero (the default): not at all.
    pub max_internal_error_retry: Duration,
    /// After each list, list again at the very same version and compare names, uids and versions. What differs is logged as an error and
    /// counted in [`InformerStats::inconsistencies`](crate::cache::InformerStats::inconsistencies). For tests: it costs a full list.
    /// Off by default unless the environment says `KUBEWRIGHT_CACHE_CONSISTENCY_CHECK=true`.
    pub check_consistency: bool,
    /// Makes each reflector's backoff; [`ExponentialBackoff`] by default.
    pub backoff: Arc<dyn Fn() -> Box<dyn Backoff> + Send + Sync>,
}

impl Default for ReflectorOptions {
    fn default() -> Self {
        Self {
            streaming_lists: true,
            page_size: None,
            max_internal_error_retry: Duration::ZERO,
            check_consistency: is_on(std::env::var(CONSISTENCY_CHECK).ok().as_deref()),
            backoff: Arc::new(|| Box::new(ExponentialBackoff::default())),
        }
    }
}

/// Whether a variable switches something on.
fn is_on(value: Option<&str>) -> bool {
    value == Some("true")
}

impl fmt::Debug for ReflectorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReflectorOptions")
            .field("streaming_lists", &self.streaming_lists)
            .field("page_size", &self.page_size)
            .field("max_internal_error_retry", &self.max_internal_error_retry)
            .field("check_consistency", &self.check_consistency)
            .finish_non_exhaustive()
    }
}

type Callback = Arc<dyn Fn(&ListWatchError) + Send + Sync>;

/// Who is told of the failures of an informer's lists and watches.
#[derive(Default)]
pub(in crate::cache) struct ErrorHandler(Mutex<Option<Callback>>);

impl ErrorHandler {
    /// Replaces the handler, unless `is_started` says that it is too late. Says whether it did.
    pub(in crate::cache) fn set(&self, callback: Callback, is_started: impl FnOnce() -> bool) -> bool {
        // Reflectors look after the start was noted: what is set here is seen by them, or refused.
        let mut place = self.0.lock();
        let is_early = !is_started();
        if is_early {
            *place = Some(callback);
        }
        is_early
    }

    /// Tells the handler; its panic ends there.
    pub(in crate::cache) fn tell(&self, error: &ListWatchError) {
        let Some(callback) = self.0.lock().clone() else {
            return;
        };
        if let Err(panic) = caught(|| callback(error)) {
            tracing::error!("the error handler of an informer panicked: {panic}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_true_switches_the_check_on() {
        for (value, expected) in [
            (Some("true"), true),
            (Some("false"), false),
            (Some("True "), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_on(value), expected, "{value:?}");
        }
    }
}
