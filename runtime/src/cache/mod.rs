//! The cache: what the API server holds, kept in memory by a list and a watch, shared by all who read it.
//!
//! The cache keeps bytes; types are views. Start with [`SharedInformerFactory`], which makes a [`SharedInformer`] of a kind; read through
//! its [`Lister`], be told of changes by an [`EventHandler`].
//!
//! Inside, read `metadata` and `object` first, what all others hand on, and `scan`, which makes them; then in the order in which data flows: `source` →
//! `reflector` → `fifo` → `store` → `processor` → `core`, which puts them together without types → `informer` → `factory` → `lister`, the
//! typed skin. `views` is where bytes are decoded, `handler` says what is told of changes.

mod absorbing;
mod api_list_watch;
mod backoff;
mod cached_objects;
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
mod list_watch;
mod lister;
mod log_once;
mod metadata;
mod object;
mod prefetch;
mod processor;
mod reflector;
mod resource_version;
mod scan;
mod seeding;
mod selector;
mod stats;
mod storage_mode;
mod store;
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
pub use index::{IndexKey, IndexPath, IndexPathError, IndexSpec, IndexType, PathSegment};
pub use informer::{AlreadyStarted, SeedError, SharedInformer};
pub(crate) use informer_handle::InformerHandle;
pub use list_watch::{ByteStream, ListOptions, ListWatchError, ListerWatcher, WatchOptions};
pub use lister::{Items, Lister, LookupError, NamespaceLister};
pub use metadata::{Metadata, OwnerRef};
pub use object::{DecodeError, Object};
pub use processor::HandlerRegistration;
pub use reflector::ReflectorOptions;
pub use stats::InformerStats;
pub use storage_mode::{StorageMode, Transform};
