//! Finding the API server.

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

use super::{error::with_sources, suggest::did_you_mean};

/// How to reach the API server, and whether from within its cluster.
pub(super) struct Cluster {
    pub(super) config: Config,
    pub(super) in_cluster: bool,
}

/// Why the operator does not know how to connect.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no configuration at all.
    #[error(
        "no kubeconfig, and not in a cluster: pass --kubeconfig, set $KUBECONFIG, or put one at ~/.kube/config"
    )]
    Nothing,
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {path} cannot be read: {source}; check --kubeconfig and $KUBECONFIG")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A kubeconfig makes no sense.
    #[error("kubeconfig {path} is damaged: {source}")]
    Damaged {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// What is wrong.
        source: KubeconfigError,
    },
    /// The context is not there.
    #[error("kubeconfig {path} has no context {context:?}{hint}")]
    NoContext {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// What was asked for.
        context: String,
        /// What there is.
        hint: String,
    },
    /// No context was asked for and none is current.
    #[error("kubeconfig {path} has no current context: pass --context{hint}")]
    NoCurrentContext {
        /// The file, or the files of $KUBECONFIG.
        path: String,
        /// What there is.
        hint: String,
    },
    /// The pod's service account is incomplete.
    #[error(
        "in a cluster, but its service account cannot be used: {0}; check automountServiceAccountToken, or pass --kubeconfig"
    )]
    InCluster(#[source] kube::config::InClusterError),
}

/// Looks where client-go looks, in the same order: the flags, `$KUBECONFIG`, the pod's service account, `~/.kube/config`.
pub(super) async fn configure(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
) -> Result<Cluster, ConfigError> {
    let variable = env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty());
    let outside = |config| Cluster {
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
            Err(source) => return Err(unusable(path, source)),
        };
        return from_kubeconfig(merged, &path, context).await.map(outside);
    }
    if context.is_none() && env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        let config = Config::incluster().map_err(ConfigError::InCluster)?;
        return Ok(Cluster {
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
    // Read first: kube's error for a missing file does not tell it from a damaged one.
    fs::metadata(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    let name = path.display().to_string();
    match Kubeconfig::read_from(path) {
        Ok(kubeconfig) => from_kubeconfig(kubeconfig, &name, context).await,
        Err(source) => Err(unusable(name, source)),
    }
}

fn unusable(path: String, error: KubeconfigError) -> ConfigError {
    match error {
        KubeconfigError::ReadConfig(source, path) => ConfigError::Read { path, source },
        source => ConfigError::Damaged { path, source },
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
                hint: there_are(&names),
            });
        }
        Some(context) if !names.iter().any(|name| name == context) => {
            let hint = match did_you_mean(context, names.iter().map(String::as_str)) {
                Some(name) => format!(": did you mean {name:?}?"),
                None => there_are(&names),
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
        .map_err(|source| ConfigError::Damaged { path, source })
}

fn there_are(names: &[String]) -> String {
    if names.is_empty() {
        "; it has no contexts at all".to_owned()
    } else {
        format!("; there are {}", names.join(", "))
    }
}

/// Waits until an API server answers, and says what it waits for, with the address where it is known. One that refuses to tell its
/// version is one, too; a page of a proxy, or of something else at the address, is none.
pub(super) async fn wait_for_api_server(client: &kube::Client, address: Option<&str>) {
    const LONGEST: Duration = Duration::from_secs(30);
    let (mut pause, mut said) = (Duration::from_secs(1), None);
    loop {
        match ask_version(client).await {
            Ok(Answer::Version) => {
                if said.is_some() {
                    info!("the API server answers");
                }
                return;
            }
            Ok(Answer::Unauthorized) => {
                warn!(
                    "the API server does not accept the operator's credentials (401): renew the token or the certificate"
                );
                return;
            }
            Ok(Answer::Other(what)) => {
                if said.as_ref() != Some(&what) {
                    warn!(
                        address,
                        answer = what,
                        "what answers is no API server, or a proxy before one that is not there; waiting. Check the address in the kubeconfig"
                    );
                    said = Some(what);
                }
            }
            Err(error) => {
                if said.as_ref() != Some(&error) {
                    warn!(
                        address,
                        error,
                        "the API server cannot be reached; waiting for it. Check that it runs and that the kubeconfig names the right address"
                    );
                    said = Some(error);
                }
            }
        }
        sleep(pause.mul_f64(0.5 + rand::random::<f64>())).await;
        pause = (pause * 2).min(LONGEST);
    }
}

/// What came back when the API server was asked for its version.
enum Answer {
    Version,
    Unauthorized,
    /// Code and beginning of something else.
    Other(String),
}

async fn ask_version(client: &kube::Client) -> Result<Answer, String> {
    /// More than any version takes, and than anybody wants to read of a page.
    const MOST: usize = 64 * 1024;
    let request = Request::get("/version")
        .body(Body::empty())
        .map_err(|error| error.to_string())?;
    let response = client.send(request).await.map_err(|error| with_sources(&error))?;
    let code = response.status();
    if code == StatusCode::UNAUTHORIZED {
        return Ok(Answer::Unauthorized);
    }
    let body = Limited::new(response.into_body(), MOST).collect().await;
    let body = body
        .map_err(|error| format!("the answer broke off: {error}"))?
        .to_bytes();
    let is_json = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_ok();
    if is_json && !code.is_server_error() {
        return Ok(Answer::Version);
    }
    let text = String::from_utf8_lossy(&body);
    let words: Vec<&str> = text.split_whitespace().collect();
    let beginning: String = words.join(" ").chars().take(80).collect();
    Ok(Answer::Other(format!("{code}: {beginning:?}")))
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
