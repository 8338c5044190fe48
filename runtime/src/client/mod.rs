//! Typed clients: what an operator writes, with the verbs in the type.
//!
//! Read verbs first, then [`TypedClient`]: its methods are in typed, list, watch, apply and subresources. Each makes a `ApiRequest`, and [`Connection`]
//! carries it. [`ClientError`] says what became of it.

mod apply;
mod apply_cache;
mod builtin;
mod cached_objects;
mod connection;
mod discovery;
mod error;
mod fence;
mod inline_connection;
mod intent;
mod list;
mod patch;
mod rate_limit;
mod repeat;
mod request;
mod request_metrics;
mod retry;
pub(crate) mod retry_after;
mod scheme;
mod subresources;
mod transport;
mod typed;
mod user_agent;
mod verbs;
mod watch;
mod write_observer;

pub(crate) use apply_cache::ApplyCache;
pub(crate) use cached_objects::CachedObjects;
pub(crate) use fence::Fence;
pub(crate) use request::{ApiRequest, PreparedRequest};
pub(crate) use request_metrics::Requests;
pub(crate) use user_agent::{on_behalf_of, part, with_part};
pub(crate) use write_observer::{WriteKind, WriteObserver, WriteRecord, with_write_observer, write_observer};

pub use apply::ApplyOptions;
pub use connection::{ConnectError, Connection, ConnectionSlot};
pub use discovery::DiscoveryError;
pub use error::{ClientError, ClientErrorCause};
pub use kube::core::params::{DeleteParams, ListParams, Preconditions, PropagationPolicy, WatchParams};
pub use list::ObjectList;
pub use patch::PatchBody;
pub use retry::retry_on_conflict;
pub use scheme::{Decoded, Scheme, SchemeError};
pub use typed::{ResponseFuture, TypedClient};
pub use verbs::{
    All, Allows, Apply, ApplyStatus, Create, Delete, DeleteCollection, Get, GetScale, List, Patch,
    PatchStatus, Update, UpdateScale, UpdateStatus, Verb, VerbRule, Verbs, Watch, may,
};
pub use watch::WatchEvent;
