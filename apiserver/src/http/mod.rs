//! HTTP: maps requests to registry operations, and results to responses.
//!
//! Reading order: `serve` (the sequence of steps) with `state`, `resources` (choosing the operation) with `stored_name` and
//! `deprecations`, `deletions`, `subresources` (reviews, bindings and evictions) with `token_request`, `component_statuses`, `connect`
//! (subresources that connect to nodes and pods) with `log_options`, `web_socket`
//! (watches, and commands in pods), `layer` (interception of requests in tests), `run_to_end` (work that outlives its connection). Requests are
//! parsed by `request`, responses are written by `render`.

mod blocking;
mod component_statuses;
mod connect;
mod deletions;
mod deprecations;
mod flow_control;
mod formats;
mod layer;
mod log_options;
mod resources;
mod run_to_end;
mod serve;
mod state;
mod stored_name;
mod subresources;
mod token_request;
mod web_socket;

pub use crate::render::{
    ApiResponse, Body, ConnectionAborted, Encoding, IncludeObject, Representation, ResponseFormat,
};
pub use crate::request::{Query, RequestInfo};
pub(crate) use flow_control::FlowSchemas;
pub use layer::{Layer, LayerRequest, ResponseFuture};
pub(crate) use serve::{ClientCert, serve};
pub(crate) use state::ServerState;
pub(crate) use web_socket::UpgradedSession;
