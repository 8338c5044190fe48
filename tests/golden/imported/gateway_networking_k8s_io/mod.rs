//! Kinds of the API group `gateway.networking.k8s.io`.

pub mod gateway;
