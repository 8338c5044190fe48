//! The cache: shared informers, which keep a copy of the API server's objects by a list and a watch.
//!
//! Start with [`SharedInformerFactory`], which makes a [`SharedInformer`] of a kind. Read objects through its [`Lister`], and changes
//! through an [`EventHandler`]. The cache keeps bytes, which are decoded as the reader's type when they are read.
//!
//! Inside, read `metadata` and `object` first, then the parts in the order in which data flows: `list_watch` → `reflector` → `scan` →
//! `compression` (encodes payloads) → `fifo` (the delta queue) → `store` and `indexer` → `processor` (handlers and sinks).
//! `running_informer` connects them in one task; `untyped_informer` is what it shares with the typed `informer`, `factory` and `lister`.
//! `decoder` decodes bytes.

mod api_list_watch;
mod backoff;
mod cache_sync;
mod cached_objects;
mod compression;
mod decoded_cache;
mod decoder;
mod enum_index_key;
mod factory;
mod failure_log;
mod fifo;
mod filtered;
mod freshness;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod handler;
pub(crate) mod index;
mod indexer;
mod informer;
mod informer_handle;
mod informer_lifecycle;
mod informer_observer;
mod interner;
mod label_selector;
pub mod list_watch;
mod lister;
mod log_once;
mod metadata;
mod object;
mod owner;
mod prefetch;
mod processor;
mod reflector;
mod registered_kind;
mod resource_version;
mod running_informer;
mod scan;
mod selector_match;
mod snapshot_tree;
pub(crate) mod stats;
mod storage_mode;
mod store;
mod test_seeding;
#[cfg(test)]
pub(crate) mod tests;
mod thread;
mod tombstone;
mod untyped_informer;
mod warnings;
mod watch_health;

pub use crate::index_spec::{IndexSpec, IndexType};
pub use factory::{InformerOptions, SharedInformerFactory};
pub(crate) use fifo::QueueKind;
pub use filtered::Filtered;
pub use handler::{Change, EventHandler, HandlerOptions};
pub use index::{AddIndexError, IndexKey};
pub use informer::SharedInformer;
pub(crate) use informer_handle::InformerHandle;
pub(crate) use informer_observer::{InformerObserver, ObserverId};
pub(crate) use list_watch::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions};
pub use lister::{Items, Lister, LookupError, NamespaceLister};
pub use metadata::{Metadata, OwnerRef};
pub use object::{DecodeError, Object};
pub use owner::Owner;
pub use processor::HandlerRegistration;
pub(crate) use reflector::ReflectorOptions;
pub(crate) use registered_kind::RegisteredKind;
pub(crate) use resource_version::OrderedVersion;
pub(crate) use stats::InformerStats;
pub use storage_mode::{StorageMode, Transform};
pub use tombstone::Deleted;
