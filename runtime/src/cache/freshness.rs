//! Whether a store holds what the API server had at a moment, not only what its watch has brought so far.

use std::{cmp::Ordering, sync::Arc, time::Duration};

use futures::{StreamExt as _, TryStreamExt as _};
use tokio::time::{Instant, sleep, timeout};

use super::{
    ListOptions, ListWatchError, ListerWatcher, WatchOptions,
    fifo::Namespace,
    object::StoredObject,
    resource_version,
    scan::{Lines, ListSplitter, Scanner, WatchEvent},
    untyped_informer::UntypedInformer,
};

/// How often it is looked whether the store has caught up.
const LOOK: Duration = Duration::from_millis(20);
/// So long the API server may take for a list of one object.
const ANSWER: Duration = Duration::from_secs(10);
/// A watch that ends after this time brings a bookmark two seconds before: API servers otherwise send one a minute.
const PROBE_SECONDS: u32 = 3;
/// So long an API server that says neither yes nor no is asked.
const UNDECIDED: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// One namespace of an informer, or all, and where it comes from.
pub(super) struct Quorum {
    core: Arc<UntypedInformer>,
    namespace: Namespace,
    source: Arc<dyn ListerWatcher>,
}

/// What the API server answered.
struct Listed {
    version: String,
    /// All objects that there are; none where there are more than it listed.
    all: Option<Vec<StoredObject>>,
}

impl Quorum {
    pub(super) fn new(
        core: Arc<UntypedInformer>,
        namespace: Namespace,
        source: Arc<dyn ListerWatcher>,
    ) -> Self {
        Self {
            core,
            namespace,
            source,
        }
    }

    /// Returns once the store holds everything that the API server had when this was called.
    ///
    /// The version of a quorum list says how far that is. An idle kind does not get there by itself for up to a minute, because its version
    /// moves only with bookmarks while those of other kinds go on. Where the list of one object has all that there is, the store is compared
    /// with it. Else a second, short watch from the store's version is opened: either its bookmark says that nothing happened since, or it
    /// shows how far the store must get.
    pub(super) async fn reached(self) {
        self.core.wait_for_sync().await;
        let Listed { version: quorum, all } = self.ask().await;
        if all.is_some_and(|all| self.is_all(&all)) {
            return;
        }
        if !resource_version::is_number(&quorum) {
            tracing::warn!(
                "{}: the API server's resource version {quorum:?} is no number: it cannot be waited for",
                self.place()
            );
            return;
        }
        let (began, mut wanted) = (Instant::now(), None);
        loop {
            if self.has(wanted.as_deref().unwrap_or(&quorum)) {
                return;
            }
            if wanted.is_some() {
                sleep(LOOK).await;
            } else if began.elapsed() > UNDECIDED {
                // As every other client does always. What is written is still checked by the API server.
                tracing::warn!(
                    "{}: the API server did not say within {UNDECIDED:?} whether the cache is up to date; going on with what it holds",
                    self.place()
                );
                return;
            } else {
                let probe = self.probe(&quorum);
                let arrived = async {
                    while !self.has(&quorum) {
                        sleep(LOOK).await;
                    }
                };
                tokio::select! {
                    biased;
                    () = arrived => return,
                    probed = probe => match probed {
                        Ok(version) => wanted = version,
                        Err(error) => {
                            tracing::debug!("{}: {error}", self.place());
                            sleep(Duration::from_secs(1)).await;
                        }
                    },
                }
            }
        }
    }

    /// A list of one object, from the API server's storage.
    async fn ask(&self) -> Listed {
        let (mut pause, mut said) = (Duration::from_millis(500), None);
        loop {
            let failure = match timeout(ANSWER, self.list()).await {
                Ok(Ok(listed)) => return listed,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            if said.as_ref() != Some(&failure) {
                tracing::warn!(
                    "{}: cannot ask the API server how up to date the cache is, trying again: {failure}",
                    self.place()
                );
                said = Some(failure);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn list(&self) -> Result<Listed, ListWatchError> {
        let options = ListOptions {
            limit: Some(1),
            ..ListOptions::default()
        };
        let mut body = self.source.list(options).await?;
        let (mut cutter, mut scanner, mut objects) = (ListSplitter::new(), self.scanner(), Vec::new());
        while let Some(chunk) = body.try_next().await? {
            cutter.push(&chunk, |item| {
                // One that the informer could not read is none that it has.
                objects.push(scanner.object(item, &[]).ok());
                Ok(())
            })?;
        }
        let list = cutter.finish()?;
        let is_whole = list.continue_token.is_none_or(|token| token.is_empty());
        let all = is_whole.then(|| objects.into_iter().collect()).flatten();
        Ok(Listed {
            version: list.resource_version,
            all,
        })
    }

    fn scanner(&self) -> Scanner {
        Scanner::keeping(self.core.decoder.clone(), &self.core.options.storage)
    }

    /// Whether the store holds just these, in these versions.
    fn is_all(&self, objects: &[StoredObject]) -> bool {
        let there = match &self.namespace {
            Some(namespace) => self.core.store.of_namespace(namespace),
            None => self.core.store.all(),
        };
        let is_known = |object: &StoredObject| self.core.store.get_same_version(&object.metadata).is_some();
        there.len() == objects.len() && objects.iter().all(is_known)
    }

    /// How far the store must get to hold all up to `quorum`; none when the watch ended without saying so.
    async fn probe(&self, quorum: &str) -> Result<Option<String>, ListWatchError> {
        let mut version = self
            .core
            .store
            .version(self.namespace.as_deref())
            .unwrap_or_default();
        let options = WatchOptions {
            resource_version: version.clone(),
            timeout_seconds: PROBE_SECONDS,
            send_initial_events: false,
        };
        let patience = Duration::from_secs(u64::from(PROBE_SECONDS) + 2);
        let watched = async {
            let mut body = self.source.watch(options).await?;
            let (mut lines, mut scanner) = (Lines::default(), self.scanner());
            let mut is_decided = false;
            while let Some(chunk) = body.next().await {
                let read = lines.push(&chunk?, |line| {
                    match scanner.watch_line(line, &[])? {
                        WatchEvent::Error(status) => return Err(ListWatchError::Status(status)),
                        WatchEvent::Bookmark { version: reached, .. } => {
                            is_decided |= is_at_least(&reached, quorum);
                        }
                        WatchEvent::Added(object)
                        | WatchEvent::Modified(object)
                        | WatchEvent::Deleted(object)
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
        timeout(patience, watched).await.unwrap_or(Ok(None))
    }

    /// Whether the store holds everything up to the version. One that is no number cannot be waited for.
    fn has(&self, wanted: &str) -> bool {
        let version = self.core.store.version(self.namespace.as_deref());
        version.is_none_or(|version| resource_version::compare(&version, wanted) != Some(Ordering::Less))
    }

    fn place(&self) -> String {
        let kind = self.core.info().group_resource();
        match &self.namespace {
            Some(namespace) => format!("{kind} in namespace {namespace}"),
            None => kind,
        }
    }
}

fn is_at_least(version: &str, wanted: &str) -> bool {
    resource_version::compare(version, wanted).is_some_and(Ordering::is_ge)
}
