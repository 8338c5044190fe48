//! The operator's identity: its service account, bound to the generated roles only.

use std::{path::PathBuf, time::Duration};

use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::ServiceAccount,
    },
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube::{
    Api,
    api::PostParams,
    config::{AuthInfo, Context, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext},
};
use tokio::time::Instant;

use super::cluster::{Cluster, write_private};
use crate::{Error, error::ClusterError, plan::IoError};

/// Requested lifetime of a token; clusters may grant less.
const TOKEN_LIFETIME_SECONDS: i64 = 7 * 24 * 3600;
/// Longest interval between renewals: timers do not run while a machine is suspended.
const RENEWAL_INTERVAL_MAX: Duration = Duration::from_hours(1);

/// The operator's service account, with its token and kubeconfig files.
#[derive(Debug)]
pub(super) struct OperatorAccount {
    namespace: String,
    name: String,
    token: PathBuf,
    /// Path for the operator's `KUBECONFIG`. The file references the token file, which clients re-read every minute.
    pub(super) kubeconfig: PathBuf,
    /// When to [renew](Self::renew) the token.
    pub(super) renew_at: Instant,
}

impl OperatorAccount {
    /// Requests a token for the service account and writes the token and a kubeconfig.
    pub(super) async fn obtain(cluster: &Cluster, namespace: &str, name: &str) -> Result<Self, Error> {
        let mut account = Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            token: cluster.folder.path.join("operator.token"),
            kubeconfig: cluster.folder.path.join("operator.kubeconfig"),
            renew_at: Instant::now(),
        };
        account.renew(cluster).await?;
        account.write_kubeconfig(cluster)?;
        Ok(account)
    }

    /// Requests a new token and overwrites the token file.
    pub(super) async fn renew(&mut self, cluster: &Cluster) -> Result<(), Error> {
        let (token, expiration) = self.request_token(cluster).await?;
        write_private(&self.token, &token)?;
        let remaining = expiration.map_or(RENEWAL_INTERVAL_MAX, |expiration| {
            let remaining = expiration.0.duration_since(Timestamp::now());
            remaining.try_into().unwrap_or_default()
        });
        self.renew_at = Instant::now() + renewal_delay(remaining);
        Ok(())
    }

    async fn request_token(&self, cluster: &Cluster) -> Result<(String, Option<Time>), ClusterError> {
        let (namespace, name) = (&self.namespace, &self.name);
        let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(TOKEN_LIFETIME_SECONDS),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let response = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await;
        let action = || format!("get a token for the service account {namespace}/{name}");
        response
            .map_err(|source| ClusterError::request(action(), source))?
            .status
            .and_then(|status| Some((status.token?, status.expiration_timestamp)))
            .ok_or_else(|| {
                ClusterError::UnexpectedState(format!("cannot {}: the response has no token", action()))
            })
    }

    fn write_kubeconfig(&self, cluster: &Cluster) -> Result<(), IoError> {
        let name = &self.name;
        let config = Kubeconfig {
            api_version: Some("v1".into()),
            kind: Some("Config".into()),
            current_context: Some(name.into()),
            clusters: vec![NamedCluster {
                name: name.into(),
                cluster: Some(cluster.endpoint.clone()),
                ..NamedCluster::default()
            }],
            contexts: vec![NamedContext {
                name: name.into(),
                context: Some(Context {
                    cluster: name.into(),
                    user: Some(name.into()),
                    namespace: Some(self.namespace.clone()),
                    ..Context::default()
                }),
                ..NamedContext::default()
            }],
            auth_infos: vec![NamedAuthInfo {
                name: name.into(),
                auth_info: Some(AuthInfo {
                    token_file: Some(self.token.to_string_lossy().into_owned()),
                    ..AuthInfo::default()
                }),
                ..NamedAuthInfo::default()
            }],
            ..Kubeconfig::default()
        };
        let path = &self.kubeconfig;
        // JSON is YAML.
        let text = serde_json::to_string_pretty(&config)
            .map_err(|error| IoError::new("write", path, error.into()))?;
        write_private(path, &text)
    }
}

/// Returns how long to wait before renewing a token: a fifth of its remaining lifetime is left for retries.
fn renewal_delay(remaining: Duration) -> Duration {
    (remaining * 4 / 5).min(RENEWAL_INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn kubeconfig_uses_the_renewed_token() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::embedded(folder.path(), false).await.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), "default");
        let object = serde_json::from_value(serde_json::json!({ "metadata": { "name": "shop" } })).unwrap();
        accounts.create(&PostParams::default(), &object).await.unwrap();

        let mut account = OperatorAccount::obtain(&cluster, "default", "shop")
            .await
            .unwrap();
        let read =
            || std::fs::read_to_string(folder.path().join("target/kubewright/operator.token")).unwrap();
        let first = read();
        let delay = account.renew_at - Instant::now();
        assert!(
            delay > RENEWAL_INTERVAL_MAX / 2 && delay <= RENEWAL_INTERVAL_MAX,
            "{delay:?}"
        );
        // Tokens have timestamps in seconds: two tokens of the same second are equal.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        account.renew(&cluster).await.unwrap();
        assert_ne!(read(), first);

        let config = Kubeconfig::read_from(&account.kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options);
        let client = kube::Client::try_from(config.await.unwrap()).unwrap();
        // Authenticated, but without permissions.
        let error = Api::<ServiceAccount>::namespaced(client, "default")
            .get("shop")
            .await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("system:serviceaccount:default:shop"), "{text}");
    }

    #[test]
    fn renewal_leaves_a_fifth_of_the_lifetime_for_retries() {
        let minutes = |minutes| Duration::from_mins(minutes);
        assert_eq!(renewal_delay(minutes(10)), minutes(8));
        assert_eq!(renewal_delay(minutes(60 * 24)), RENEWAL_INTERVAL_MAX);
        assert_eq!(renewal_delay(Duration::ZERO), Duration::ZERO);
    }
}
