//! Inserts lines into the user's code, at positions found in the syntax tree.
//!
//! Each function takes a text and returns it with one more line, or unchanged if the line exists. All other bytes are
//! kept: comments, formatting, line endings. `items` inserts declarations, `manager_calls` the calls in `main`, `webhooks` a further webhook.
//! `removal` and `webhook_removal` remove them, and `item_uses` finds what else uses them. `kind_renaming` renames a kind (with `variable_names` and `name_uses`),
//! `group_names` its group, and `library_renames` items of the library. `imported_names` resolves names by a file's imports, `module_tree` by
//! all modules.
//!
//! For the versions of a kind: `tokens` moves and renames modules, `old_version` edits a version's file (`converted_types` finds what it
//! converts), `registration` the calls that register the versions, `registration_call` the controller that calls them, and
//! `stored_version` which version is stored; `conversion_parts` says what a line of a version's file is.

mod attributes;
mod conversion_parts;
mod converted_types;
mod files;
mod group_names;
mod imported_names;
mod insertion;
mod item_uses;
mod items;
mod kind_renaming;
mod kinds;
mod library_renames;
mod manager_calls;
mod module_tree;
mod name_uses;
mod nested_options;
mod old_version;
mod registration;
mod registration_call;
mod removal;
mod schema_places;
mod stored_version;
mod tokens;
mod variable_names;
mod webhook_removal;
mod webhooks;
mod words;

pub use conversion_parts::{ConversionPart, conversion_part};
pub use files::{SourceFile, package_files, package_texts, parse, read_files};
pub use group_names::{GroupNames, domain_lines};
pub use imported_names::ProjectItems;
pub use item_uses::{item_lines, module_lines, undecided_lines};
pub use items::{declare_module, export_in_prelude, export_type, import_type};
pub use kind_renaming::{FileRole, Renaming};
pub use kinds::{
    DefinedKind, ProjectKind, defined_kinds, defined_type, project_kinds, types_named, visible_names,
};
pub use library_renames::{Rename, Renamed, rename_item};
pub use manager_calls::register;
pub use module_tree::ModuleTree;
pub use nested_options::{NestedOption, nested_options};
pub use old_version::{change_hub, derive_conversion, file_module, set_version, unconverted};
pub use registration::{
    RegisteredVersions, add_hub, export_hub_in_prelude, registered_versions, remove_version, stored_comment,
};
pub use registration_call::{REGISTER, call_registration};
pub use removal::{remove_module, unregister};
pub use schema_places::{field_place, type_place};
pub use stored_version::{StoredVersion, stored_version};
pub use tokens::{call_lines, informer_lines, literal_lines, move_down, rename_module, replace_literals};
pub use webhook_removal::remove_webhook;
pub use webhooks::{NewWebhook, RegisteredWebhook, WebhookType, add_webhook, registered_webhooks};
pub use words::{identifiers, word_lines};

// ANCHOR: errors
/// A line cannot be inserted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum InsertError {
    /// The file does not parse as Rust.
    #[error("line {line} does not parse: {message}; fix it first")]
    Syntax {
        /// Number of the line.
        line: usize,
        /// The parser's message.
        message: String,
    },
    /// The syntax tree lacks the anchor of the line.
    #[error("{reason}; add this by hand:\n\n    {line}\n")]
    NoInsertionPoint {
        /// The missing anchor.
        reason: &'static str,
        /// The line to add by hand.
        line: String,
    },
    /// Another error, with its file.
    #[error("{path}: {error}")]
    In {
        /// The file.
        path: String,
        /// The error.
        error: Box<InsertError>,
    },
}
// ANCHOR_END: errors

#[cfg(test)]
mod tests;
