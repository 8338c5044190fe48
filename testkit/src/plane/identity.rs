//! Who may speak to the API server.

use crate::kubectl::KubectlError;
use crate::proxy::Proxy;
use serde_json::json;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The API server, as kubeconfigs name it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) certificate_authority: PathBuf,
}

/// An identity could not be made. `Debug` shows the same text as `Display`, for `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The account or its token.
    #[error(transparent)]
    Account(#[from] KubectlError),
    /// The kubeconfig file.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

impl fmt::Debug for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Somebody who may speak to the API server, with a kubeconfig file. The file goes with the plane.
#[derive(Clone, Debug)]
pub struct Identity {
    server: Server,
    user: String,
    token: String,
    kubeconfig: PathBuf,
}

impl Identity {
    /// The name that the API server knows and audits; that of a service account is
    /// `system:serviceaccount:<namespace>:<name>`.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// An absolute path, for `KUBECONFIG`.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The same identity, with a kubeconfig file whose default namespace is that one.
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

    /// The same identity, with a kubeconfig file whose requests go through the proxy.
    pub fn through(&self, proxy: &Proxy) -> Result<Self, IdentityError> {
        let port = proxy.address().port();
        let server = Server {
            // The API server's certificate is for the address, whatever the port.
            url: format!("https://127.0.0.1:{port}"),
            ..self.server.clone()
        };
        self.at(&server, &format!("through-{port}"))
    }

    /// How to connect as this identity: what a kube client, or a manager under test, is made from.
    pub async fn config(&self) -> Result<kube::Config, kube::config::KubeconfigError> {
        let kubeconfig = kube::config::Kubeconfig::read_from(&self.kubeconfig)?;
        kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default()).await
    }

    /// The same identity, with a kubeconfig file that names another address.
    pub(crate) fn at(&self, server: &Server, what: &str) -> Result<Self, IdentityError> {
        let stem = self.kubeconfig.file_stem().unwrap_or_default().to_string_lossy();
        let file = self.kubeconfig.with_file_name(format!("{stem}.{what}.json"));
        Self::write(server, self.user.clone(), self.token.clone(), None, file)
    }

    pub(crate) fn write(
        server: &Server,
        user: String,
        token: String,
        namespace: Option<&str>,
        file: PathBuf,
    ) -> Result<Self, IdentityError> {
        // JSON is YAML.
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
        // Two tests may write the same file at once; a reader never sees half of it.
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
            kubeconfig: file,
        })
    }
}
