//! Where the operator's client comes from, and where it leads.

use super::{
    Error,
    args::ManagerArgs,
    kubeconfig::{self, ClusterConfig},
};
use crate::client::Connection;

/// Where the client configuration comes from.
pub(super) enum ConnectionSource {
    /// The flags, or the default places.
    Flags,
    Config(Box<kube::Config>),
    Client(kube::Client),
}

/// A client, and its destination.
pub(super) struct ConnectedClient {
    pub(super) connection: Connection,
    /// Its configuration, unless the manager was given a client.
    pub(super) config: Option<kube::Config>,
    /// The API server's address, if known.
    pub(super) address: Option<String>,
    /// Whether the operator runs in a pod of that cluster.
    pub(super) in_cluster: bool,
}

impl ConnectionSource {
    /// Makes the client.
    pub(super) async fn connect(
        self,
        args: &ManagerArgs,
        user_agent: &str,
    ) -> Result<ConnectedClient, Error> {
        let ClusterConfig { config, in_cluster } = match self {
            Self::Client(client) => {
                return Ok(ConnectedClient {
                    connection: Connection::new(client),
                    config: None,
                    address: None,
                    in_cluster: false,
                });
            }
            Self::Config(config) => ClusterConfig {
                config: *config,
                in_cluster: false,
            },
            Self::Flags => kubeconfig::configure(args.kubeconfig.as_deref(), args.context.as_deref()).await?,
        };
        Ok(ConnectedClient {
            address: Some(config.cluster_url.to_string()),
            connection: Connection::connect(config.clone(), user_agent)?,
            config: Some(config),
            in_cluster,
        })
    }
}
