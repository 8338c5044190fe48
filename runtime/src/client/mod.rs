//! Typed clients: what an operator writes, with the verbs in the type.
//!
//! Read [`verbs`] first, then [`TypedClient`]; [`Connection`] is what carries the requests.

mod connection;
mod typed;
mod verbs;

pub use connection::{Connection, ConnectionSlot};
pub use typed::{ClientError, TypedClient};
pub use verbs::{
    All, Allows, Apply, ApplyStatus, Create, Delete, Get, GetScale, List, Patch, PatchStatus, Update,
    UpdateScale, UpdateStatus, Verb, VerbRule, Verbs,
};
