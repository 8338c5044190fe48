//! The manager: one process, many controllers.
//!
//! Read [`Manager`](crate::Manager) first: it registers, then prints the manifests or runs. `operator` starts and stops a running operator, `lifecycle`,
//! `runnable_group` and `task_group` own its tasks, `component` starts its components, `servers` serves health checks, metrics and webhooks (`tls`);
//! `health_and_metrics` decides how, and `metrics_access` to whom. The other parts are independent of each
//! other: `args` and `command_line` (flags), `kubeconfig` and `connection_source` (client configuration), `leader` (leader election), `metrics`, `health`,
//! `debug_page`, `manifests`.
//!
//! # Metrics
//!
#![doc = include_str!("metrics.md")]

mod address;
mod args;
mod command_line;
mod component;
mod connection_source;
mod debug_page;
pub(crate) mod error;
mod health;
mod health_and_metrics;
pub(crate) mod identity;
mod kubeconfig;
mod leader;
mod lifecycle;
mod logging;
#[expect(
    clippy::module_inception,
    reason = "the manager's main type has the folder's name, as in the other parts"
)]
pub(crate) mod manager;
pub(crate) mod manifests;
pub(crate) mod metrics;
mod metrics_access;
mod operator;
mod runnable_group;
mod served_webhooks;
mod server;
mod servers;
mod signals;
mod task_group;
mod tls;

pub(crate) use error::{Error, Result};
