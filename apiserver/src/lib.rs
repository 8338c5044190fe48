//! A Kubernetes API server in memory, for development and tests. It is not a production server: it has no replication and no persistence.
//! DIFFERENCES.md, beside this crate's manifest, lists the differences from kube-apiserver. The reference is a kube-apiserver without the
//! ServiceAccount admission plugin: pods get no service account by admission.
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
//! Reading order: [`store`] (objects, resource versions, history), [`kinds`] (served resources), [`meta`] and [`registry`] (the verbs),
//! [`types`], [`patch`] and [`apply`] (types of objects, patches), `watch`, `http`, [`auth`], `discovery`, `crd` and `gc` (background
//! controllers), [`server`](ApiServer) (startup).

pub mod apply;
pub mod audit;
pub mod auth;
pub mod builtin;
pub mod crd;
mod discovery;
mod duration;
pub mod field;
mod gc;
pub mod http;
pub mod kinds;
pub mod meta;
pub mod patch;
mod protobuf;
mod quote;
pub mod registry;
pub mod schema;
pub mod selectors;
mod server;
pub mod status;
pub mod store;
mod strategy;
mod tables;
pub mod types;
mod watch;
mod yaml;

pub use server::{ApiServer, ApiServerBuilder, ProxyListener, StartError, Tls, TlsInput, VersionInfo};
