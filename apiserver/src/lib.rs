//! A Kubernetes API server in memory, for development and tests. It is not a production server: it has no replication and no persistence.
//! DIFFERENCES.md, beside this crate's manifest, lists the differences from kube-apiserver. The reference is a kube-apiserver without the
//! admission plugin ServiceAccount and with OwnerReferencesPermissionEnforcement; both are off here by default.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = kubewright_apiserver::ApiServer::start().await?;
//! assert!(server.url().starts_with("https://127.0.0.1:"));
//! # server.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! Reading order, each module below those after it: [`storage`] (objects, resource versions, history), `webhook_client`, [`kinds`] with `crd` (served
//! resources), [`request`] (what a request asks for), [`auth`], `strategy` and `admission` (what the server changes and refuses per kind),
//! [`registry`] (the verbs), `render` (responses), `watch`, `discovery`, [`http`], `housekeeping` (background controllers),
//! [`server`](ApiServer) (startup). Types, patches, schemas and validation are in `kubewright-apimachinery`, which stores and serves
//! nothing.

mod admission;
pub mod audit;
pub mod auth;
pub mod crd;
mod discovery;
mod housekeeping;
pub mod http;
pub mod kinds;
pub mod registry;
mod render;
pub mod request;
mod server;
pub mod storage;
mod strategy;
mod watch;
mod webhook_client;

pub use admission::{AdmissionPlugin, AdmissionPluginError};
pub use discovery::VersionInfo;
pub use housekeeping::{HousekeepingTask, UnknownHousekeepingTask};
pub use kubewright_apimachinery::status;
pub use server::{ApiServer, ApiServerBuilder, ProxyListener, ServingCertificate, StartError, Tls, TlsInput};
pub use strategy::{ServiceNetwork, ServiceNetworkError, validate_definition};

use kubewright_apimachinery::{
    apply, builtin, cel, duration, field, go_format, go_json, go_url, meta, patch, protobuf, quote, schema,
    selectors, types, yaml,
};
