//! HTTP: requests become operations, and what comes of them becomes answers.
//!
//! Read serve (the order of things), request_info, negotiate and body (what is asked), resources (which operation), respond (the
//! answer).

mod body;
mod negotiate;
mod query;
mod request_info;
mod resources;
pub(crate) mod respond;
mod serve;

pub use negotiate::{Encoding, Form, Shape};
pub use query::Query;
pub use request_info::RequestInfo;
pub(crate) use respond::{Answer, Body, object_bytes, partial};
pub(crate) use serve::serve;
