//! The API server of a session and our credentials: the administrator of an embedded one, or the user of a kubeconfig context.

use std::path::{Path, PathBuf};

use kube::{
    Client, Config,
    config::{Cluster as ClusterEndpoint, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use kubewright_apiserver::{AdmissionPlugin, ApiServer, HousekeepingTask};

use super::session_folder::SessionFolder;
use crate::{Error, error::ClusterError, plan::IoError};

/// An API server with the credentials to use it.
pub(super) struct Cluster {
    /// A client with the credentials of the administrator, or of the kubeconfig's user.
    pub(super) client: Client,
    /// The configuration of the client.
    pub(super) config: Config,
    /// Address and CA of the server, as in a kubeconfig.
    pub(super) endpoint: ClusterEndpoint,
    /// A kubeconfig for the user; None with `--cluster`, where the user has one.
    pub(super) kubeconfig: Option<PathBuf>,
    /// Directory of the session's files.
    pub(super) folder: SessionFolder,
    server: Option<ApiServer>,
}

impl Cluster {
    /// Starts an embedded API server. Owner references need the permissions that some clusters ask for, so that none is missing from the roles.
    /// If nodes and controllers are simulated, a controller makes the default account of each namespace, and pods get it as in a cluster;
    /// without one, the API server would refuse all pods.
    pub(super) async fn embedded(root: &Path, is_simulated: bool) -> Result<Self, Error> {
        let folder = SessionFolder::take(root)?;
        let failed = |error: &dyn std::fmt::Display| Error::ApiServer(error.to_string());
        let mut builder = ApiServer::builder()
            .enable_admission_plugin(AdmissionPlugin::OwnerReferencesPermissionEnforcement);
        if is_simulated {
            builder = builder
                .enable_admission_plugin(AdmissionPlugin::ServiceAccount)
                .housekeeping(&HousekeepingTask::BESIDE_CONTROLLER_MANAGER);
        }
        let server = builder.start().await.map_err(|error| failed(&error))?;
        let path = folder.path.join("kubeconfig");
        write_private(&path, &server.kubeconfig())?;
        let config = Kubeconfig::read_from(&path).map_err(|error| failed(&error))?;
        let (client, config, endpoint) = connect(config, None).await?;
        Ok(Self {
            client,
            config,
            endpoint,
            kubeconfig: Some(path),
            folder,
            server: Some(server),
        })
    }

    /// Connects to the cluster of a context of the user's kubeconfig.
    pub(super) async fn from_context(root: &Path, context: &str) -> Result<Self, Error> {
        let (client, config, endpoint) = connect_to_context(context).await?;
        Ok(Self {
            client,
            config,
            endpoint,
            kubeconfig: None,
            folder: SessionFolder::take(root)?,
            server: None,
        })
    }

    /// Whether this is the session's embedded API server.
    pub(super) fn is_embedded(&self) -> bool {
        self.server.is_some()
    }

    /// Stops the API server if it is embedded.
    pub(super) async fn stop(self) {
        if let Some(server) = self.server {
            server.stop().await;
        }
    }
}

/// Returns the configuration of a context of the user's kubeconfig. Fails if its cluster does not respond.
pub(crate) async fn config_of_context(context: &str) -> Result<Config, ClusterError> {
    let (_, config, _) = connect_to_context(context).await?;
    Ok(config)
}

/// Returns a client of a context of the user's kubeconfig. Fails if its cluster does not respond.
pub(crate) async fn client_of_context(context: &str) -> Result<Client, ClusterError> {
    let (client, _, _) = connect_to_context(context).await?;
    Ok(client)
}

async fn connect_to_context(context: &str) -> Result<(Client, Config, ClusterEndpoint), ClusterError> {
    let failed = |source| ClusterError::Context {
        context: context.to_owned(),
        source: Box::new(source),
    };
    let kubeconfig = Kubeconfig::read().map_err(failed)?;
    let (client, config, endpoint) = connect(kubeconfig, Some(context)).await?;
    let version = client.apiserver_version().await;
    version
        .map_err(|error| ClusterError::request(format!("reach the cluster of context {context:?}"), error))?;
    Ok((client, config, endpoint))
}

async fn connect(
    config: Kubeconfig,
    context: Option<&str>,
) -> Result<(Client, Config, ClusterEndpoint), ClusterError> {
    let context_name = context
        .or(config.current_context.as_deref())
        .unwrap_or_default()
        .to_owned();
    let failed = |source| ClusterError::Context {
        context: context_name.clone(),
        source: Box::new(source),
    };
    let cluster = config
        .contexts
        .iter()
        .find(|named| named.name == context_name)
        .and_then(|named| named.context.as_ref())
        .map(|context| context.cluster.clone())
        .ok_or_else(|| failed(KubeconfigError::LoadContext(context_name.clone())))?;
    let endpoint = config
        .clusters
        .iter()
        .find(|named| named.name == cluster)
        .and_then(|named| named.cluster.clone())
        .ok_or_else(|| failed(KubeconfigError::LoadClusterOfContext(cluster)))?;
    let options = KubeConfigOptions {
        context: Some(context_name.clone()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(config, &options)
        .await
        .map_err(failed)?;
    let client = Client::try_from(config.clone()).map_err(|error| ClusterError::Client(Box::new(error)))?;
    Ok((client, config, endpoint))
}

/// Writes a file atomically, readable by its owner only.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), IoError> {
    use std::io::Write as _;
    let failed = |source| IoError::new("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
