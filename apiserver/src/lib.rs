//! A Kubernetes API server in memory, for development and tests. It is not a production server: nothing is replicated, nothing outlives
//! the process.

pub mod apply;
pub mod builtin;
pub mod field;
pub mod patch;
pub mod schema;
pub mod types;
