//! HTTP: requests become operations, and what comes of them becomes answers.
//!
//! Read serve (the order of things), request_info, negotiate, deadline and body (what is asked), resources (which operation), respond (the
//! answer), layer (what may stand before all that).

mod body;
mod deadline;
mod layer;
mod negotiate;
mod query;
mod request_info;
mod resources;
pub(crate) mod respond;
mod serve;
mod tables;
mod token_request;

pub use layer::{Asked, Broken, Layer, Next};
pub use negotiate::{Encoding, Form, Rows, Shape};
pub use query::Query;
pub(crate) use query::decode_path;
pub use request_info::RequestInfo;
pub use respond::{Answer, Body};
pub(crate) use respond::{append_object, partial};
pub(crate) use serve::{Asker, serve};
pub(crate) use tables::{metadata_only, table};
