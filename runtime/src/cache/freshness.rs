//! Waits until a store holds everything that the API server's storage had at a moment, and not only what its watch cache had sent.

use std::{cmp::Ordering, sync::Arc, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::{
    ListOptions, ListWatchError, ListerWatcher, Metadata, WatchOptions,
    fifo::Namespace,
    resource_version,
    scan::{ListSplitter, ScannedEvent},
    untyped_informer::UntypedInformer,
};
use crate::line_decoder::LineDecoder;

/// How often the store's version is compared.
const STORE_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long the API server may take for a list of one object.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the probing watch runs. API servers send its bookmark two seconds before it ends, instead of after a minute.
const PROBE_SECONDS: u32 = 3;
/// How long probes are repeated that do not decide.
const PROBING_TIMEOUT: Duration = Duration::from_secs(30);
/// The pause after a probe that did not decide.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
const LIST_RETRY_BACKOFF_MIN: Duration = Duration::from_millis(500);
const LIST_RETRY_BACKOFF_MAX: Duration = Duration::from_secs(10);

/// Waits for the freshness of one namespace of an informer, or of all.
pub(super) struct FreshnessCheck {
    informer: Arc<UntypedInformer>,
    namespace: Namespace,
    source: Arc<dyn ListerWatcher>,
}

/// A list of at most one object, from the API server's storage.
struct QuorumList {
    version: String,
    /// The metadata of all objects; none if there are more than one.
    complete: Option<Vec<Metadata>>,
}

impl FreshnessCheck {
    pub(super) fn new(
        informer: Arc<UntypedInformer>,
        namespace: Namespace,
        source: Arc<dyn ListerWatcher>,
    ) -> Self {
        Self {
            informer,
            namespace,
            source,
        }
    }

    /// Returns once the store holds everything that the API server had when this was called.
    ///
    /// A quorum list has the version to wait for. The store of an idle kind does not reach it for up to a minute, because its version moves
    /// only with bookmarks while other kinds are written. If the list of one object is complete, it is compared with the store. Else a second,
    /// short watch from the store's version decides: its bookmark shows that nothing changed, or its events show how far the store must get.
    pub(super) async fn wait(self) {
        self.informer.wait_for_sync().await;
        let Some(QuorumList {
            version: quorum,
            complete,
        }) = self.list_until_answered().await
        else {
            return;
        };
        if complete.is_some_and(|complete| self.store_equals(&complete)) {
            return;
        }
        if !resource_version::is_number(&quorum) {
            tracing::warn!(
                "{}: cannot wait for the API server's resource version {quorum:?}: it is not a number; going on with the cache as it is",
                self.describe()
            );
            return;
        }
        let (started, mut wanted) = (Instant::now(), None);
        loop {
            if self.has_reached(wanted.as_deref().unwrap_or(&quorum)) {
                return;
            }
            if wanted.is_some() {
                sleep(STORE_POLL_INTERVAL).await;
            } else if started.elapsed() > PROBING_TIMEOUT {
                // As every other client always does. The API server still checks the versions that are written.
                tracing::warn!(
                    "{}: cannot tell within {PROBING_TIMEOUT:?} whether the cache is up to date: the API server sent no bookmark; \
                     going on with the cache as it is",
                    self.describe()
                );
                return;
            } else {
                let reached = async {
                    while !self.has_reached(&quorum) {
                        sleep(STORE_POLL_INTERVAL).await;
                    }
                };
                tokio::select! {
                    biased;
                    () = reached => return,
                    probed = self.probe(&quorum) => {
                        wanted = probed.unwrap_or_else(|error| {
                            tracing::debug!("{}: {error}", self.describe());
                            None
                        });
                        if wanted.is_none() {
                            // A watch may end at once, as from an API server that is being stopped.
                            sleep(PROBE_PAUSE).await;
                        }
                    },
                }
            }
        }
    }

    /// Returns the list. None if the kind is not served, or may not be listed, any more: then no list will succeed soon, and the controllers of
    /// other kinds must start.
    async fn list_until_answered(&self) -> Option<QuorumList> {
        let (mut backoff, mut logged) = (LIST_RETRY_BACKOFF_MIN, None);
        loop {
            let failure = match timeout(LIST_TIMEOUT, self.list()).await {
                Ok(Ok(list)) => return Some(list),
                Ok(Err(ListWatchError::Status(status))) if [403, 404].contains(&status.code) => {
                    tracing::warn!(
                        "{}: cannot check whether the cache is up to date: {}; going on with the cache as it is",
                        self.describe(),
                        status.message
                    );
                    return None;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer within {LIST_TIMEOUT:?}"),
            };
            if logged.as_ref() != Some(&failure) {
                tracing::warn!(
                    "{}: cannot check whether the cache is up to date: {failure}; retrying",
                    self.describe()
                );
                logged = Some(failure);
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(LIST_RETRY_BACKOFF_MAX);
        }
    }

    async fn list(&self) -> Result<QuorumList, ListWatchError> {
        let options = ListOptions {
            limit: Some(1),
            ..ListOptions::default()
        };
        let mut body = self.source.list(options).await?;
        let (mut splitter, mut scanner) = (ListSplitter::new(), self.informer.scanner());
        let mut objects = Vec::new();
        while let Some(chunk) = body.try_next().await? {
            splitter.push(&chunk, |item| {
                // None: the store lacks an object that the informer cannot read.
                let object = scanner.item(item, |_| {}).ok();
                objects.push(object.map(|object| object.metadata));
                Ok(())
            })?;
        }
        let list = splitter.finish()?;
        let is_complete = list.continue_token.is_none_or(|token| token.is_empty());
        Ok(QuorumList {
            version: list.resource_version,
            complete: is_complete.then(|| objects.into_iter().collect()).flatten(),
        })
    }

    /// Whether the store holds exactly these objects in these versions.
    fn store_equals(&self, objects: &[Metadata]) -> bool {
        let store = &self.informer.store;
        let stored = match &self.namespace {
            Some(namespace) => store.of_namespace(namespace),
            None => store.all(),
        };
        stored.len() == objects.len()
            && objects
                .iter()
                .all(|object| store.get_same_version(object).is_some())
    }

    /// The version that the store must reach to hold everything up to `quorum`; none if the watch ended without deciding.
    async fn probe(&self, quorum: &str) -> Result<Option<String>, ListWatchError> {
        let version = self.informer.store.version(self.namespace.as_deref());
        let mut version = version.unwrap_or_default();
        let options = WatchOptions {
            resource_version: version.clone(),
            timeout_seconds: PROBE_SECONDS,
            send_initial_events: false,
        };
        let deadline = Duration::from_secs(u64::from(PROBE_SECONDS) + 2);
        let watched = async {
            let mut body = self.source.watch(options).await?;
            let (mut lines, mut scanner) = (LineDecoder::default(), self.informer.scanner());
            let mut is_decided = false;
            while let Some(chunk) = body.next().await {
                let read = lines.push(&chunk?, |line| {
                    match scanner.watch_event(line, |_| {})? {
                        ScannedEvent::Error(status) => return Err(ListWatchError::Status(status)),
                        ScannedEvent::Bookmark { version: reached, .. } => {
                            is_decided |= is_at_least(&reached, quorum);
                        }
                        ScannedEvent::Added(object)
                        | ScannedEvent::Modified(object)
                        | ScannedEvent::Deleted(object)
                            if !is_decided =>
                        {
                            object.metadata.resource_version().clone_into(&mut version);
                            is_decided = is_at_least(&version, quorum);
                        }
                        _ => {}
                    }
                    Ok(())
                });
                read?;
                if is_decided {
                    return Ok(Some(version));
                }
            }
            Ok(None)
        };
        timeout(deadline, watched).await.unwrap_or(Ok(None))
    }

    /// Whether the store holds everything up to the version; also true for versions without an order, which cannot be waited for.
    fn has_reached(&self, wanted: &str) -> bool {
        let version = self.informer.store.version(self.namespace.as_deref());
        version.is_none_or(|version| resource_version::compare(&version, wanted) != Some(Ordering::Less))
    }

    fn describe(&self) -> String {
        let kind = self.informer.info().group_resource();
        match &self.namespace {
            Some(namespace) => format!("{kind} in namespace {namespace}"),
            None => kind,
        }
    }
}

fn is_at_least(version: &str, wanted: &str) -> bool {
    resource_version::compare(version, wanted).is_some_and(Ordering::is_ge)
}
