//! The three classes of files in a project.
//!
//! - [`generated`]: owned by kubewright. A hash in the header detects edits; edited files are not overwritten.
//! - [`managed`]: changed by the user and by kubewright. New renderings are merged into the user's file ([`merge`]), with
//!   the last rendering as base.
//! - The user's files: written once, if missing. They need no code here.

pub mod generated;
pub mod managed;
pub mod merge;
