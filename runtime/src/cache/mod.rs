//! The cache: shared informers that list and watch the API server, and listers that read their stores.
//!
//! The cache stores JSON bytes and decodes an object when it is read. Start with [`SharedInformerFactory`], which makes a
//! [`SharedInformer`] of a kind. Read objects through its [`Lister`]; receive changes with an [`EventHandler`].
//!
//! Inside, read `metadata` and `object` first, the data types of all other modules, and `scan`, which parses them. Then follow the data:
//! `list_watch` → `reflector` → `fifo` (delta queue) → `store`, with `index` and `indexer` → `processor`, which calls handlers (`handler`).
//! `untyped_informer` connects these without type parameters. `informer`, `factory` and `lister` are the typed layer; `decoder` decodes.

mod api_list_watch;
mod backoff;
mod compression;
mod decoded_cache;
mod decoder;
mod enum_key;
mod factory;
mod failure_log;
mod fifo;
mod filtered;
mod freshness;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod handler;
mod index;
mod indexer;
mod informer;
mod informer_handle;
mod interner;
mod label_selector;
mod list_watch;
mod lister;
mod log_once;
mod metadata;
mod object;
mod owner;
mod prefetch;
mod processor;
mod reflector;
mod resource_version;
mod running_informer;
mod scan;
mod selector_match;
mod stats;
mod storage_mode;
mod store;
mod test_seeding;
#[cfg(test)]
pub(crate) mod tests;
mod thread;
mod tree;
mod untyped_informer;
mod warnings;
mod watch_health;

pub use backoff::{Backoff, ExponentialBackoff};
pub use factory::{InformerOptions, RegisteredKind, SharedInformerFactory};
pub use fifo::QueueKind;
pub use filtered::Filtered;
pub use handler::{Change, Deleted, EventHandler, HandlerOptions};
pub use index::{AddIndexError, IndexKey, IndexPath, IndexPathError, IndexSpec, IndexType, PathSegment};
pub use informer::{AlreadyStarted, SharedInformer};
pub(crate) use informer_handle::InformerHandle;
pub use list_watch::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions};
pub use lister::{Items, Lister, LookupError, NamespaceLister};
pub use metadata::{Metadata, OwnerRef};
pub use object::{DecodeError, Object};
pub use owner::Owner;
pub use processor::HandlerRegistration;
pub use reflector::ReflectorOptions;
pub(crate) use resource_version::OrderedVersion;
pub use stats::InformerStats;
pub use storage_mode::{StorageMode, Transform};
pub use test_seeding::SeedError;
