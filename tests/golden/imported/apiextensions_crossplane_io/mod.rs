//! Kinds of the API group `apiextensions.crossplane.io`.

pub mod composition;
pub mod environment_config;
