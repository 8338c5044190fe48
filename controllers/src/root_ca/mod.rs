//! Publishes the root CA: a ConfigMap `kube-root-ca.crt` in each namespace, with which pods verify the API server.

mod controller;
mod metrics;
mod plan;

pub(crate) use controller::register;
