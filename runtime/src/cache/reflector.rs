//! The reflector: keeps a queue told of what the API server holds, by a list and then a watch, again and again.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout};

use super::{
    Chunks, ListOptions, ListerWatcher, SourceError, WatchOptions,
    backoff::Backoff,
    complaints::Complaints,
    core::Core,
    fifo::{Delta, Namespace, SharedFifo},
    index::Index,
    object::StoredObject,
    scan::{Lines, ListCutter, ScanError, Scanner, WatchEvent},
    stats::count,
};

const PAGE_SIZE: u32 = 500;
/// API servers send a bookmark a minute: silence for thrice as long means that the connection is dead.
const SILENCE: Duration = Duration::from_mins(3);
/// The server ends a watch after a time between these, so that not all clients come back at once.
const WATCH_SECONDS: std::ops::Range<u32> = 300..600;
const VERY_SHORT: Duration = Duration::from_secs(1);

/// Lists and watches one namespace, or all, for one informer.
pub(super) struct Reflector {
    core: Arc<Core>,
    source: Arc<dyn ListerWatcher>,
    namespace: Namespace,
    fifo: Arc<SharedFifo>,
    scanner: Scanner,
    backoff: Backoff,
    complaints: Complaints,
    /// The version of the last list, event or bookmark; none before the first list.
    version: Option<Box<str>>,
    /// The server refused to list at `version`.
    version_unavailable: bool,
    /// The server pages lists at version 0 too: it has no cache of them.
    paged: bool,
}

/// A list, put together of its pages.
struct Listed {
    objects: Vec<Arc<StoredObject>>,
    version: String,
    pages: usize,
}

impl Reflector {
    pub(super) fn new(
        core: Arc<Core>,
        source: Arc<dyn ListerWatcher>,
        namespace: Namespace,
        fifo: Arc<SharedFifo>,
    ) -> Self {
        Self {
            scanner: Scanner::keeping(core.info(), &core.options.keep),
            complaints: Complaints::new(core.info(), namespace.as_deref()),
            core,
            source,
            namespace,
            fifo,
            backoff: Backoff::new(),
            version: None,
            version_unavailable: false,
            paged: false,
        }
    }

    /// Never returns; cancel by dropping.
    pub(super) async fn run(mut self) {
        loop {
            if let Err(error) = self.list_and_watch().await {
                self.failed(&error);
            }
            sleep(self.backoff.next()).await;
        }
    }

    /// Returns when a new list is needed.
    async fn list_and_watch(&mut self) -> Result<(), SourceError> {
        self.list().await?;
        loop {
            match self.watch().await {
                Ok(()) => {}
                Err(error) if error.asks_to_wait() => {
                    self.failed(&error);
                    sleep(self.backoff.next()).await;
                }
                Err(error) if error.is_expired() => {
                    tracing::debug!(
                        "{}: the watch's version has expired: {error}",
                        self.complaints.place()
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Puts the whole list into the queue as one replacement.
    async fn list(&mut self) -> Result<(), SourceError> {
        let version = match &self.version {
            _ if self.version_unavailable => String::new(),
            None => "0".to_owned(),
            Some(version) => version.to_string(),
        };
        let listed = match self.list_at(&version).await {
            Err(error) if error.is_expired() || error.is_too_large_version() => {
                self.version_unavailable = true;
                self.list_at("").await?
            }
            listed => listed?,
        };
        self.paged |= version == "0" && listed.pages > 1;
        self.version_unavailable = false;
        self.version = Some(listed.version.into());
        count(&self.core.counters.lists);
        self.fifo.push([Delta::Replaced {
            namespace: self.namespace.clone(),
            objects: listed.objects,
        }]);
        Ok(())
    }

    /// Lists in pages where the server does not answer from its cache anyway; a page that expired costs a full list.
    async fn list_at(&mut self, version: &str) -> Result<Listed, SourceError> {
        let limit = (self.paged || ["", "0"].contains(&version)).then_some(PAGE_SIZE);
        let first = ListOptions {
            resource_version: version.to_owned(),
            limit,
            continue_token: None,
        };
        match self.pages(first.clone()).await {
            Err((true, error)) if error.is_expired() => {
                self.pages(ListOptions { limit: None, ..first }).await
            }
            listed => listed,
        }
        .map_err(|(_, error)| error)
    }

    /// An error comes with whether it was that of a later page.
    async fn pages(&mut self, mut options: ListOptions) -> Result<Listed, (bool, SourceError)> {
        let mut listed = Listed {
            objects: Vec::new(),
            version: String::new(),
            pages: 0,
        };
        loop {
            let page = self.page(options.clone(), &mut listed.objects).await;
            let (version, next) = page.map_err(|error| (listed.pages > 0, error))?;
            listed.pages += 1;
            if listed.pages == 1 {
                listed.version = version;
            }
            // Later pages are of the first one's version, which the token carries.
            match next {
                None => return Ok(listed),
                token => {
                    options = ListOptions {
                        resource_version: String::new(),
                        continue_token: token,
                        ..options
                    }
                }
            }
        }
    }

    async fn page(
        &mut self,
        options: ListOptions,
        objects: &mut Vec<Arc<StoredObject>>,
    ) -> Result<(String, Option<String>), SourceError> {
        let indexes = self.core.store.indexes();
        let mut body = in_time(self.source.list(options)).await??;
        let mut cutter = ListCutter::new();
        while let Some(chunk) = next(&mut body, SILENCE).await? {
            cutter.push(&chunk, |item| {
                let object = self.scanner.object(item, &indexes)?;
                objects.push(self.core.arrived(object, &indexes));
                Ok(())
            })?;
        }
        let envelope = cutter.finish()?;
        Ok((envelope.resource_version, envelope.continue_token))
    }

    /// Returns without an error when the next watch can go on from the last version.
    async fn watch(&mut self) -> Result<(), SourceError> {
        let started = Instant::now();
        let timeout_seconds = rand::random_range(WATCH_SECONDS);
        let version = self.version.as_deref().unwrap_or_default();
        let options = WatchOptions {
            resource_version: version.to_owned(),
            timeout_seconds,
        };
        let mut body = in_time(self.source.watch(options)).await??;
        count(&self.core.counters.watches);
        if self.complaints.settled() {
            tracing::info!("{}: watching", self.complaints.place());
        }
        let mut lines = Lines::default();
        let mut events = 0;
        // A watch from no version begins with the objects in no order: their versions say nothing.
        let mut unordered = ["", "0"].contains(&self.version.as_deref().unwrap_or_default());
        let end = started + Duration::from_secs(timeout_seconds.into()) + SILENCE;
        loop {
            let patience = SILENCE.min(end.saturating_duration_since(Instant::now()));
            let chunk = match next(&mut body, patience).await {
                Ok(chunk) => chunk,
                Err(error) => {
                    tracing::debug!("{}: {error}; watching on", self.complaints.place());
                    None
                }
            };
            let Some(chunk) = chunk else { break };
            let indexes = self.core.store.indexes();
            let (mut deltas, mut ended) = (Vec::new(), Ok(()));
            // What came before a bad line counts.
            let _ = lines.push(&chunk, |line| {
                events += 1;
                ended = self.line(line, &indexes, &mut deltas, &mut unordered);
                ended.as_ref().map_err(drop).copied()
            });
            if !deltas.is_empty() {
                self.fifo.push(deltas);
            }
            ended?;
        }
        if started.elapsed() < VERY_SHORT {
            if events == 0 {
                return Err(SourceError::VeryShortWatch);
            }
            sleep(self.backoff.next()).await;
        }
        Ok(())
    }

    fn line(
        &mut self,
        line: &[u8],
        indexes: &[Arc<Index>],
        deltas: &mut Vec<Delta>,
        unordered: &mut bool,
    ) -> Result<(), SourceError> {
        count(&self.core.counters.watch_events);
        let event = self.scanner.watch_line(line, indexes)?;
        let added = matches!(event, WatchEvent::Added(_));
        let version = match event {
            WatchEvent::Error(status) => return Err(SourceError::Status(status)),
            WatchEvent::Bookmark(version) => version,
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let object = self.core.arrived(object, indexes);
                deltas.push(Delta::Upserted(object.clone()));
                object.metadata.resource_version().into()
            }
            WatchEvent::Deleted(object) => {
                let object = self.core.arrived(object, indexes);
                deltas.push(Delta::Deleted(object.clone()));
                object.metadata.resource_version().into()
            }
        };
        *unordered &= added;
        if !*unordered && !version.is_empty() {
            self.version = Some(version);
        }
        Ok(())
    }

    fn failed(&mut self, error: &SourceError) {
        count(&self.core.counters.failures);
        if let Some(warning) = self.complaints.about(error) {
            tracing::warn!("{warning}");
        } else {
            tracing::debug!("{}: {error}", self.complaints.place());
        }
    }
}

impl From<ScanError> for SourceError {
    fn from(error: ScanError) -> Self {
        Self::Malformed(error.to_string())
    }
}

async fn in_time<T>(response: impl Future<Output = T>) -> Result<T, SourceError> {
    timeout(SILENCE, response)
        .await
        .map_err(|_| SourceError::Unreachable {
            message: format!("no answer within {} s", SILENCE.as_secs()),
            refused: false,
        })
}

async fn next(body: &mut Chunks, patience: Duration) -> Result<Option<bytes::Bytes>, SourceError> {
    match timeout(patience, body.next()).await {
        Ok(chunk) => chunk.transpose(),
        Err(_) => Err(SourceError::Broken(format!(
            "nothing came for {} s",
            patience.as_secs()
        ))),
    }
}
