//! Who the operator is: its service account, with the generated roles and nothing else.

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

use super::cluster::{Cluster, ClusterError, write_private};
use crate::{Error, plan::IoError};

/// A session's length; clusters may give less.
const SECONDS: i64 = 7 * 24 * 3600;
/// How often a token is renewed at least: a machine that sleeps does not notice how time passes.
const OFTEN: Duration = Duration::from_hours(1);

/// The operator's service account, and the files that say it.
#[derive(Debug)]
pub(super) struct Account {
    namespace: String,
    name: String,
    token: PathBuf,
    /// For the operator's `KUBECONFIG`. It names the file of the token, which is read again each minute.
    pub(super) kubeconfig: PathBuf,
    /// When the token is to be [renewed](Self::renew).
    pub(super) renewal: Instant,
}

impl Account {
    /// Gets a token, and writes it and a kubeconfig for it.
    pub(super) async fn open(cluster: &Cluster, namespace: &str, name: &str) -> Result<Self, Error> {
        let mut account = Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            token: cluster.folder.join("operator.token"),
            kubeconfig: cluster.folder.join("operator.kubeconfig"),
            renewal: Instant::now(),
        };
        account.renew(cluster).await?;
        account.write_kubeconfig(cluster)?;
        Ok(account)
    }

    /// Replaces the token by a fresh one.
    pub(super) async fn renew(&mut self, cluster: &Cluster) -> Result<(), Error> {
        let (token, end) = self.fetch(cluster).await?;
        write_private(&self.token, &token)?;
        let left = end.map_or(OFTEN, |end| {
            let left = end.0.duration_since(Timestamp::now());
            left.try_into().unwrap_or_default()
        });
        self.renewal = Instant::now() + pause(left);
        Ok(())
    }

    async fn fetch(&self, cluster: &Cluster) -> Result<(String, Option<Time>), ClusterError> {
        let (namespace, name) = (&self.namespace, &self.name);
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
        answer
            .map_err(|source| ClusterError::request(what(), source))?
            .status
            .and_then(|status| Some((status.token?, status.expiration_timestamp)))
            .ok_or_else(|| ClusterError::Missing(format!("cannot {}: there is none in the answer", what())))
    }

    fn write_kubeconfig(&self, cluster: &Cluster) -> Result<(), IoError> {
        let name = &self.name;
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

/// How long a token is used that has so much time left: a fifth of it is for attempts to renew it.
fn pause(left: Duration) -> Duration {
    (left * 4 / 5).min(OFTEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token is written anew, and the kubeconfig leads to it.
    #[tokio::test]
    async fn a_renewed_token_is_read_by_who_has_the_kubeconfig() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::embedded(folder.path()).await.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client.clone(), "default");
        let object = serde_json::from_value(serde_json::json!({ "metadata": { "name": "shop" } })).unwrap();
        accounts.create(&PostParams::default(), &object).await.unwrap();

        let mut account = Account::open(&cluster, "default", "shop").await.unwrap();
        let read =
            || std::fs::read_to_string(folder.path().join("target/kubewright/operator.token")).unwrap();
        let first = read();
        let left = account.renewal - Instant::now();
        assert!(left > OFTEN / 2 && left <= OFTEN, "{left:?}");
        // A token says its times in seconds: within one, two tokens are the same.
        tokio::time::sleep(Duration::from_millis(1100)).await;
        account.renew(&cluster).await.unwrap();
        assert_ne!(read(), first);

        let config = Kubeconfig::read_from(&account.kubeconfig).unwrap();
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options);
        let client = kube::Client::try_from(config.await.unwrap()).unwrap();
        // Known, and without rights.
        let error = Api::<ServiceAccount>::namespaced(client, "default")
            .get("shop")
            .await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("system:serviceaccount:default:shop"), "{text}");
    }

    #[test]
    fn a_fifth_of_a_tokens_time_is_left_for_renewing_it() {
        let minutes = |minutes| Duration::from_mins(minutes);
        assert_eq!(pause(minutes(10)), minutes(8));
        assert_eq!(pause(minutes(60 * 24)), OFTEN);
        assert_eq!(pause(Duration::ZERO), Duration::ZERO);
    }
}
