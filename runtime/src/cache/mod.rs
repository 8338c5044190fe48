//! The cache: what the API server holds, kept in memory by a list and a watch, shared by all who read it.
//!
//! The cache keeps bytes; types are views. Start with [`SharedInformerFactory`], which makes a [`SharedInformer`] of a kind; read through
//! its [`Lister`], be told of changes by an [`EventHandler`].
//!
//! Inside, read `metadata` and `object` first, what all others hand on, and `scan`, which makes them; then in the order in which data flows: `source` →
//! `reflector` → `fifo` → `store` → `processor` → `core`, which puts them together without types → `informer` → `factory` → `lister`, the
//! typed skin. `views` is where bytes are decoded, `handler` says what is told of changes.

mod absorbing;
mod api_source;
mod backoff;
mod complaints;
mod compression;
mod core;
mod enum_key;
mod factory;
mod fifo;
mod filtered;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod handler;
mod hints;
mod hot;
mod index;
mod index_sets;
mod informer;
mod keep;
mod lister;
mod metadata;
mod object;
mod prefetch;
mod processor;
mod progress;
mod quorum;
mod recent;
mod reflector;
mod said;
mod scan;
mod seeding;
mod selector;
mod source;
mod stats;
mod store;
#[cfg(test)]
pub(crate) mod tests;
mod thread;
mod tree;
mod versions;
mod views;
mod watches;

pub use backoff::{Backoff, ExponentialBackoff};
pub use factory::{InformerOptions, RegisteredKind, SharedInformerFactory};
pub use fifo::QueueKind;
pub use filtered::Filtered;
pub use handler::{Change, Deleted, EventHandler, HandlerOptions};
pub use index::{IndexKey, IndexPath, IndexPathError, IndexSpec, IndexType, PathSegment};
pub use informer::{AlreadyStarted, SeedError, SharedInformer};
pub use keep::{Keep, Transform};
pub use lister::{Items, Lister, LookupError, NamespaceLister};
pub use metadata::{Metadata, OwnerRef};
pub use object::{DecodeError, Object};
pub use processor::HandlerRegistration;
pub(crate) use progress::Progress;
pub use reflector::ReflectorOptions;
pub use source::{Chunks, ListOptions, ListerWatcher, SourceError, WatchOptions};
pub use stats::InformerStats;
