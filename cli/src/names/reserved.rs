//! Reserved words: names that a new name must not take.

use super::KindName;

/// Rust's keywords of edition 2024, strict and reserved.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Crates of the Rust toolchain.
const COMPILER_CRATES: &[&str] = &["alloc", "core", "proc_macro", "std", "test"];

/// Crates that the scaffold depends on.
const DEPENDENCIES: &[&str] = &[
    "k8s_openapi",
    "kube",
    "kubewright",
    "schemars",
    "serde",
    "serde_json",
    "tokio",
];

/// Directories that cargo creates beside the binary.
const CARGO_FOLDERS: &[&str] = &["build", "deps", "examples", "incremental"];

/// Device names of Windows, reserved in every directory.
const DEVICES: &[&str] = &[
    "aux", "com1", "com2", "com3", "com4", "con", "lpt1", "lpt2", "lpt3", "nul", "prn",
];

/// Types that the files of a kind use, or that are in Rust's prelude.
const TYPES: &[&str] = &[
    "Action",
    "All",
    "Apply",
    "ApplyConfiguration",
    "ApplyStatus",
    "AsMut",
    "AsRef",
    "BTreeMap",
    "Box",
    "Clone",
    "Condition",
    "Container",
    "Copy",
    "Create",
    "CustomResource",
    "Debug",
    "Default",
    "Delete",
    "Deployment",
    "DeploymentSpec",
    "Deserialize",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "Err",
    "EventType",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Get",
    "GetScale",
    "Harness",
    "Hash",
    "Informer",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "JsonSchema",
    "Kind",
    "LabelSelector",
    "List",
    "Lister",
    "LookupError",
    "Manager",
    "None",
    "ObjectMeta",
    "NamespacedName",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Patch",
    "PatchStatus",
    "PodSpec",
    "PodTemplateSpec",
    "ReconcileError",
    "Reconciler",
    "Recorder",
    "Result",
    "Send",
    "Serialize",
    "Setup",
    "SharedInformer",
    "Sized",
    "Some",
    "String",
    "Sync",
    "TestOperator",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "TypedClient",
    "Unpin",
    "Update",
    "UpdateScale",
    "UpdateStatus",
    "Value",
    "Vec",
];

/// Variables, fields, functions and modules in the files of a kind.
const VARIABLES: &[&str] = &[
    "after",
    "api",
    "available",
    "before",
    "condition",
    "container",
    "controllers",
    "deployment",
    "deployments",
    "desired",
    "error",
    "events",
    "harness",
    "is_ready",
    "json",
    "key",
    "labels",
    "lib",
    "main",
    "message",
    "mod",
    "name",
    "owner",
    "prelude",
    "ready",
    "reason",
    "reconciler",
    "setup",
    "spec",
    "status",
];

/// Suffixes of the types that belong to a kind; the derives generate all but the first two and the last.
const KIND_TYPE_SUFFIXES: &[&str] = &[
    "Spec",
    "Status",
    "Client",
    "Lister",
    "Informer",
    "Informers",
    "Apply",
    "SpecApply",
    "StatusApply",
    "Controller",
];

/// Returns the owner of a reserved crate name, as a phrase for an error message.
pub(super) fn crate_name_owner(name: &str) -> Option<&'static str> {
    [
        (KEYWORDS, "the Rust language"),
        (COMPILER_CRATES, "a crate of the Rust compiler"),
        (DEPENDENCIES, "a crate that the operator depends on"),
        (CARGO_FOLDERS, "a directory that cargo creates beside the binary"),
        (DEVICES, "a Windows device name"),
    ]
    .into_iter()
    .find_map(|(names, owner)| names.contains(&name).then_some(owner))
}

/// Whether the word is a keyword of Rust.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Returns a name that the kind's files would define twice.
pub(super) fn find_conflict(name: &KindName) -> Option<String> {
    let kind_types = KIND_TYPE_SUFFIXES.iter().map(|suffix| format!("{name}{suffix}"));
    let types = std::iter::once(name.to_string())
        .chain(kind_types)
        .find(|candidate| TYPES.contains(&candidate.as_str()));
    let mut variables = [name.snake().to_owned(), name.snake_plural()].into_iter();
    types.or_else(|| variables.find(|candidate| VARIABLES.contains(&candidate.as_str())))
}
