//! Runs the commands in process, in temporary directories. Cargo is replaced by a script: no compiler runs.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod add_controller;
mod add_kind;
mod add_webhook;
mod book;
mod certificates;
mod doctor;
mod generate;
mod golden;
mod import;
mod import_code;
mod import_input;
mod migrate_storage;
mod name_forms;
mod name_forms_project;
mod new;
mod package;
mod random_commands;
mod random_steps;
mod reference;
mod remove_kind;
mod remove_parts;
mod rename;
mod rustfmt;
mod shipping;
mod support;
mod unparsable_source;
mod upgrade;
mod versions;
