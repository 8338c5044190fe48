//! The API server of a session, and who we are there: the administrator of an embedded one, or the user of a kubeconfig's context.

use std::path::{Path, PathBuf};

use kube::{
    Client, Config,
    config::{Cluster as Address, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use kubewright_apiserver::ApiServer;

use crate::{Error, plan::IoError};

/// The folder of a session's own files, under the project: git ignores it, and `cargo clean` sweeps it out.
const FOLDER: &str = "target/kubewright";

/// What a cluster did not do for us.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kubeconfig does not lead there.
    #[error(
        "cannot use the context {context:?} of your kubeconfig: {source}; `kubectl config get-contexts` lists what there is"
    )]
    Context {
        /// The context.
        context: String,
        /// Why not.
        source: Box<KubeconfigError>,
    },
    /// No client can be made of what it says.
    #[error("cannot connect: {}", said(.0))]
    Client(Box<kube::Error>),
    /// A request failed.
    #[error("cannot {what}: {}", said(source))]
    Request {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: Box<kube::Error>,
    },
    /// Something did not come.
    #[error("{0}")]
    Missing(String),
}

impl ClusterError {
    /// A request that failed.
    pub(super) fn request(what: impl Into<String>, source: kube::Error) -> Self {
        Self::Request {
            what: what.into(),
            source: Box::new(source),
        }
    }
}

/// An API server, and what is needed to reach it.
pub(super) struct Cluster {
    /// Acts as the administrator.
    pub(super) client: Client,
    /// How the server is reached.
    pub(super) address: Address,
    /// A kubeconfig for people; None where they have one.
    pub(super) kubeconfig: Option<PathBuf>,
    /// The folder of this session's files.
    pub(super) folder: PathBuf,
    server: Option<ApiServer>,
}

impl Cluster {
    /// An API server of this session's own.
    pub(super) async fn embedded(root: &Path) -> Result<Self, Error> {
        let folder = folder(root)?;
        let failed = |error: &dyn std::fmt::Display| Error::ApiServer(error.to_string());
        let server = ApiServer::start().await.map_err(|error| failed(&error))?;
        let path = folder.join("kubeconfig");
        write_private(&path, &server.kubeconfig())?;
        let config = Kubeconfig::read_from(&path).map_err(|error| failed(&error))?;
        let (client, address) = connect(config, None).await?;
        Ok(Self {
            client,
            address,
            kubeconfig: Some(path),
            folder,
            server: Some(server),
        })
    }

    /// The one of a context of the user's kubeconfig.
    pub(super) async fn of_context(root: &Path, context: &str) -> Result<Self, Error> {
        let failed = |source| ClusterError::Context {
            context: context.to_owned(),
            source: Box::new(source),
        };
        let config = Kubeconfig::read().map_err(failed)?;
        let (client, address) = connect(config, Some(context)).await?;
        let version = client.apiserver_version().await;
        version.map_err(|error| {
            ClusterError::request(format!("reach the cluster of context {context:?}"), error)
        })?;
        Ok(Self {
            client,
            address,
            kubeconfig: None,
            folder: folder(root)?,
            server: None,
        })
    }

    /// Whether it is this session's own.
    pub(super) fn is_embedded(&self) -> bool {
        self.server.is_some()
    }

    /// Ends what is this session's own.
    pub(super) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

async fn connect(config: Kubeconfig, context: Option<&str>) -> Result<(Client, Address), ClusterError> {
    let wanted = context
        .or(config.current_context.as_deref())
        .unwrap_or_default()
        .to_owned();
    let failed = |source| ClusterError::Context {
        context: wanted.clone(),
        source: Box::new(source),
    };
    let cluster = config
        .contexts
        .iter()
        .find(|named| named.name == wanted)
        .and_then(|named| named.context.as_ref())
        .map(|context| context.cluster.clone())
        .ok_or_else(|| failed(KubeconfigError::LoadContext(wanted.clone())))?;
    let address = config
        .clusters
        .iter()
        .find(|named| named.name == cluster)
        .and_then(|named| named.cluster.clone())
        .ok_or_else(|| failed(KubeconfigError::LoadClusterOfContext(cluster)))?;
    let options = KubeConfigOptions {
        context: Some(wanted.clone()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(config, &options)
        .await
        .map_err(failed)?;
    let client = Client::try_from(config).map_err(|error| ClusterError::Client(Box::new(error)))?;
    Ok((client, address))
}

fn folder(root: &Path) -> Result<PathBuf, IoError> {
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder).map_err(|source| IoError::new("create", &folder, source))?;
    Ok(folder)
}

/// Writes a file that only its owner may read, at once as a whole.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), IoError> {
    use std::io::Write as _;
    let failed = |source| IoError::new("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// What the API server said, without the rest of its answer.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({} {})", status.message, status.code, status.reason),
        other => other.to_string(),
    }
}
