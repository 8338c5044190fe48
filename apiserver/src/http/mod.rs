//! HTTP: maps requests to registry operations, and results to responses.
//!
//! Reading order: `serve` (the sequence of steps), `request_info`, `negotiate`, `timeout` and `body` (parsing the request), `resources`
//! (choosing the operation), `subresources` (reviews, tokens, bindings and evictions), `connect` (subresources that connect to nodes and
//! pods), `respond` (writing the response), `layer` (interception of requests in tests).

mod body;
mod component_statuses;
mod connect;
mod layer;
mod negotiate;
mod query;
mod request_info;
mod resources;
pub(crate) mod respond;
mod serve;
mod subresources;
mod tables;
mod timeout;
mod token_request;

pub use layer::{ConnectionAborted, Layer, LayerRequest, ResponseFuture};
pub use negotiate::{Encoding, IncludeObject, Representation, ResponseFormat};
pub use query::Query;
pub(crate) use query::decode_path;
pub use request_info::RequestInfo;
pub use respond::{ApiResponse, Body};
pub(crate) use respond::{append_object, partial_object_metadata};
pub(crate) use serve::{ClientCert, serve};
pub(crate) use tables::{metadata_only, table};
