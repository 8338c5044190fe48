//! Keeps as many pods as a ReplicaSet or a ReplicationController asks for. Both have one controller, generic over the owner's kind.
//!
//! Read `owner` (what the two kinds have in common), `plan` (how many pods to create or delete, and which), `status`, then `controller` and
//! its part `scale`.

mod controller;
mod metrics;
mod owner;
mod plan;
mod replica_pod;
mod scale;
mod status;
#[cfg(test)]
mod test_support;

pub(crate) use controller::{register_replica_sets, register_replication_controllers};
