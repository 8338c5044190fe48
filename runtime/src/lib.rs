//! Operators for Kubernetes: shared informers, work queue, controllers, typed clients, leader election and events.
//!
//! An operator is a struct, its kind, and a [`Reconciler`](controller::Reconciler), which is called with the name of an object whenever
//! that object, or something that it owns, may need attention. `kubewright new` scaffolds one; this page shows what it is made of.
//!
//! # The tour
//!
//! 1. **The kind.** `#[derive(CustomResource, Informer)]` on a spec makes the kind, its definition, its client, informer and lister.
//!    Kinds of others, such as a `Deployment`, need no derive: every type of k8s-openapi is a [`Kind`].
//! 2. **[`cache`]** lists and watches each kind once, whoever asks. A [`Lister`](cache::Lister) reads it: by name, by label selector, by
//!    index. The cache keeps bytes and decodes when it is read, so that an object that does not fit its type is an error of that read alone.
//! 3. **[`workqueue`]** holds the names that want attention: each once, never handed to two workers, later after a failure.
//! 4. **[`controller`]** joins them: [`Setup`](controller::Setup) is told what a controller reconciles, owns and watches; workers call the
//!    reconciler, try again after errors, and contain its panics.
//! 5. **[`client`]** writes. The verbs stand in a client's type: what it may not do does not compile, and what it may do is the operator's
//!    role. `kubewright generate` writes that role; nobody keeps one by hand.
//! 6. **[`events`]** tells people what happened, without making the reconciler wait.
//! 7. **[`manager`]** makes a program of it: flags, leader election, health, metrics, an ordered end. The same program, asked with
//!    `manifests`, prints its definitions and permissions without a cluster, because registering does no I/O.
//! 8. **[`testing`]** runs one reconcile against seeded caches and compares the requests that it sends.
//!
//! # An operator
//!
//! Complete, and run as a test of this page: a `Greeting` keeps a ConfigMap.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright::{cache::LookupError, controller::controller_reference, prelude::*};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//!
//! /// Says something to somebody.
//! #[derive(CustomResource, Informer, Clone, Debug, Deserialize, Serialize, JsonSchema)]
//! #[kube(group = "demo.dev", version = "v1", kind = "Greeting", namespaced)]
//! #[informer(index(by_whom = "spec.whom"))]
//! pub struct GreetingSpec {
//!     /// Who is greeted.
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
//!             Err(LookupError::NotFound { .. }) => return Ok(Action::await_change()), // deleted meanwhile
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
//! // The program: `Manager::from_args("greeter").register(Greeter::register).run().await`. Its test:
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
//! # What must be known
//!
//! - **Everything runs in tokio**, and measures time with its clock: tests may pause it.
//! - **k8s-openapi's version feature is the application's choice**: enable one, such as `v1_36`.
//! - **rustls with ring** is the TLS. A second rustls provider in the program makes rustls panic when it has to choose.
//! - **A typed update drops fields that the compiled type does not know**; an apply says only what it means. Prefer it.
//! - Nothing here panics on what it read from outside; what the user's code panics with is an error of the key that it worked on.

// Tests within share files with those outside, which name the crate.
#[cfg(test)]
extern crate self as kubewright;

pub mod cache;
pub mod client;
pub mod controller;
pub mod events;
mod kind;
mod lru;
pub mod manager;
mod namespaced_name;
mod panics;
#[doc(hidden)]
pub mod projection;
pub mod testing;
mod token_bucket;
mod wake_batch;
pub mod workqueue;
mod yaml;

pub use kind::{ApiResource, CustomKind, Kind, Projection, Scope, View, WithScale, WithStatus};
pub use namespaced_name::{NamespacedName, NamespacedNameError};

pub use kube::CustomResource;
pub use kubewright_macros::{Informer, Projection};

pub use manager::{Error, Manager, Result};

/// The crates whose types appear in this library's signatures, in the versions that it was built with.
pub use {clap, k8s_openapi, kube, schemars, serde, serde_json, tokio_util};

/// What an operator's files import: `use kubewright::prelude::*;`.
pub mod prelude {
    pub use crate::cache::{Lister, SharedInformer};
    pub use crate::client::{
        All, Apply, ApplyStatus, Create, Delete, Get, GetScale, List, Patch, PatchStatus, TypedClient,
        Update, UpdateScale, UpdateStatus,
    };
    pub use crate::controller::{Action, ReconcileError, Reconciler, Setup};
    pub use crate::events::Recorder;
    pub use crate::{CustomResource, Informer, Kind, Manager, NamespacedName, Projection};
}
