//! Startup of a server.

use super::bootstrap_objects::{bootstrap_objects, field_manager, set_service_network_ready};
use super::{ApiServer, ApiServerBuilder, TlsInput, listener, tls};
use crate::audit::AuditLog;
use crate::auth::{
    Authenticator, AuthorizationMode, Authorizer, ImpersonationModeCache, ServiceAccountTokens, User,
    bootstrap,
};
use crate::http::{ServerState, serve};
use crate::kinds::Catalog;
use crate::registry::{Registry, Target, WriteContext};
use crate::request::WriteOptions;
use crate::status::ApiError;
use crate::watch::SharedFeeds;
use rand::RngExt as _;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const INITIAL_NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];
const SYSTEM_PRIORITY_CLASSES: &[(&str, i64, &str)] = &[
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];

/// The ConfigMap in which kube-apiserver records since when it tracks legacy service account tokens; it exists in every cluster.
const LEGACY_TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

/// The cluster IP of the service `kubernetes`: the first address of the service network.
const KUBERNETES_SERVICE_IP: &str = "10.0.0.1";

/// The reason why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A certificate or a private key cannot be used or generated.
    #[error("cannot use the {input}: {cause}")]
    Certificate {
        /// The input that is at fault.
        input: TlsInput,
        /// The cause.
        cause: String,
    },
    /// The embedded table of kinds is malformed.
    #[error("the table of kinds is malformed: {0}")]
    Table(#[from] serde_json::Error),
    /// The bootstrap objects are invalid.
    #[error("cannot create the bootstrap objects: {0}")]
    Bootstrap(#[from] ApiError),
}

impl ApiServerBuilder {
    /// Starts the server. It is ready when this returns.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on, or a certificate cannot be used.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let requested = (self.address, self.port);
        let listening = TcpListener::bind(requested).await.and_then(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = listening.map_err(|source| StartError::Listen {
            address: format!("{}:{}", self.address, self.port),
            source,
        })?;
        let tls = tls::new_acceptor(&self.tls, self.address, self.client_ca.as_deref())?;
        let (acceptor, certificate_authority) = match tls {
            Some((acceptor, authority)) => (Some(acceptor), authority),
            None => (None, None),
        };
        let registry = Arc::new(Registry::new(Catalog::built_in()?, Authorizer::new(&self.modes)));
        create_bootstrap_objects(&registry, address)?;
        let admin_token: String = (0..32)
            .map(|_| char::from(rand::rng().random_range(b'a'..=b'z')))
            .collect();
        let mut tokens = self.tokens;
        let admin = User {
            uid: "admin".to_owned(),
            ..User::new("admin", &["system:masters"])
        };
        tokens.insert(admin_token.clone(), admin);
        let state = Arc::new(ServerState {
            registry: registry.clone(),
            authenticator: Authenticator {
                tokens,
                accounts: ServiceAccountTokens::default(),
                anonymous: self.anonymous_auth && !self.modes.contains(&AuthorizationMode::AlwaysAllow),
            },
            impersonation_modes: ImpersonationModeCache::default(),
            audit: AuditLog::new(self.audit_capacity),
            version: self.version,
            layer: self.layer,
            feeds: SharedFeeds::default(),
            address: address.to_string(),
        });
        let mut tasks = JoinSet::new();
        let tls = acceptor.is_some();
        for task in self.housekeeping {
            tasks.spawn(task.run(registry.clone(), self.housekeeping_delay));
        }
        let handler_state = state.clone();
        let handler: listener::Handler = Arc::new(move |request, client_cert| {
            Box::pin(serve(handler_state.clone(), request, client_cert))
        });
        tasks.spawn(listener::run(handler, listener, acceptor));
        Ok(ApiServer {
            state,
            address,
            certificate_authority,
            tls,
            admin_token,
            tasks,
        })
    }
}

/// Creates the bootstrap objects: namespaces, priority classes, roles, bindings, and the service `kubernetes`.
///
/// kube-apiserver also publishes its address in Endpoints and an EndpointSlice. They do not allow loopback addresses, so they are omitted.
fn create_bootstrap_objects(registry: &Registry, address: SocketAddr) -> Result<(), ApiError> {
    let new_object = |version: &str, kind: &str, metadata: Value| json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
    let mut objects: Vec<Value> = INITIAL_NAMESPACES
        .iter()
        .map(|name| new_object("v1", "Namespace", json!({ "name": name })))
        .collect();
    for (name, value, description) in SYSTEM_PRIORITY_CLASSES {
        let mut class = new_object("scheduling.k8s.io/v1", "PriorityClass", json!({ "name": name }));
        class["value"] = json!(value);
        class["description"] = json!(description);
        objects.push(class);
    }
    objects.extend(bootstrap());
    objects.extend(bootstrap_objects());
    let mut tracking = new_object(
        "v1",
        "ConfigMap",
        json!({ "name": LEGACY_TOKEN_TRACKING, "namespace": "kube-system" }),
    );
    tracking["data"] = json!({ "since": crate::meta::now()[.."2026-01-01".len()] });
    objects.push(tracking);
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let metadata = json!({ "name": "kubernetes", "namespace": "default", "labels": labels });
    let mut service = new_object("v1", "Service", metadata);
    let port = json!({ "name": "https", "port": 443, "protocol": "TCP", "targetPort": address.port() });
    service["spec"] = json!({ "clusterIP": KUBERNETES_SERVICE_IP, "ports": [port], "sessionAffinity": "None", "type": "ClusterIP" });
    objects.push(service);
    let catalog = registry.catalog();
    let user = User::system();
    for object in objects {
        let options = WriteOptions {
            field_manager: field_manager(&object).to_owned(),
            ..WriteOptions::default()
        };
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let kind = catalog.kind(text("apiVersion"), text("kind"));
        let kind = kind.ok_or_else(|| {
            ApiError::internal(format!("unknown kind {} of a bootstrap object", text("kind")))
        })?;
        let target = Target::new(kind, crate::meta::namespace(&object), "");
        let context = WriteContext {
            user: &user,
            options: &options,
        };
        registry.create(&target, object, context)?;
    }
    set_service_network_ready(registry)
}
