//! The options of a server.

use super::Tls;
use crate::ServiceNetwork;
use crate::admission::AdmissionPlugin;
use crate::auth::{AuthorizationMode, PrivateKey, PublicKey, TokenOptions, User};
use crate::discovery::VersionInfo;
use crate::housekeeping::HousekeepingTask;
use crate::http::Layer;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// The options of a server.
#[derive(Debug)]
pub struct ApiServerBuilder {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) tls: Tls,
    pub(super) client_ca: Option<String>,
    pub(super) tokens: HashMap<String, User>,
    pub(super) service_accounts: TokenOptions,
    pub(super) modes: Vec<AuthorizationMode>,
    pub(super) anonymous_auth: bool,
    pub(super) version: VersionInfo,
    pub(super) layer: Option<Arc<dyn Layer>>,
    pub(super) audit_capacity: usize,
    pub(super) admission: Vec<AdmissionPlugin>,
    pub(super) service_network: ServiceNetwork,
    pub(super) housekeeping: Vec<HousekeepingTask>,
    pub(super) housekeeping_delay: Duration,
}

/// The default capacity of the audit log, in requests.
const DEFAULT_AUDIT_CAPACITY: usize = 100_000;
/// The default delay of housekeeping.
const HOUSEKEEPING_DELAY: Duration = Duration::from_millis(30);

impl Default for ApiServerBuilder {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            tls: Tls::Generated,
            client_ca: None,
            tokens: HashMap::new(),
            service_accounts: TokenOptions::default(),
            modes: vec![AuthorizationMode::Rbac],
            anonymous_auth: true,
            version: VersionInfo::default(),
            layer: None,
            audit_capacity: DEFAULT_AUDIT_CAPACITY,
            admission: AdmissionPlugin::defaults(),
            service_network: ServiceNetwork::default(),
            housekeeping: HousekeepingTask::ALL.to_vec(),
            housekeeping_delay: HOUSEKEEPING_DELAY,
        }
    }
}

impl ApiServerBuilder {
    /// Sets the address to listen on; the default is 127.0.0.1.
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = address;
        self
    }

    /// Sets the port; the default 0 picks a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets the TLS mode; the default is a generated certificate.
    ///
    /// Without TLS, kubectl sends no token and is `system:anonymous`, or unauthorized if anonymous authentication is off.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Sets the CA bundle for verifying client certificates, as PEM.
    pub fn client_ca(mut self, pem: impl Into<String>) -> Self {
        self.client_ca = Some(pem.into());
        self
    }

    /// Adds a user with a static token.
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.tokens.insert(token.into(), user);
        self
    }

    /// Adds users from the text of a static token file.
    ///
    /// # Errors
    ///
    /// If a line is malformed.
    pub fn token_file(mut self, text: &str) -> Result<Self, String> {
        self.tokens.extend(crate::auth::parse_token_file(text)?);
        Ok(self)
    }

    /// Sets the private key that signs the tokens of service accounts, as PEM; the default is a generated one.
    ///
    /// # Errors
    ///
    /// If the text has no key that is RSA with 2,048 bits or more, or ECDSA with the curve P-256 or P-384.
    pub fn service_account_signing_key(mut self, pem: &str) -> Result<Self, String> {
        self.service_accounts.signing_key = Some(PrivateKey::from_pem(pem)?);
        Ok(self)
    }

    /// Adds keys that verify tokens of service accounts, as PEM, beside the key that signs them: public keys, or those of private keys and
    /// certificates. The tokens in Secrets, which a controller manager signs, need its key here.
    ///
    /// # Errors
    ///
    /// If the text has no key that is RSA with 2,048 bits or more, or ECDSA with the curve P-256 or P-384.
    pub fn service_account_keys(mut self, pem: &str) -> Result<Self, String> {
        self.service_accounts.keys.extend(PublicKey::all_from_pem(pem)?);
        Ok(self)
    }

    /// Sets the issuers whose tokens are accepted; new tokens have the first one. The default is
    /// `https://kubernetes.default.svc.cluster.local`.
    pub fn service_account_issuers(mut self, issuers: &[String]) -> Self {
        self.service_accounts.issuers = issuers.to_vec();
        self
    }

    /// Sets the audiences of which a token must have one; the default is the issuers.
    pub fn api_audiences(mut self, audiences: &[String]) -> Self {
        self.service_accounts.audiences = audiences.to_vec();
        self
    }

    /// Sets whether requests without credentials are served as `system:anonymous`; the default is true. Like in kube-apiserver,
    /// [`AuthorizationMode::AlwaysAllow`] switches it off: otherwise every client could do everything.
    pub fn anonymous_auth(mut self, enabled: bool) -> Self {
        self.anonymous_auth = enabled;
        self
    }

    /// Sets the authorization modes; the default is RBAC.
    pub fn authorization(mut self, modes: &[AuthorizationMode]) -> Self {
        self.modes = modes.to_vec();
        self
    }

    /// Sets the admission plugins; the default is [`AdmissionPlugin::defaults`]. They run in the order of [`AdmissionPlugin::ALL`].
    pub fn admission_plugins(mut self, plugins: &[AdmissionPlugin]) -> Self {
        self.admission = plugins.to_vec();
        self
    }

    /// Adds an admission plugin to those that are set, or on by default.
    pub fn enable_admission_plugin(mut self, plugin: AdmissionPlugin) -> Self {
        self.admission.push(plugin);
        self
    }

    /// Sets the network of the cluster IPs of Services; the default is 10.0.0.0/16.
    pub fn service_network(mut self, network: ServiceNetwork) -> Self {
        self.service_network = network;
        self
    }

    /// Sets the Kubernetes version to report, such as `v1.36.3`.
    pub fn version(mut self, git_version: impl Into<String>) -> Self {
        self.version.git_version = git_version.into();
        self
    }

    /// Sets the capacity of the audit log ([`ApiServer::audit`](super::ApiServer::audit)) in requests; the default is 100,000, 0 disables
    /// it.
    pub fn audit_capacity(mut self, records: usize) -> Self {
        self.audit_capacity = records;
        self
    }

    /// Sets how long housekeeping waits after a change before it acts on it; the default is 30 ms. While changes follow each other, it waits
    /// for the last one, up to four times as long. Without a delay, clients do not see the states in between: a namespace is gone before its
    /// owner can finalize it. A real cluster's controllers need about as long, but seconds for a namespace.
    pub fn housekeeping_delay(mut self, delay: Duration) -> Self {
        self.housekeeping_delay = delay;
        self
    }

    /// Sets the housekeeping tasks; the default is [`HousekeepingTask::ALL`]. Others are left to the clients, such as a controller manager.
    pub fn housekeeping(mut self, tasks: &[HousekeepingTask]) -> Self {
        self.housekeeping = tasks.to_vec();
        self
    }

    /// Sets a layer that intercepts requests.
    pub fn layer(mut self, layer: Arc<dyn Layer>) -> Self {
        self.layer = Some(layer);
        self
    }
}
