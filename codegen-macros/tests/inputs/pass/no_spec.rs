//! The fields at the object's root.
#![deny(warnings, missing_docs, unused, unreachable_pub)]

use kubewright::CustomKind;
use kubewright::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A token.
#[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "demo.dev", version = "v1", kind = "Token", namespaced, no_spec)]
#[informer(index(by_user = "userName", by_label: String = "metadata.labels['user']", by_extra: bool = "more.extra"))]
#[serde(rename_all = "camelCase")]
pub struct TokenSpec {
    /// The owner of the token.
    pub user_name: String,
    /// More.
    pub more: More,
}

/// More.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
pub struct More {
    /// Extra.
    pub extra: bool,
}

fn main() {
    assert_eq!(Token::indexes()[0].path, "userName");
}
