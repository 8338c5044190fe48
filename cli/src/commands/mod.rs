//! The commands, one per file. Each makes a plan, then prints or applies it.

pub mod add_kind;
pub mod api_server;
pub mod completions;
mod dependency;
pub mod dev;
pub mod generate;
mod kind_files;
pub mod migrate_storage;
pub mod new;
mod signals;
