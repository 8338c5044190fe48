//! Operators for Kubernetes: shared informers, work queue, controllers, typed clients, leader election and events.
//!
//! An operator has a custom kind, written as a struct, and a [`Reconciler`](controller::Reconciler), which is called with the name of an object
//! whenever that object or an object that it owns has changed. `kubewright new` scaffolds a project; this page shows the parts.
//!
//! # Overview
//!
//! 1. **The kind.** `#[derive(CustomResource, Informer)]` on a spec generates the kind, its CustomResourceDefinition, client, informer and
//!    lister. Existing kinds such as `Deployment` need no derive: every type of k8s-openapi is a [`Kind`].
//! 2. **[`cache`]** has the shared informers: each kind is listed and watched once per process. A [`Lister`](cache::Lister) reads the cache by
//!    name, label selector or index. The cache stores bytes and decodes on read, so that an object that does not decode is an error of that read only.
//! 3. **[`workqueue`]** holds the keys to reconcile: each once, never processed by two workers at a time, rate-limited after an error.
//! 4. **[`controller`]** connects these: a controller is registered on [`Setup`](controller::Setup) with the kinds that it reconciles, owns and
//!    watches. Its workers call the reconciler, requeue the key after an error, and catch panics.
//! 5. **[`client`]** writes objects. The verbs are part of a client's type: other verbs do not compile, and `kubewright generate` writes the
//!    operator's role from them.
//! 6. **[`events`]** records Kubernetes events without blocking the reconciler.
//! 7. **[`manager`]** is the program: flags, leader election, health checks, metrics, graceful shutdown. Its subcommand `manifests` prints the
//!    CRDs and permissions without a cluster, because registration does no I/O.
//! 8. **[`webhooks`]** validate and default objects before they are stored: admission webhooks.
//! 9. **[`testing`]** runs one reconcile on seeded caches and compares the requests that it sends, or runs the whole operator in a test.
//!
//! # An operator
//!
//! A complete operator, which is also a test of this page: each `Greeting` owns a ConfigMap.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright::prelude::*;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! /// A greeting.
//! #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
//! #[kube(group = "demo.dev", version = "v1", kind = "Greeting", namespaced)]
//! #[informer(index(by_whom = "spec.whom"))]
//! pub struct GreetingSpec {
//!     /// The name to greet.
//!     pub whom: String,
//! }
//!
//! pub struct Greeter {
//!     greetings: GreetingLister,
//!     config_maps: TypedClient<ConfigMap, (Apply,)>,
//! }
//!
//! impl Greeter {
//!     pub fn register(setup: &mut Setup) {
//!         let greetings = setup.informers().greetings();
//!         let config_maps = setup.informers().of::<ConfigMap>();
//!         let greeter = Greeter { greetings: greetings.lister(), config_maps: setup.client() };
//!         setup.controller("greeter", greeter).reconciles(&greetings).owns(&config_maps);
//!     }
//! }
//!
//! impl Reconciler for Greeter {
//!     async fn reconcile(&self, key: &NamespacedName) -> Result<Action, ReconcileError> {
//!         let greeting = match self.greetings.get(key) {
//!             Ok(greeting) => greeting,
//!             Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()), // deleted
//!             Err(error) => return Err(error.into()),
//!         };
//!         let wanted = json!({
//!             "metadata": {
//!                 "name": key.name(),
//!                 "namespace": key.namespace(),
//!                 "ownerReferences": [controller_reference(&*greeting)],
//!             },
//!             "data": {"text": format!("Hello, {}!", greeting.spec.whom)},
//!         });
//!         self.config_maps.apply(&wanted).await?;
//!         Ok(Action::await_change())
//!     }
//! }
//!
//! // The program is `Manager::from_args("greeter").register(Greeter::register).run().await`. Its test:
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use kubewright::testing::Harness;
//!
//! let test = Harness::new(Greeter::register);
//! test.seed(&json!({
//!     "apiVersion": "demo.dev/v1", "kind": "Greeting",
//!     "metadata": {"name": "first", "namespace": "default", "uid": "1"},
//!     "spec": {"whom": "world"},
//! }));
//! test.reconcile("default/first").await.unwrap();
//!
//! let sent = test.requests();
//! assert_eq!(sent[0].to_string(), "apply configmaps default/first");
//! assert_eq!(sent[0].body["data"]["text"], "Hello, world!");
//! # }
//! ```
//!
//! # Requirements and caveats
//!
//! - **A tokio runtime is required.** Durations are measured with tokio's clock, which tests may pause; [`Clock`] injects the wall time.
//! - **The application selects k8s-openapi's version feature**: enable one, such as `v1_36`.
//! - **TLS is rustls with ring.** A second rustls provider in the program makes rustls panic when it selects a default.
//! - **A typed update drops fields that the compiled type does not have.** Prefer server-side apply, which sends only the intended fields.
//! - **Panics**: the library does not panic on data from outside. A panic in a reconciler is an error of its key.

// Unit tests share files with integration tests, which use the crate's name.
#[cfg(test)]
extern crate self as kubewright;

mod apply_configuration;
pub mod cache;
pub mod client;
mod clock;
pub mod controller;
pub mod conversion;
#[doc(hidden)]
pub mod definition;
mod did_you_mean;
mod duration;
pub mod events;
mod index_spec;
mod kind;
mod line_decoder;
mod lru;
pub mod manager;
mod namespaced_name;
mod panics;
#[doc(hidden)]
pub mod projection;
mod random_values;
#[doc(hidden)]
pub mod spec_types;
#[cfg(test)]
mod test_effort;
#[cfg(test)]
mod test_log;
pub mod testing;
mod token_bucket;
#[doc(hidden)]
pub mod unstable;
mod wake_batch;
pub mod webhooks;
pub mod workqueue;
mod yaml;

pub use apply_configuration::ObjectApply;
pub use clock::Clock;
pub use duration::{Duration, DurationError};
pub use kind::{ApiResource, CustomKind, Kind, Projection, Scope, View, WithScale, WithStatus};
pub use namespaced_name::{NamespacedName, NamespacedNameError};

pub use kube::CustomResource;
pub use kubewright_macros::{ApplyConfiguration, Convert, Informer, Projection};

pub use manager::{
    error::{Error, Result},
    manager::Manager,
};

/// Re-exports of the crates whose types appear in public signatures, and of the one for logs, in the versions that this library uses.
pub use {clap, k8s_openapi, kube, prometheus_client, schemars, serde, serde_json, tokio_util, tracing};

/// The imports of an operator's files: `use kubewright::prelude::*;`.
pub mod prelude {
    pub use crate::cache::{Lister, LookupError, SharedInformer};
    pub use crate::client::{
        All, Apply, ApplyStatus, Create, Delete, Get, GetScale, List, Patch, PatchStatus, TypedClient,
        Update, UpdateScale, UpdateStatus,
    };
    pub use crate::controller::{
        Action, ReconcileError, Reconciler, Setup,
        conditions::{ConditionStatus, condition, set_condition},
        controller_reference, is_controlled_by,
    };
    pub use crate::events::{EventType, Recorder};
    pub use crate::{
        ApplyConfiguration, CustomResource, Informer, Kind, Manager, NamespacedName, Projection,
    };
}
