//! What can be chosen.

use super::{Tls, VersionInfo};
use crate::auth::{Mode, User};
use crate::http::Layer;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// What can be chosen of a server.
#[derive(Debug)]
pub struct Builder {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) tls: Tls,
    pub(super) client_authority: Option<String>,
    pub(super) tokens: HashMap<String, User>,
    pub(super) modes: Vec<Mode>,
    pub(super) version: VersionInfo,
    pub(super) layer: Option<Arc<dyn Layer>>,
    pub(super) audited: usize,
}

/// How many requests are remembered where nothing is said.
const AUDITED: usize = 100_000;

impl Default for Builder {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            tls: Tls::Generated,
            client_authority: None,
            tokens: HashMap::new(),
            modes: vec![Mode::Rbac],
            version: VersionInfo::default(),
            layer: None,
            audited: AUDITED,
        }
    }
}

impl Builder {
    /// Where to listen; 127.0.0.1 where nothing is said.
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// Which port; 0 is a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Which certificate; one of its own where nothing is said.
    ///
    /// Without TLS, kubectl sends no token: it is then `system:anonymous`.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Whose client certificates are believed, as PEM.
    pub fn client_authority(mut self, pem: impl Into<String>) -> Self {
        self.client_authority = Some(pem.into());
        self
    }

    /// A user by a token.
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.tokens.insert(token.into(), user);
        self
    }

    /// Users by tokens, from the text of a static token file.
    ///
    /// # Errors
    ///
    /// When a line is malformed.
    pub fn token_file(mut self, text: &str) -> Result<Self, String> {
        self.tokens.extend(crate::auth::read_tokens(text)?);
        Ok(self)
    }

    /// How it is decided who may do what; RBAC where nothing is said.
    pub fn authorization(mut self, modes: &[Mode]) -> Self {
        self.modes = modes.to_vec();
        self
    }

    /// Which version it says it is, as `v1.36.3`.
    pub fn version(mut self, git_version: impl Into<String>) -> Self {
        self.version.git_version = git_version.into();
        self
    }

    /// How many of the latest requests [`ApiServer::audit`](super::ApiServer::audit) remembers; 100,000 where nothing is said.
    pub fn audited(mut self, most: usize) -> Self {
        self.audited = most;
        self
    }

    /// What stands between the wire and the server.
    pub fn layer(mut self, layer: Arc<dyn Layer>) -> Self {
        self.layer = Some(layer);
        self
    }
}
