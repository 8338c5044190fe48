//! The types that `src/main.rs` registers for a kind: where the commands write, find and remove them.

use std::path::PathBuf;

/// A type of a kind, in a module of its own.
#[derive(Debug)]
pub(super) struct RegisteredType {
    /// The name of the folder's module.
    pub(super) folder: &'static str,
    /// The start of the folder's module.
    pub(super) doc: &'static str,
    /// Whether the folder exists only with modules in it.
    pub(super) is_optional: bool,
    suffix: &'static str,
    test_suffix: &'static str,
}

pub(super) const CONTROLLER: RegisteredType = RegisteredType {
    folder: "controllers",
    doc: "//! The controllers of this operator, one per file. `src/main.rs` registers them.\n",
    is_optional: false,
    suffix: "Controller",
    test_suffix: "",
};

pub(super) const WEBHOOK: RegisteredType = RegisteredType {
    folder: "webhooks",
    doc: "//! The webhooks of this operator, one kind per file. `src/main.rs` registers them.\n",
    is_optional: true,
    suffix: "Webhook",
    test_suffix: "_webhook",
};

pub(super) const ALL: [&RegisteredType; 2] = [&CONTROLLER, &WEBHOOK];

impl RegisteredType {
    /// Returns the name of the type of a kind.
    pub(super) fn name(&self, kind: &str) -> String {
        format!("{kind}{}", self.suffix)
    }

    /// Returns the path of the type's module, which has the name of the kind's.
    pub(super) fn path(&self, module: &str) -> PathBuf {
        format!("src/{}/{module}.rs", self.folder).into()
    }

    /// Returns the path of the type's test.
    pub(super) fn test_path(&self, module: &str) -> PathBuf {
        format!("tests/{module}{}.rs", self.test_suffix).into()
    }
}
