//! The reflector: keeps a queue told of what the API server holds, by a list and then a watch, again and again.
//!
//! Read [`streaming`] (a list that comes as a watch, which then goes on) and [`listing`] (lists in pages, where the server cannot do that),
//! both of which put together what [`gathered`] holds; then [`watching`]. [`consistency`] is on request only.
//!
//! The rules are client-go's, and so are the resource versions that are asked for:
//! - the first list: `0`, whatever the server has at hand; later ones: not older than the last version that was seen;
//! - a streaming list: not older than that too, or the newest when nothing was seen yet;
//! - the newest, at once, when the server has forgotten that version or does not know it yet;
//! - a watch goes on from the last version; one that has expired costs a list at the last version.

mod consistency;
mod list;
mod options;
mod streaming;
mod temporary_store;
mod watch;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout};

pub(super) use self::options::ErrorHandler;
pub use self::options::ReflectorOptions;
use self::temporary_store::TemporaryStore;
use super::{
    Backoff, ByteStream, ListWatchError, ListerWatcher,
    failure_log::{FailureLog, VersionFault},
    fifo::{Delta, Namespace, SharedFifo},
    index::Index,
    object::StoredObject,
    resource_version,
    scan::{Listed, ScanError, ScanFailure, Scanner},
    stats::count,
    untyped_informer::UntypedInformer,
};
use crate::NamespacedName;

/// API servers send a bookmark a minute: silence for thrice as long means that the connection is dead.
const SILENCE: Duration = Duration::from_mins(3);

/// Lists and watches one namespace, or all, for one informer.
pub(super) struct Reflector {
    core: Arc<UntypedInformer>,
    source: Arc<dyn ListerWatcher>,
    namespace: Namespace,
    fifo: Arc<SharedFifo>,
    options: ReflectorOptions,
    scanner: Scanner,
    backoff: Box<dyn Backoff>,
    complaints: FailureLog,
    /// The version of the last list, event or bookmark; empty before the first list.
    version: String,
    /// The server refused to list at `version`.
    version_unavailable: bool,
    /// The server pages lists at version 0 too: it has no cache of them.
    paged: bool,
    /// Until then the server is not asked for streaming lists, because it does not know them.
    unstreamed_until: Option<Instant>,
}

impl Reflector {
    pub(super) fn new(
        core: Arc<UntypedInformer>,
        source: Arc<dyn ListerWatcher>,
        namespace: Namespace,
        fifo: Arc<SharedFifo>,
        options: ReflectorOptions,
    ) -> Self {
        let scanner = Scanner::keeping(core.decoder.clone(), &core.options.storage);
        Self {
            scanner: scanner.into_fresh(core.fresh()),
            complaints: FailureLog::new(core.info(), namespace.as_deref()),
            core,
            source,
            namespace,
            fifo,
            backoff: (options.backoff)(),
            options,
            version: String::new(),
            version_unavailable: false,
            paged: false,
            unstreamed_until: None,
        }
    }

    /// Never returns; cancel by dropping.
    pub(super) async fn run(mut self) {
        loop {
            match self.list_and_watch().await {
                Ok(()) => sleep(self.backoff.next()).await,
                Err(error) => self.failed_and_waits(&error).await,
            }
        }
    }

    /// Returns when a new list is needed.
    async fn list_and_watch(&mut self) -> Result<(), ListWatchError> {
        let stream = self.stream_list_if_possible().await?;
        if stream.is_none() {
            self.list().await?;
        }
        self.watch_until_expired(stream).await
    }

    /// The list is whole: the store is to hold this, as of this version, and nothing else.
    async fn gathered(&mut self, gathered: TemporaryStore, version: &str) {
        self.version_unavailable = false;
        self.advance(version, None);
        count(&self.core.counters.lists);
        if self.options.check_consistency {
            self.check_consistency(&gathered, version).await;
        }
        self.fifo.push([Delta::Replaced {
            namespace: self.namespace.clone(),
            version: version.into(),
            objects: gathered.into_objects(),
        }]);
    }

    /// The server is known to have reached this version. It is followed even where it goes backwards: to ask again for what is known is
    /// safe, to skip what is not is not. Then the version before is returned.
    fn advance(&mut self, version: &str, object: Option<&NamespacedName>) -> Option<Box<str>> {
        let fault = match resource_version::compare(&self.version, version) {
            _ if !resource_version::is_number(version) => Some(VersionFault::NoNumber),
            Some(std::cmp::Ordering::Greater) => Some(VersionFault::Backwards),
            _ => None,
        };
        if let Some(fault) = fault {
            count(&self.core.counters.version_errors);
            if let Some(warning) = self
                .complaints
                .about_version(fault, &self.version, version, object)
            {
                tracing::warn!("{warning}");
            }
        }
        if version.is_empty() {
            return None;
        }
        let before = (fault == Some(VersionFault::Backwards)).then(|| self.version.as_str().into());
        self.version.clear();
        self.version.push_str(version);
        before
    }

    async fn failed_and_waits(&mut self, error: &ListWatchError) {
        self.failed(error);
        let asked = error.retry_after().unwrap_or_default();
        sleep(self.backoff.next().max(asked)).await;
    }

    fn failed(&mut self, error: &ListWatchError) {
        count(&self.core.counters.failures);
        if let Some(warning) = self.complaints.about(error) {
            tracing::warn!("{warning}");
        } else {
            tracing::debug!("{}: {error}", self.complaints.place());
        }
        self.core.error_handler.tell(error);
    }

    /// What is kept of an object that a list brought: what is in the store already, where that is the same version.
    fn listed(&self, listed: Listed, indexes: &[Arc<Index>]) -> Arc<StoredObject> {
        match listed {
            Listed::Known(known) => known,
            Listed::New(object) => self.core.arrived(object, indexes),
        }
    }
}

impl From<ScanFailure> for ListWatchError {
    fn from(refused: ScanFailure) -> Self {
        let problem = refused.error.to_string();
        match refused.object {
            Some(object) => Self::BadObject { object, problem },
            None => Self::Malformed(problem),
        }
    }
}

impl From<ScanError> for ListWatchError {
    fn from(error: ScanError) -> Self {
        ScanFailure::from(error).into()
    }
}

async fn in_time<T>(response: impl Future<Output = Result<T, ListWatchError>>) -> Result<T, ListWatchError> {
    let unreachable = |_| ListWatchError::Unreachable {
        message: format!("no answer within {} s", SILENCE.as_secs()),
        refused: false,
    };
    timeout(SILENCE, response).await.map_err(unreachable)?
}

async fn next(body: &mut ByteStream, patience: Duration) -> Result<Option<Bytes>, ListWatchError> {
    match timeout(patience, body.next()).await {
        Ok(chunk) => chunk.transpose(),
        Err(_) => Err(ListWatchError::Broken(format!(
            "nothing came for {} s",
            patience.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use serde_json::json;

    use super::*;
    use crate::{
        Kind as _,
        cache::{InformerOptions, ListOptions, QueueKind, WatchOptions},
    };

    struct Nothing;

    impl ListerWatcher for Nothing {
        fn list(&self, _: ListOptions) -> futures::future::BoxFuture<'_, Result<ByteStream, ListWatchError>> {
            Box::pin(std::future::pending())
        }

        fn watch(
            &self,
            _: WatchOptions,
        ) -> futures::future::BoxFuture<'_, Result<ByteStream, ListWatchError>> {
            Box::pin(std::future::pending())
        }
    }

    fn reflector() -> Reflector {
        let core = Arc::new(UntypedInformer::new::<Node>(
            Node::info(),
            InformerOptions::default(),
            Arc::default(),
        ));
        let fifo = Arc::new(SharedFifo::new(QueueKind::Batching, [None], &core.store));
        Reflector::new(core, Arc::new(Nothing), None, fifo, ReflectorOptions::default())
    }

    fn list(reflector: &mut Reflector, item: &serde_json::Value) -> Arc<StoredObject> {
        let item = item.to_string();
        let listed = reflector
            .scanner
            .listed(item.as_bytes(), &[], &reflector.core.store);
        reflector.listed(listed.unwrap(), &[])
    }

    /// Else a relist would hold everything twice for a moment.
    #[test]
    fn a_list_keeps_nothing_of_what_the_store_has() {
        let node = |uid: &str, version: &str| json!({"metadata": {"name": "n", "uid": uid, "resourceVersion": version}});
        let mut reflector = reflector();
        let core = reflector.core.clone();
        core.seed(&node("u", "1")).unwrap();
        for (uid, version, is_kept) in [("u", "1", true), ("u", "2", false), ("v", "1", false)] {
            let listed = list(&mut reflector, &node(uid, version));
            let stored = core.store.get(listed.metadata.name()).unwrap();
            assert_eq!(Arc::ptr_eq(&listed, &stored), is_kept, "{uid} {version}");
        }
    }

    /// What did not change leaves no gaps between what did: those would be as long as all that was listed.
    #[test]
    fn what_a_list_brings_anew_lies_close_together() {
        const EACH: usize = 8_000;
        let node = |number: usize, version: usize| {
            // Nothing is alike, else they would be kept as differences.
            let digest = |part: usize| {
                format!(
                    "{:016x}",
                    (number * EACH + part + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                )
            };
            let text: String = (0..EACH / 16).map(digest).collect();
            json!({"metadata": {"name": format!("n-{number}"), "uid": "u", "resourceVersion": version.to_string()}, "text": text})
        };
        let mut reflector = reflector();
        let first = (0..400).map(|number| list(&mut reflector, &node(number, 1)));
        let first = Delta::Replaced {
            namespace: None,
            version: "1".into(),
            objects: first.collect(),
        };
        reflector.core.store.apply(vec![first], false);
        let second =
            (0..400).map(|number| list(&mut reflector, &node(number, 1 + usize::from(number % 10 == 0))));
        let second: Vec<_> = second.collect();
        let new = second
            .iter()
            .filter(|object| object.metadata.resource_version() == "2");
        let mut places: Vec<_> = new
            .filter_map(|object| Some(object.payload.raw()?.as_ptr() as usize))
            .collect();
        assert_eq!(places.len(), 40, "they are fresh");
        places.sort_unstable();
        let gaps = places.windows(2).filter(|pair| pair[1] - pair[0] > 2 * EACH);
        assert!(gaps.count() < 10);
    }
}
