//! Skips applies that would change nothing: compares records of the last successful applies with the informers' caches.
//!
//! An operator that applies the same intent at every reconcile mostly sends requests that change nothing. Such an apply is answered from the
//! cache if the cache shows exactly the version that the last apply of the same intent produced. Then the object has not
//! been written since, and the API server would respond with this version again. [`TypedClient::apply`](super::TypedClient::apply) lists all conditions.
//!
//! The records belong to the connection of a `Setup`, so that all its clients and their clones share them. Each write of these clients
//! to an object, of whatever verb, invalidates the object's records unless it is refused or its answer has their version; a write
//! without an answer invalidates them, too. Writes of others are seen through the cache alone: until it shows them, an apply may be skipped that would have
//! undone them. The informer's event for such a write enqueues the key, and the next apply is sent.

use std::{
    borrow::Cow,
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{Arc, Weak},
};

use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use ring::digest::{Context, SHA256, SHA256_OUTPUT_LEN};
use serde::Deserialize;
use tokio::time::{Duration, Instant};

use super::{apply_intent::contains_intent, cached_objects::CachedObjects, request::ApiRequest};
use crate::lru::LruMap;

/// How long after it was sent an apply may be skipped. Changes by new defaults or admission plugins are picked up by the next one.
pub(crate) const DEFAULT_APPLY_CACHE_TTL: Duration = Duration::from_mins(10);
/// The most objects with records, of about 150 bytes each.
const MAX_OBJECTS: usize = 65_536;
/// The most records of an object: one for each field manager and subresource.
const MAX_RECORDS_PER_OBJECT: usize = 8;

type Digest = [u8; SHA256_OUTPUT_LEN];

/// The last successful applies of a connection and its clones. Cloning copies a pointer.
#[derive(Clone)]
pub(crate) struct ApplyCache(Arc<ApplyCacheShared>);

struct ApplyCacheShared {
    objects: Arc<dyn CachedObjects>,
    table: Mutex<RecordTable>,
    hasher: RandomState,
    skipped: Counter,
}

struct RecordTable {
    /// Zero: every apply is sent.
    ttl: Duration,
    /// By the hash of the object's identity. With a collision, the digests differ.
    records: LruMap<u64, Vec<ApplyRecord>>,
    in_flight: HashMap<u64, InFlightWrites>,
}

/// The last successful apply of one field manager to an object or to a subresource.
struct ApplyRecord {
    applier: u64,
    request: Digest,
    version: Digest,
    sent_at: Instant,
}

/// The writes to an object without a response so far.
#[derive(Default)]
struct InFlightWrites {
    count: usize,
    /// Several were in flight together: their order on the API server is unknown.
    overlap: bool,
}

/// The hashes that identify an apply: field manager, target, options and intent.
pub(super) struct ApplyKey {
    /// Field manager and subresource.
    applier: u64,
    /// The path with the query (kind, object, subresource, field manager, force) and the body.
    request: Digest,
}

/// A sent apply, to be recorded when its response arrives.
pub(super) struct SentApply {
    pub(super) key: ApplyKey,
    pub(super) intent: Bytes,
}

/// A write without a response so far. Dropping it invalidates the object's records, because it may have been carried out.
pub(super) struct InFlightWrite {
    shared: Weak<ApplyCacheShared>,
    /// `None` for deletecollection.
    object: Option<u64>,
    sent_at: Instant,
    outcome: WriteOutcome,
}

#[derive(Default)]
enum WriteOutcome {
    #[default]
    Unknown,
    Refused,
    /// The object has this version.
    Written {
        version: Digest,
        /// The field manager and subresource of an apply.
        applier: Option<u64>,
        record: Option<ApplyRecord>,
    },
}

impl ApplyCache {
    pub(crate) fn new(objects: Arc<dyn CachedObjects>) -> Self {
        Self(Arc::new(ApplyCacheShared {
            objects,
            table: Mutex::new(RecordTable {
                ttl: DEFAULT_APPLY_CACHE_TTL,
                records: LruMap::new(MAX_OBJECTS),
                in_flight: HashMap::new(),
            }),
            hasher: RandomState::new(),
            skipped: Counter::default(),
        }))
    }

    /// Sets how long after it was sent an apply may be skipped; zero disables the cache.
    pub(crate) fn set_ttl(&self, ttl: Duration) {
        let mut table = self.0.table.lock();
        table.ttl = ttl;
        if ttl.is_zero() {
            // Writes are not tracked from now on.
            table.invalidate_all();
        }
    }

    /// Whether applies may be skipped: otherwise nothing is hashed, and writes need not be tracked.
    pub(super) fn is_enabled(&self) -> bool {
        !self.0.table.lock().ttl.is_zero()
    }

    /// The counter of skipped applies.
    pub(crate) fn skipped(&self) -> &Counter {
        &self.0.skipped
    }

    pub(super) fn key(
        &self,
        request: &http::Request<Bytes>,
        api: &ApiRequest,
        field_manager: &str,
    ) -> ApplyKey {
        let uri = request.uri();
        ApplyKey {
            applier: self.0.hasher.hash_one((api.subresource, field_manager)),
            request: digest([uri.path(), uri.query().unwrap_or_default()], request.body()),
        }
    }

    /// Returns the object from the cache, decoded by `decode`, if this apply was the last successful one of its field manager, and nothing
    /// has changed since.
    pub(super) fn unchanged_object<T>(
        &self,
        api: &ApiRequest,
        key: &ApplyKey,
        decode: impl FnOnce(&[u8]) -> serde_json::Result<T>,
    ) -> Option<T> {
        let shared = &*self.0;
        let applied = shared
            .table
            .lock()
            .applied_version(shared.object_hash(api)?, key)?;
        let is_version = |uid: &str, version: &str| version_digest(uid, version) == Some(applied);
        let json = shared
            .objects
            .object_at(&api.info, &api.namespaced_name()?, &is_version)?;
        let object = decode(&json).ok()?;
        shared.skipped.inc();
        Some(object)
    }

    /// Registers a write that is about to be sent.
    pub(super) fn begin_write(&self, api: &ApiRequest) -> InFlightWrite {
        let object = self.0.object_hash(api);
        self.0.table.lock().begin(object);
        InFlightWrite {
            shared: Arc::downgrade(&self.0),
            object,
            sent_at: Instant::now(),
            outcome: WriteOutcome::Unknown,
        }
    }
}

impl ApplyCacheShared {
    /// Returns `None` for a collection. The hash is the same for all API versions of the kind.
    fn object_hash(&self, api: &ApiRequest) -> Option<u64> {
        let (info, name) = (&api.info, api.name.as_deref()?);
        let identity = (&*info.group, &*info.plural, api.namespace.as_deref(), name);
        Some(self.hasher.hash_one(identity))
    }
}

impl RecordTable {
    /// Returns the version that an apply produced, if it was the last one of its field manager, is young enough, and no write is in flight.
    fn applied_version(&mut self, object: u64, key: &ApplyKey) -> Option<Digest> {
        if self.ttl.is_zero() || self.in_flight.contains_key(&object) {
            return None;
        }
        let ttl = self.ttl;
        let mut records = self.records.get(&object)?.iter();
        let record = records.find(|record| record.applier == key.applier)?;
        (record.request == key.request && record.sent_at.elapsed() < ttl).then_some(record.version)
    }

    fn begin(&mut self, object: Option<u64>) {
        let Some(object) = object else {
            self.invalidate_all();
            return;
        };
        let writes = self.in_flight.entry(object).or_default();
        writes.count += 1;
        writes.overlap |= writes.count > 1;
    }

    fn end(&mut self, object: Option<u64>, outcome: WriteOutcome) {
        let Some(object) = object else {
            self.invalidate_all();
            return;
        };
        let mut overlapped = false;
        if let Some(writes) = self.in_flight.get_mut(&object) {
            writes.count -= 1;
            overlapped = writes.overlap;
            if writes.count == 0 {
                self.in_flight.remove(&object);
            }
        }
        let (version, applier, record) = match outcome {
            WriteOutcome::Refused if !overlapped => return,
            WriteOutcome::Written {
                version,
                applier,
                record,
            } if !overlapped => (version, applier, record),
            _ => {
                self.records.remove(&object);
                return;
            }
        };
        let mut records = self.records.remove(&object).unwrap_or_default();
        records.retain(|record| record.version == version && Some(record.applier) != applier);
        if let Some(record) = record.filter(|_| !self.ttl.is_zero()) {
            if records.len() >= MAX_RECORDS_PER_OBJECT {
                records.remove(0);
            }
            records.push(record);
        }
        if !records.is_empty() {
            self.records.insert(object, records);
        }
    }

    /// deletecollection may affect every object, also those with a write in flight.
    fn invalidate_all(&mut self) {
        self.records.clear();
        for writes in self.in_flight.values_mut() {
            writes.overlap = true;
        }
    }
}

impl InFlightWrite {
    /// Notes that the API server did not carry out the write.
    pub(super) fn refused(mut self) {
        self.outcome = WriteOutcome::Refused;
    }

    /// Notes the response. An apply is recorded if the response has no warning, and contains the intent.
    pub(super) fn succeeded(mut self, response: &[u8], has_warning: bool, apply: Option<SentApply>) {
        let Some(version) = response_version(response) else {
            return;
        };
        let applier = apply.as_ref().map(|apply| apply.key.applier);
        let record = apply
            .filter(|apply| !has_warning && has_intent(response, &apply.intent))
            .map(|apply| ApplyRecord {
                applier: apply.key.applier,
                request: apply.key.request,
                version,
                sent_at: self.sent_at,
            });
        self.outcome = WriteOutcome::Written {
            version,
            applier,
            record,
        };
    }
}

impl Drop for InFlightWrite {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared
                .table
                .lock()
                .end(self.object, std::mem::take(&mut self.outcome));
        }
    }
}

fn has_intent(response: &[u8], intent: &[u8]) -> bool {
    let (response, intent) = (serde_json::from_slice(response), serde_json::from_slice(intent));
    matches!((response, intent), (Ok(response), Ok(intent)) if contains_intent(&response, &intent))
}

/// Returns `None` if the response is not an object, but a `Status`, for instance.
fn response_version(response: &[u8]) -> Option<Digest> {
    #[derive(Deserialize)]
    struct ResponseObject<'a> {
        #[serde(borrow)]
        metadata: ResponseMetadata<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResponseMetadata<'a> {
        #[serde(borrow)]
        uid: Cow<'a, str>,
        #[serde(borrow)]
        resource_version: Cow<'a, str>,
    }
    let ResponseObject { metadata } = serde_json::from_slice(response).ok()?;
    version_digest(&metadata.uid, &metadata.resource_version)
}

/// Returns `None` if one of both is empty.
fn version_digest(uid: &str, version: &str) -> Option<Digest> {
    (!uid.is_empty() && !version.is_empty()).then(|| digest([uid, version], &[]))
}

/// The SHA-256 of two texts, each followed by a zero byte, and of bytes.
fn digest(texts: [&str; 2], bytes: &[u8]) -> Digest {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(text.as_bytes());
        context.update(&[0]);
    }
    context.update(bytes);
    let mut digest = Digest::default();
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

#[cfg(test)]
#[path = "apply_cache_tests/mod.rs"]
mod tests;
