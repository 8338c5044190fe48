//! Packages of an operator, made of the project's manifests and nothing else: one file for kubectl, a Helm chart, a bundle for OLM.
//!
//! [`build`] evaluates `manifests/Kustomization` as kustomize does, so that a user's resources and patches count. Then [`install`] writes
//! the objects as one file, [`chart`] as templates, and [`bundle`] as a ClusterServiceVersion; [`operator`] finds the operator's Deployment
//! among them. [`mod@format`] knows the packages of a project, and [`files`] plans their files. [`leader_election`] warns of replicas without it.

pub mod build;
pub mod bundle;
pub mod chart;
pub mod files;
pub mod format;
mod image;
pub mod install;
pub mod leader_election;
pub mod operator;
mod patches;
mod transformers;
mod version;

pub use version::{Package, package};
