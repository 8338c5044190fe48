//! HTTP: requests become operations, and what comes of them becomes answers.
//!
//! Read serve (the order of things), request_info, negotiate and body (what is asked), resources (which operation), respond (the
//! answer), layer (what may stand before all that).

mod body;
mod layer;
mod negotiate;
mod query;
mod request_info;
mod resources;
pub(crate) mod respond;
mod serve;

pub use layer::{Asked, Broken, Layer, Next};
pub use negotiate::{Encoding, Form, Shape};
pub use query::Query;
pub use request_info::RequestInfo;
pub use respond::{Answer, Body};
pub(crate) use respond::{object_bytes, partial};
pub(crate) use serve::{Asker, serve};
