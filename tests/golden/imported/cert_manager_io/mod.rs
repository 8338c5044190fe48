//! Kinds of the API group `cert-manager.io`.

pub mod certificate;
