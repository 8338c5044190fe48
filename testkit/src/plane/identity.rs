//! Identities: users and service accounts with kubeconfigs.

use crate::kubectl::KubectlError;
use crate::proxy::Proxy;
use serde_json::json;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The API server, as in kubeconfigs.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) certificate_authority: PathBuf,
}

/// An identity could not be created. `Debug` prints the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// kubectl failed to create the account or its token.
    #[error(transparent)]
    Account(#[from] KubectlError),
    /// The kubeconfig file could not be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl fmt::Debug for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A user or service account with a kubeconfig file, which is removed with the cluster.
#[derive(Clone, Debug)]
pub struct Identity {
    server: Server,
    user: String,
    token: String,
    /// The default namespace of the kubeconfig.
    namespace: Option<String>,
    kubeconfig: PathBuf,
}

impl Identity {
    /// The user name in the API server and its audit log; for a service account `system:serviceaccount:<namespace>:<name>`.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The absolute path of the kubeconfig, for `KUBECONFIG`.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the same identity with a kubeconfig with this default namespace.
    pub fn in_namespace(&self, namespace: &str) -> Result<Self, IdentityError> {
        let stem = self.kubeconfig.file_stem().unwrap_or_default().to_string_lossy();
        let file = self.kubeconfig.with_file_name(format!("{stem}.{namespace}.json"));
        Self::write(
            &self.server,
            self.user.clone(),
            self.token.clone(),
            Some(namespace),
            file,
        )
    }

    /// Returns the same identity with a kubeconfig that connects through the proxy.
    pub fn via_proxy(&self, proxy: &Proxy) -> Result<Self, IdentityError> {
        let port = proxy.address().port();
        let server = Server {
            // The API server's certificate is for the address, with any port.
            url: format!("https://127.0.0.1:{port}"),
            ..self.server.clone()
        };
        self.with_server(&server, &format!("through-{port}"))
    }

    /// The client configuration of this identity, for a kube client or a manager under test.
    pub async fn config(&self) -> Result<kube::Config, kube::config::KubeconfigError> {
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await
    }

    /// Returns the same identity with a kubeconfig for another server.
    pub(crate) fn with_server(&self, server: &Server, what: &str) -> Result<Self, IdentityError> {
        let stem = self.kubeconfig.file_stem().unwrap_or_default().to_string_lossy();
        let file = self.kubeconfig.with_file_name(format!("{stem}.{what}.json"));
        let namespace = self.namespace.as_deref();
        Self::write(server, self.user.clone(), self.token.clone(), namespace, file)
    }

    pub(crate) fn write(
        server: &Server,
        user: String,
        token: String,
        namespace: Option<&str>,
        file: PathBuf,
    ) -> Result<Self, IdentityError> {
        // JSON is valid YAML.
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "testkit", "cluster": {
                "server": server.url, "certificate-authority": server.certificate_authority,
            }}],
            "users": [{ "name": user, "user": { "token": token } }],
            "contexts": [{ "name": "testkit", "context": {
                "cluster": "testkit", "user": user, "namespace": namespace.unwrap_or("default"),
            }}],
            "current-context": "testkit",
        });
        // Two tests may write the same file at once: replace it atomically.
        let folder = file.parent().unwrap_or(Path::new("."));
        tempfile::NamedTempFile::new_in(folder)
            .and_then(|temporary| {
                fs::write(temporary.path(), format!("{text:#}\n"))?;
                temporary.persist(&file).map_err(|error| error.error)
            })
            .map_err(|source| IdentityError::Write {
                path: file.clone(),
                source,
            })?;
        Ok(Self {
            server: server.clone(),
            user,
            token,
            namespace: namespace.map(str::to_owned),
            kubeconfig: file,
        })
    }
}
