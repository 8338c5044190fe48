//! The files of the scaffold: handlebars templates, embedded in the binary, each with a typed context.
//!
//! Templates hold no logic beyond leaving a block out. Whoever renders them validates the names first: nothing is
//! escaped here.
//!
//! Read `project` and `kind` for what there is; `files/` for the texts.

mod kind;
mod project;
mod render;

pub use kind::{ApiModule, Controller, ControllerTest, Sample};
pub use project::{
    ApiRoot, CargoToml, Ci, ControllersRoot, DeployKustomization, Dockerfile, Dockerignore, Gitignore, LibRs,
    MainRs, OperatorManifest, ProjectFile, Readme,
};
pub use render::{RenderError, Template, render};
