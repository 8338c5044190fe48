//! Loads the kubeconfig or the in-cluster configuration, and waits until the API server responds.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use kube::{
    Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::time::{Duration, sleep};
use tracing::{info, warn};

use super::error::with_sources;
use crate::did_you_mean::did_you_mean;

/// How to reach the API server.
pub(super) struct ClusterConfig {
    pub(super) config: Config,
    /// Whether the operator runs in a pod of that cluster.
    pub(super) in_cluster: bool,
}

/// Why the client configuration cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither a kubeconfig nor a service account was found.
    #[error(
        "no kubeconfig found, and not running in a cluster: pass --kubeconfig, set $KUBECONFIG, or put one at ~/.kube/config"
    )]
    Nothing,
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {path} cannot be read: {source}; check --kubeconfig and $KUBECONFIG")]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A kubeconfig cannot be parsed or used.
    #[error("kubeconfig {path} is invalid: {source}; correct it, or pass another one with --kubeconfig")]
    Invalid {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// The reason.
        source: KubeconfigError,
    },
    /// The kubeconfig has no such context.
    #[error("kubeconfig {path} has no context {context:?}{hint}")]
    NoContext {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// The name of the context.
        context: String,
        /// A similar context, or all of them.
        hint: String,
    },
    /// No context was given, and the kubeconfig has no current one.
    #[error("kubeconfig {path} has no current context: pass --context{hint}")]
    NoCurrentContext {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// A similar context, or all of them.
        hint: String,
    },
    /// The pod's service account cannot be used.
    #[error(
        "the pod's service account cannot be used: {0}; check automountServiceAccountToken, or pass --kubeconfig"
    )]
    InCluster(#[source] kube::config::InClusterError),
}

/// Loads the configuration from the first of client-go's places that has one: the flags, `$KUBECONFIG`, the pod's service account, `~/.kube/config`.
pub(super) async fn configure(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<ClusterConfig, ConfigError> {
    let variable = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let outside = |config| ClusterConfig {
        config,
        in_cluster: false,
    };
    if let Some(path) = kubeconfig {
        return from_file(path, context).await.map(outside);
    }
    if let Some(paths) = variable {
        let path = paths.to_string_lossy().into_owned();
        let merged = match Kubeconfig::read() {
            Ok(merged) => merged,
            Err(source) => return Err(read_error(path, source)),
        };
        return from_kubeconfig(merged, &path, context).await.map(outside);
    }
    if context.is_none() && env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        let config = Config::incluster().map_err(ConfigError::InCluster)?;
        return Ok(ClusterConfig {
            config,
            in_cluster: true,
        });
    }
    match env::home_dir().map(|home| home.join(".kube/config")) {
        Some(path) if path.exists() => from_file(&path, context).await.map(outside),
        _ => Err(ConfigError::Nothing),
    }
}

async fn from_file(path: &Path, context: Option<&str>) -> Result<Config, ConfigError> {
    // kube's error is the same for a missing and for an invalid file.
    fs::metadata(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    let name = path.display().to_string();
    match Kubeconfig::read_from(path) {
        Ok(kubeconfig) => from_kubeconfig(kubeconfig, &name, context).await,
        Err(source) => Err(read_error(name, source)),
    }
}

fn read_error(path: String, error: KubeconfigError) -> ConfigError {
    match error {
        KubeconfigError::ReadConfig(source, path) => ConfigError::Read { path, source },
        source => ConfigError::Invalid { path, source },
    }
}

async fn from_kubeconfig(
    kubeconfig: Kubeconfig,
    path: &str,
    context: Option<&str>,
) -> Result<Config, ConfigError> {
    let path = path.to_owned();
    let names: Vec<String> = kubeconfig
        .contexts
        .iter()
        .map(|context| context.name.clone())
        .collect();
    match context
        .or(kubeconfig.current_context.as_deref())
        .filter(|context| !context.is_empty())
    {
        None => {
            return Err(ConfigError::NoCurrentContext {
                path,
                hint: available_contexts(&names),
            });
        }
        Some(context) if !names.iter().any(|name| name == context) => {
            let hint = match did_you_mean(context, names.iter().map(String::as_str)) {
                Some(name) => format!(": did you mean {name:?}?"),
                None => available_contexts(&names),
            };
            return Err(ConfigError::NoContext {
                path,
                context: context.to_owned(),
                hint,
            });
        }
        Some(_) => {}
    }
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .map_err(|source| ConfigError::Invalid { path, source })
}

fn available_contexts(names: &[String]) -> String {
    if names.is_empty() {
        "; it has no contexts".to_owned()
    } else {
        format!("; available contexts: {}", names.join(", "))
    }
}

/// Waits until an API server responds at `/version`; logs why it waits, each time the reason changes.
///
/// 401 and 403 count as an API server. A response that is not JSON, such as a proxy's login page, and any 5xx do not.
pub(super) async fn wait_for_api_server(client: &kube::Client, address: Option<&str>) {
    const BACKOFF_MAX: Duration = Duration::from_secs(30);
    let (mut backoff, mut logged) = (Duration::from_secs(1), None);
    loop {
        match get_version(client).await {
            Ok(VersionResponse::Version) => {
                if logged.is_some() {
                    info!("the API server is reachable");
                }
                return;
            }
            Ok(VersionResponse::Unauthorized) => {
                warn!(
                    "the API server rejected the operator's credentials (401): renew the token or the certificate"
                );
                return;
            }
            Ok(VersionResponse::Other(response)) => {
                if logged.as_ref() != Some(&response) {
                    warn!(
                        address,
                        response,
                        "the response is not from an API server, waiting: check the address in the kubeconfig, and proxies before the API server"
                    );
                    logged = Some(response);
                }
            }
            Err(error) => {
                if logged.as_ref() != Some(&error) {
                    warn!(
                        address,
                        error,
                        "the API server cannot be reached, waiting: check that it runs, and the address in the kubeconfig"
                    );
                    logged = Some(error);
                }
            }
        }
        sleep(backoff.mul_f64(0.5 + rand::random::<f64>())).await;
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
}

/// The response to a GET of `/version`.
enum VersionResponse {
    Version,
    Unauthorized,
    /// Not from an API server: the code and the beginning of the body.
    Other(String),
}

async fn get_version(client: &kube::Client) -> Result<VersionResponse, String> {
    const MAX_BODY_BYTES: usize = 64 * 1024;
    let request = Request::get("/version")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let response = client.send(request).await.map_err(|error| with_sources(&error))?;
    let code = response.status();
    if code == StatusCode::UNAUTHORIZED {
        return Ok(VersionResponse::Unauthorized);
    }
    let body = Limited::new(response.into_body(), MAX_BODY_BYTES).collect().await;
    let body = body
        .map_err(|error| format!("the response broke off: {error}"))?
        .to_bytes();
    let is_json = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_ok();
    if is_json && !code.is_server_error() {
        return Ok(VersionResponse::Version);
    }
    let text = String::from_utf8_lossy(&body);
    let words: Vec<&str> = text.split_whitespace().collect();
    let beginning: String = words.join(" ").chars().take(80).collect();
    Ok(VersionResponse::Other(format!("{code}: {beginning:?}")))
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
