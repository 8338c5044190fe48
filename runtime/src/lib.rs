//! Operators for Kubernetes: shared informers, work queue, controllers, typed clients, leader election and events.
//!
//! Read the modules in the order in which data flows: [`cache`], [`workqueue`], [`controller`], [`client`], [`events`],
//! [`manager`]; [`testing`] runs a reconciler without a server.

pub mod cache;
pub mod client;
pub mod controller;
pub mod events;
mod kind;
pub mod manager;
mod object_name;
pub mod testing;
pub mod workqueue;

pub use kind::{CustomKind, Kind, KindInfo, Scope, View, WithScale, WithStatus};
pub use object_name::{ObjectName, ObjectNameError};

pub use kube::CustomResource;
pub use kubewright_macros::Informer;

pub use manager::{Error, Manager, Result};

/// The crates whose types appear in this library's signatures, in the versions that it was built with.
pub use {clap, k8s_openapi, kube, schemars, serde, serde_json};

/// What an operator's files import: `use kubewright::prelude::*;`.
pub mod prelude {
    pub use crate::cache::{Lister, SharedInformer};
    pub use crate::client::{
        All, Apply, ApplyStatus, Create, Delete, Get, GetScale, List, Patch, PatchStatus, TypedClient,
        Update, UpdateScale, UpdateStatus,
    };
    pub use crate::controller::{Action, ReconcileError, Reconciler, Setup};
    pub use crate::events::Recorder;
    pub use crate::{CustomResource, Informer, Kind, Manager, ObjectName};
}
