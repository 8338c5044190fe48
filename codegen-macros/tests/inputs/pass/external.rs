//! A kind that another project defines.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A certificate.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "cert-manager.io", version = "v1", kind = "Certificate", namespaced)]
#[informer(external, sensitive)]
#[informer(index(by_secret = "spec.secretName"))]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// The Secret of the certificate.
    pub secret_name: String,
}

fn main() {
    assert!(Certificate::EXTERNAL);
    assert_eq!(Certificate::indexes().len(), 1);
}
