//! Configuration of a control plane.

use super::ControlPlane;
use super::start::{self, StartError};
use crate::binaries::Binaries;

/// Configures a control plane. By default: no controllers, and the administrator as only user.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) controllers: Vec<String>,
    pub(super) users: Vec<(String, Vec<String>)>,
    pub(super) api_server_arguments: Vec<String>,
    pub(super) binaries: Option<Binaries>,
}

impl Builder {
    /// Starts kube-controller-manager with these controllers, such as `garbage-collector-controller`, `namespace-controller`,
    /// `deployment-controller` or `serviceaccount-controller`. With the latter, namespaces get their `default` account, and pods are only
    /// admitted where it exists.
    pub fn controller_manager(mut self, controllers: &[&str]) -> Self {
        self.controllers
            .extend(controllers.iter().map(ToString::to_string));
        self
    }

    /// Adds a user in these groups.
    pub fn user(mut self, name: &str, groups: &[&str]) -> Self {
        self.users
            .push((name.to_owned(), groups.iter().map(ToString::to_string).collect()));
        self
    }

    /// Adds an argument of kube-apiserver, such as `--feature-gates=…`. `--authorization-mode=…` replaces RBAC. The admission plugin
    /// ServiceAccount is off unless `serviceaccount-controller` runs or an argument names the plugin.
    pub fn api_server_arg(mut self, argument: &str) -> Self {
        self.api_server_arguments.push(argument.to_owned());
        self
    }

    /// Uses these programs instead of those of [`Binaries::find`].
    pub fn binaries(mut self, binaries: Binaries) -> Self {
        self.binaries = Some(binaries);
        self
    }

    /// Starts everything and waits until the API server is ready: about 3 seconds.
    pub fn start(self) -> Result<ControlPlane, StartError> {
        start::start(&self)
    }
}
