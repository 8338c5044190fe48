//! The templates of the scaffold: handlebars files, embedded in the binary, each with a typed context.
//!
//! Templates have no logic except conditional blocks and lists. Nothing is escaped: callers validate names before rendering.
//!
//! `project`, `deploy`, `kind`, `controller` and `webhook` define the contexts; the templates are in `files/`.

mod controller;
mod deploy;
mod kind;
mod project;
mod render;
mod webhook;

pub use controller::{ExistingKindController, ExistingKindTest, OwnedKind};
pub use deploy::{DeployKustomization, DisruptionBudget, NetworkPolicy, OperatorManifest, ServiceMonitor};
pub use kind::{ApiModule, Controller, ControllerTest, Sample, VersionsModule, VersionsTest};
pub use project::{
    ApiRoot, CargoToml, Ci, ControllersRoot, Dockerfile, Dockerignore, Gitignore, LibRs, MainRs,
    OperatorManifests, ProjectFile, Readme, RustToolchain,
};
pub use render::{RenderError, Template, render};
pub use webhook::{WebhookDefaulter, WebhookModule, WebhookTest, WebhookValidator};
