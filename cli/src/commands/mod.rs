//! The commands, one per file. Each makes a plan, then prints or applies it.

pub mod add_controller;
pub mod add_kind;
pub mod add_version;
pub mod add_webhook;
pub mod api_server;
mod built_in_examples;
pub mod completions;
mod dependency;
pub mod dev;
pub mod generate;
pub mod import;
mod kind_files;
mod kind_target;
pub mod migrate_storage;
pub mod new;
pub mod package;
pub mod remove_kind;
pub mod remove_version;
pub mod rename_group;
pub mod rename_kind;
mod signals;
mod source_edits;
mod uses;
mod version_files;
mod webhook_files;
