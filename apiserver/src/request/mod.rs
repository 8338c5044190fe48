//! What a request asks for, parsed from its parts.
//!
//! Reading order: [`Query`], [`RequestInfo`] (method and path), `accept`, `options` (of lists, writes and deletions) with `continue_token`,
//! `connect_options` (of `exec`, `proxy` and others), `timeout`, `body`.

mod accept;
pub(crate) mod body;
mod connect_options;
mod continue_token;
mod options;
mod query;
mod request_info;
pub(crate) mod timeout;

pub(crate) use accept::AcceptedType;
pub(crate) use connect_options::connect_options;
pub(crate) use continue_token::ContinueToken;
pub use options::{DeleteOptions, FieldValidation, ListOptions, ResourceVersionMatch, WriteOptions};
pub(crate) use options::{parse_int, parse_revision, parse_uint, unparsable_version_error};
pub use query::Query;
pub(crate) use query::{decode_path, has_valid_escapes};
pub use request_info::RequestInfo;
