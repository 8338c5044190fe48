//! The cache: what the API server holds, kept in memory by a list and a watch, shared by all who read it.
//!
//! Read in the order in which data flows: [`reflector`] → fifo → store → processor → [`informer`] → [`factory`] → [`lister`];
//! before them [`object`], what all of them hand on.

mod enum_key;
mod factory;
mod index;
mod informer;
mod lister;
mod object;

pub use factory::{InformerOptions, SharedInformerFactory};
pub use index::{IndexSpec, IndexType};
pub use informer::{Change, Deleted, EventHandler, HandlerRegistration, SharedInformer};
pub use lister::{IndexKey, Items, Lister, LookupError, NamespaceLister};
pub use object::{DecodeError, Metadata, Object, OwnerRef};
