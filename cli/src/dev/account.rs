//! Who the operator is: its service account, with the generated roles and nothing else.

use std::path::PathBuf;

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{
    Api,
    api::PostParams,
    config::{AuthInfo, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext},
};

use super::cluster::{Cluster, ClusterError, write_private};
use crate::{Error, plan::IoError};

/// A session's length; clusters may give less.
const SECONDS: i64 = 7 * 24 * 3600;

/// Writes a kubeconfig with a token of the account.
pub(super) async fn kubeconfig(cluster: &Cluster, namespace: &str, name: &str) -> Result<PathBuf, Error> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(SECONDS),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await;
    let what = || format!("get a token for the service account {namespace}/{name}");
    let token = answer
        .map_err(|source| ClusterError::request(what(), source))?
        .status
        .and_then(|status| status.token)
        .ok_or_else(|| ClusterError::Missing(format!("cannot {}: there is none in the answer", what())))?;
    let config = Kubeconfig {
        api_version: Some("v1".into()),
        kind: Some("Config".into()),
        current_context: Some(name.into()),
        clusters: vec![NamedCluster {
            name: name.into(),
            cluster: Some(cluster.address.clone()),
            ..NamedCluster::default()
        }],
        contexts: vec![NamedContext {
            name: name.into(),
            context: Some(Context {
                cluster: name.into(),
                user: Some(name.into()),
                namespace: Some(namespace.into()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: name.into(),
            auth_info: Some(AuthInfo {
                token: Some(token.into()),
                ..AuthInfo::default()
            }),
            ..NamedAuthInfo::default()
        }],
        ..Kubeconfig::default()
    };
    let path = cluster.folder.join("operator.kubeconfig");
    // JSON is YAML.
    let text =
        serde_json::to_string_pretty(&config).map_err(|error| IoError::new("write", &path, error.into()))?;
    write_private(&path, &text)?;
    Ok(path)
}
