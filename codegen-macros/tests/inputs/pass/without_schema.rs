//! A kind of another project, without a schema.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use serde::{Deserialize, Serialize};

/// A certificate.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "cert-manager.io", version = "v1", kind = "Certificate", namespaced, schema = "disabled")]
#[informer(external)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// The Secret of the certificate.
    pub secret_name: String,
}

fn main() {
    let version = &Certificate::definition().spec.versions[0];
    assert!(version.schema.as_ref().unwrap().open_api_v3_schema.is_none());
}
