//! Options of reflectors: how they list and watch.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::Mutex;

use crate::{
    cache::list_watch::{Backoff, ExponentialBackoff, ListWatchError},
    panics::caught,
};

/// The environment variable that switches [`ReflectorOptions::check_consistency`] on if it is `true`.
const CONSISTENCY_CHECK_VARIABLE: &str = "KUBEWRIGHT_CACHE_CONSISTENCY_CHECK";

/// How the reflectors of a factory's informers list and watch. The defaults are client-go's.
///
/// They change the cost for server and client, not the contents of the cache. An informer keeps the options that it was started with.
#[derive(Clone)]
pub struct ReflectorOptions {
    /// Whether to use streaming lists, where the server supports them (on by default). An ordinary list costs the server several times its
    /// length in memory, a stream almost nothing. If the server rejects it, an ordinary list follows at once; if it ignores the parameter,
    /// after half a minute of silence. Streaming is tried again after an hour.
    pub streaming_lists: bool,
    /// Objects in a page of an ordinary list. None: 500 where the server would not use its watch cache anyway, else the whole list.
    /// Pages are always read from the server's storage, which costs far more than its watch cache: set this with care.
    pub page_size: Option<u32>,
    /// For how long a watch that ends with an internal error is reopened before a relist. Zero (the default): relist at once.
    pub max_internal_error_retry: Duration,
    /// After each list, list again at exactly the same version and compare names, uids and versions. Differences are logged as an error and
    /// counted in [`InformerStats::inconsistencies`](crate::cache::InformerStats::inconsistencies). For tests: it costs a full list.
    /// Off by default unless the environment has `KUBEWRIGHT_CACHE_CONSISTENCY_CHECK=true`.
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
            check_consistency: is_on(std::env::var(CONSISTENCY_CHECK_VARIABLE).ok().as_deref()),
            backoff: Arc::new(|| Box::new(ExponentialBackoff::default())),
        }
    }
}

/// Whether the value of a variable switches an option on.
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

/// The user's handler of failed lists and watches.
#[derive(Default)]
pub(in crate::cache) struct ErrorHandler(Mutex<Option<Callback>>);

impl ErrorHandler {
    /// Replaces the handler, unless the informer `is_started`. Returns whether it was replaced.
    pub(in crate::cache) fn set(&self, callback: Callback, is_started: impl FnOnce() -> bool) -> bool {
        // Reflectors read it after the start: they see this handler, or it is refused.
        let mut callback_slot = self.0.lock();
        let is_early = !is_started();
        if is_early {
            *callback_slot = Some(callback);
        }
        is_early
    }

    /// Calls the handler; contains its panics.
    pub(in crate::cache) fn call(&self, error: &ListWatchError) {
        let Some(callback) = self.0.lock().clone() else {
            return;
        };
        if let Err(panic) = caught(|| callback(error)) {
            tracing::error!("the error handler of an informer panicked: {panic}; the informer goes on");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_true_switches_the_check_on() {
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
