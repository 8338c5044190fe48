//! Buckets at a storage service: an operator for an API outside of the cluster.
//!
//! [`api`] has the kind; [`storage`] is the client of the service; [`controller`] drives the service towards the spec, and cleans up before a
//! Bucket is deleted.

pub mod api;
pub mod controller;
pub mod storage;
