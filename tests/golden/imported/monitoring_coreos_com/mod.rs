//! Kinds of the API group `monitoring.coreos.com`.

pub mod service_monitor;
