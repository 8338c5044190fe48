//! The types of Kubernetes' built-in kinds: fields, list types (set, map, atomic), merge strategies, defaults and descriptions.
//!
//! [`builtin`] finds the type of a kind, [`definition`] a type by its name. Both come from `builtin.txt`, which `cargo xtask api-types` generates
//! from the published OpenAPI and the Go source; [`description`] has the texts. [`custom_resource_schema`] makes of a type what the schema of
//! a custom resource may contain. [`one_variant`] makes the schema of one variant of an enum in a custom resource, and [`restrict`] adds a
//! restriction to those of a schema.
//!
//! Read in this order: `types` and `schema_or`; `parse` (the format of `builtin.txt`) and `table`; `structural`, `variants` and `restrictions`.
//!
//! A package of its own, because the runtime uses this table and nothing else of the API server.

mod descriptions;
mod parse;
mod restrictions;
mod schema_or;
mod structural;
mod table;
mod types;
mod variants;

pub use descriptions::description;
pub use restrictions::{allow_null, allowed_values, is_restriction, restrict, strings};
pub use structural::{custom_resource_schema, has_custom_resource_schema, list_map_keys};
pub use table::{builtin, builtin_kinds, definition, kinds_of_type, object_types};
pub use types::{
    EmptyEncoding, Field, FieldDocument, List, ListKind, Map, Named, PatchStrategy, Scalar, SchemaOr, Type,
};
pub use variants::{has_variants, one_variant};
