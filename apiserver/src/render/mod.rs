//! Responses: objects, lists, Tables and errors in the format that a client accepts.
//!
//! Reading order: `negotiate` (the format), `representation` (Table and PartialObjectMetadata) with `tables` (columns and cells), `respond`.

mod negotiate;
mod representation;
pub(crate) mod respond;
mod tables;
mod warnings;

pub use negotiate::{Encoding, IncludeObject, Representation, ResponseFormat};
pub(crate) use negotiate::{JSON, MEDIA_TYPES, PROTOBUF, YAML, accept_header, check_route, is_browser};
pub(crate) use representation::{metadata_only, table};
pub(crate) use respond::append_object;
pub use respond::{ApiResponse, Body, ConnectionAborted};
