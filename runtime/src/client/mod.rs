//! Typed clients, with their verbs in the type, and the connection to the API server.
//!
//! - `verbs`, then [`TypedClient`]; its methods are in `typed`, `list`, `watch`, `apply` and `subresources`.
//! - Each method builds an `ApiRequest` (`request`), which is sent through a [`Connection`] (`http_client`, `transport`, `inline_connection` for watches),
//!   with a rate limiter (`rate_limit`), a leader's `fence`, and retries (`retry`); `service_account_token` authenticates those of components. [`ClientError`] is its failure.
//! - `apply_cache` skips applies that would change nothing, by what `cached_objects` shows of the informers' caches.
//! - `owner_versions` sets the API version of owner references to kinds with several versions.
//! - `write_observer` notes the writes of a reconcile for the controller.

mod apply;
mod apply_cache;
mod apply_intent;
mod builtin;
mod cached_objects;
mod connection;
mod discovery;
mod error;
mod error_response;
mod fence;
mod field_manager;
mod http_client;
mod inline_connection;
mod list;
mod owner_versions;
mod patch;
mod rate_limit;
mod removed_version;
mod request;
mod request_metrics;
mod retry;
pub mod scheme;
mod service_account_token;
pub(crate) mod storage_version_hash;
mod subresources;
mod transport;
mod typed;
mod user_agent;
mod verbs;
mod watch;
mod write_observer;

pub(crate) use apply_cache::ApplyCache;
pub(crate) use cached_objects::CachedObjects;
pub(crate) use error_response::decode_error_response;
pub(crate) use fence::Fence;
pub(crate) use owner_versions::OwnerVersions;
pub(crate) use request::{ApiRequest, PreparedRequest};
pub(crate) use request_metrics::RequestMetrics;
pub(crate) use service_account_token::ServiceAccountToken;
pub(crate) use user_agent::{agent_suffix, with_agent_suffix, with_controller_agent};
pub(crate) use write_observer::{
    CachedObject, WriteKind, WriteObserver, WriteRecord, with_write_observer, write_observer,
};

pub use apply::ApplyOptions;
pub use connection::{ConnectError, Connection};
pub use discovery::DiscoveryError;
pub use error::{ClientError, ClientErrorCause};
pub use kube::core::params::{DeleteParams, ListParams, Preconditions, PropagationPolicy, WatchParams};
pub use list::ObjectList;
pub use patch::PatchBody;
pub use retry::retry_on_conflict;
pub use typed::{ResponseFuture, TypedClient};
pub use verbs::{
    All, Apply, ApplyStatus, Create, Delete, DeleteCollection, Get, GetScale, List, Patch, PatchStatus,
    Update, UpdateScale, UpdateStatus, Verbs, Watch,
};
pub(crate) use verbs::{Allows, VerbRule, may};
pub use watch::WatchEvent;
