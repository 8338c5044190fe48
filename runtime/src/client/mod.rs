//! Typed clients: what an operator writes, with the verbs in the type.
//!
//! Read verbs first, then [`TypedClient`]: its methods are in typed, list, watch, apply and subresources. Each makes a `Call`, and [`Connection`]
//! carries it. [`ClientError`] says what became of it.

mod agent;
mod apply;
mod builtin;
mod call;
mod connection;
mod discovery;
mod driven;
mod error;
mod fence;
mod list;
mod patch;
mod rate_limit;
mod repeat;
mod requests;
mod retry;
pub(crate) mod retry_after;
mod scheme;
mod subresources;
mod transport;
mod typed;
mod verbs;
mod watch;
mod written;

pub(crate) use agent::{on_behalf_of, part, with_part};
pub(crate) use call::{Call, Prepared};
pub(crate) use fence::Fence;
pub(crate) use requests::Requests;
pub(crate) use written::{Effect, Witness, Write, witness, witnessed};

pub use apply::ApplyOptions;
pub use connection::{ConnectError, Connection, ConnectionSlot};
pub use discovery::DiscoveryError;
pub use error::{ClientError, ClientErrorCause};
pub use kube::core::params::{DeleteParams, ListParams, Preconditions, PropagationPolicy, WatchParams};
pub use list::Listed;
pub use patch::PatchBody;
pub use retry::retry_on_conflict;
pub use scheme::{Decoded, Scheme, SchemeError};
pub use typed::{Answer, TypedClient};
pub use verbs::{
    All, Allows, Apply, ApplyStatus, Create, Delete, DeleteCollection, Get, GetScale, List, Patch,
    PatchStatus, Update, UpdateScale, UpdateStatus, Verb, VerbRule, Verbs, Watch, may,
};
pub use watch::WatchEvent;
