//! A Kubernetes API server in memory, for development and tests. It is not a production server: nothing is replicated, nothing outlives
//! the process. What it answers otherwise than kube-apiserver stands in DIFFERENCES.md, beside this crate's manifest. It is held to a server
//! without the ServiceAccount plugin: pods are given no account by admission.
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
//! Read in this order: [`store`] (objects, versions, history), [`kinds`] (what is served), [`meta`] and [`registry`] (the rules by
//! which objects change), [`types`], [`patch`] and [`apply`] (of what shape objects are, and what patches make of them), `watch`, `http` (the
//! wire), [`auth`], `discovery`, `crd` and `gc` (who keeps house), [`server`](ApiServer) (how it all comes up).

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

pub use server::{ApiServer, Builder, Front, StartError, Tls, VersionInfo};
