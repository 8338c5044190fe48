//! What a Kubernetes API server knows of objects without storing or serving them: the types of the built-in kinds, patches, server-side
//! apply, schemas of custom resources, validation, selectors, errors and encodings. Objects are [`serde_json::Value`]s.
//!
//! Reading order: [`quote`], `go_format`, `go_float` and `go_url` (text as Go writes and reads it), [`duration`], [`field`] and [`status`] (errors of the API), [`meta`] and
//! [`selectors`], [`types`] (the fields of the built-in kinds), [`go_json`], [`yaml`] and [`protobuf`] (encodings), [`patch`] and [`apply`] (changes), [`cel`] and [`schema`]
//! (custom resources), [`builtin`] (defaults and validation of the built-in kinds).

pub mod apply;
pub mod builtin;
pub mod cel;
pub mod duration;
pub mod field;
mod go_float;
pub mod go_format;
pub mod go_json;
mod go_regexp;
pub mod go_url;
pub mod meta;
pub mod patch;
pub mod protobuf;
pub mod quote;
pub mod schema;
pub mod selectors;
pub mod status;
pub mod types;
pub mod yaml;
