//! How a server comes up.

use super::{ApiServer, Builder, Shared, listener, tls};
use crate::audit::Audit;
use crate::auth::{Authenticator, Authorizer, Impersonators, ServiceAccountTokens, User, bootstrap};
use crate::http::serve;
use crate::kinds::Catalog;
use crate::registry::{Bodied, Registry, Target, WriteOptions};
use crate::status::ApiError;
use crate::{crd, gc};
use parking_lot::RwLock;
use rand::RngExt as _;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];
const PRIORITIES: &[(&str, i64, &str)] = &[
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

/// Since when tokens of an old kind are watched: every server has it.
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

/// The address of the service `kubernetes`: the first of its network.
const SERVICE: &str = "10.0.0.1";

/// Why a server did not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// A certificate cannot be used or made.
    #[error("the certificate cannot be used: {0}")]
    Certificate(String),
    /// What is compiled in is malformed.
    #[error("the table of kinds is malformed: {0}")]
    Table(#[from] serde_json::Error),
    /// The objects that every cluster starts with are refused.
    #[error("the objects to start with are refused: {0}")]
    Bootstrap(#[from] ApiError),
}

impl Builder {
    /// Starts it. It is ready when this returns.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened on, or a certificate cannot be used.
    pub async fn start(self) -> Result<ApiServer, StartError> {
        let wanted = (self.address, self.port);
        let listening = TcpListener::bind(wanted).await.and_then(|listener| {
            let address = listener.local_addr()?;
            Ok((listener, address))
        });
        let (listener, address) = listening.map_err(|source| StartError::Listen {
            address: format!("{}:{}", self.address, self.port),
            source,
        })?;
        let tls = tls::acceptor(&self.tls, self.address, self.client_authority.as_deref())?;
        let (acceptor, certificate_authority) = match tls {
            Some((acceptor, authority)) => (Some(acceptor), authority),
            None => (None, None),
        };
        let registry = Arc::new(Registry::new(Catalog::built_in()?, Authorizer::new(&self.modes)));
        create_first(&registry, address)?;
        let admin_token: String = (0..32)
            .map(|_| char::from(rand::rng().random_range(b'a'..=b'z')))
            .collect();
        let mut tokens = self.tokens;
        let admin = User {
            uid: "admin".to_owned(),
            ..User::new("admin", &["system:masters"])
        };
        tokens.insert(admin_token.clone(), admin);
        let shared = Arc::new(Shared {
            registry: registry.clone(),
            authenticator: Authenticator {
                tokens,
                accounts: ServiceAccountTokens::default(),
            },
            impersonators: Impersonators::default(),
            audit: Audit::new(self.audited),
            version: self.version,
            layer: self.layer,
            address: RwLock::new(address.to_string()),
        });
        let mut tasks = JoinSet::new();
        let tls = acceptor.is_some();
        tasks.spawn(crd::run(registry.clone()));
        tasks.spawn(gc::run(registry));
        let served = shared.clone();
        let handler: listener::Handler =
            Arc::new(move |request, asker| Box::pin(serve(served.clone(), request, asker)));
        tasks.spawn(listener::run(handler, listener, acceptor));
        Ok(ApiServer {
            shared,
            address,
            certificate_authority,
            tls,
            admin_token,
            tasks,
        })
    }
}

/// Namespaces, roles, bindings, priorities, and the service by which pods reach the server.
///
/// A real server also says in Endpoints and an EndpointSlice where it is, which may not name a loopback address.
fn create_first(registry: &Registry, address: SocketAddr) -> Result<(), ApiError> {
    let version = |version: &str, kind: &str, metadata: Value| json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
    let mut objects: Vec<Value> = NAMESPACES
        .iter()
        .map(|name| version("v1", "Namespace", json!({ "name": name })))
        .collect();
    for (name, value, description) in PRIORITIES {
        let mut class = version("scheduling.k8s.io/v1", "PriorityClass", json!({ "name": name }));
        class["value"] = json!(value);
        class["description"] = json!(description);
        objects.push(class);
    }
    objects.extend(bootstrap());
    let mut tracking = version(
        "v1",
        "ConfigMap",
        json!({ "name": TRACKING, "namespace": "kube-system" }),
    );
    tracking["data"] = json!({ "since": crate::meta::now()[.."2026-01-01".len()] });
    objects.push(tracking);
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let here = json!({ "name": "kubernetes", "namespace": "default", "labels": labels });
    let mut service = version("v1", "Service", here);
    let port = json!({ "name": "https", "port": 443, "protocol": "TCP", "targetPort": address.port() });
    service["spec"] =
        json!({ "clusterIP": SERVICE, "ports": [port], "sessionAffinity": "None", "type": "ClusterIP" });
    objects.push(service);
    let catalog = registry.catalog();
    let (user, options) = (
        User::system(),
        WriteOptions {
            field_manager: "kube-apiserver".to_owned(),
            ..WriteOptions::default()
        },
    );
    for object in objects {
        let text = |key: &str| object[key].as_str().unwrap_or_default();
        let kind = catalog.kind(text("apiVersion"), text("kind"));
        let kind = kind.ok_or_else(|| ApiError::internal(format!("nothing is known of {}", text("kind"))))?;
        let target = Target::new(kind, crate::meta::namespace(&object), "");
        let by = Bodied {
            user: &user,
            options: &options,
        };
        registry.create(&target, object, by)?;
    }
    Ok(())
}
