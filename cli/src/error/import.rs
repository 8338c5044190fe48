//! Errors of `import`.

use crate::exit;

// ANCHOR: errors
/// A definition cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input is not YAML.
    #[error("{input}:{line}: invalid YAML: {message}; fix it first")]
    Yaml {
        /// The name of the input.
        input: String,
        /// The line.
        line: u64,
        /// The parser's message.
        message: String,
    },
    /// The input has no CustomResourceDefinition.
    #[error(
        "{0} has no CustomResourceDefinition: name a file or a cluster's definition, as in `certificates.cert-manager.io`"
    )]
    NoDefinition(String),
    /// The input does not define the selected kind.
    #[error("{input} does not define kind {kind}: it defines {}", .known.join(", "))]
    UnknownKind {
        /// The name of the input.
        input: String,
        /// The kind.
        kind: String,
        /// The kinds that it defines.
        known: Vec<String>,
    },
    /// The definition has an old API version.
    #[error(
        "{name} has apiVersion {found:?}, which Kubernetes removed in 1.22: get the definition from a cluster, or from a newer release of the project"
    )]
    OldApi {
        /// The name of the definition.
        name: String,
        /// Its API version.
        found: String,
    },
    /// A field is missing or has a wrong type.
    #[error("{name}: {field} is missing or has a wrong type: the API server would refuse this definition")]
    Malformed {
        /// The name of the definition.
        name: String,
        /// The path of the field.
        field: &'static str,
    },
    /// A schema refers to another one, as recursive schemas do.
    #[error(
        "{name}: {path} has a `$ref`, which the API server refuses, and so it has no recursive schemas: write the schema there, or \
         `x-kubernetes-preserve-unknown-fields: true`"
    )]
    Reference {
        /// The name of the definition.
        name: String,
        /// The path in the schema.
        path: String,
    },
    /// Two definitions of the input have the same name and differ.
    #[error("{input} defines {name} twice, with differences: remove one of the definitions")]
    Twice {
        /// The name of the input.
        input: String,
        /// The name of the definitions.
        name: String,
    },
    /// A name is not one that the API server accepts.
    #[error("{name}: {field} {value:?} is not valid: {rule}; the API server would refuse this definition")]
    Invalid {
        /// The name of the definition.
        name: String,
        /// The path of the field.
        field: &'static str,
        /// Its value.
        value: String,
        /// The violated rule.
        rule: &'static str,
    },
    /// The definition does not have the selected version.
    #[error("{name} has no version {version}: choose one of {}", .known.join(", "))]
    UnknownVersion {
        /// The name of the definition.
        name: String,
        /// The version.
        version: String,
        /// Its versions.
        known: Vec<String>,
    },
    /// The kind cannot be the name of a Rust type.
    #[error("kind {0} has the name of a type that the generated code uses: write the struct by hand")]
    Reserved(String),
    /// A definition of the input has the module of a file that is about something else.
    #[error(
        "{path} has {found}, and {name} needs the same module: rename that file and the module `{module}` in {parent}/mod.rs, and import again"
    )]
    ModuleExists {
        /// The file.
        path: String,
        /// The kind that it defines.
        found: String,
        /// The definition.
        name: String,
        /// The module of the file.
        module: String,
        /// The folder of the file.
        parent: String,
    },
    /// Two definitions of the input have the same module.
    #[error(
        "{one} and {other} have the same module, {path}: import one of them, rename its module, and import the other; nothing was written"
    )]
    SameModule {
        /// A definition.
        one: String,
        /// The other one.
        other: String,
        /// The file.
        path: String,
    },
    /// The changes of the definition conflict with changes of the user.
    #[error(
        "{path} has a merge conflict between your changes and those of the definition:\n\n{conflict}\n\
         merge by hand, or pass --keep to keep your version or --overwrite to discard it; nothing was written"
    )]
    Conflict {
        /// The file.
        path: String,
        /// The conflicting lines.
        conflict: String,
    },
    /// The cluster does not have the definition.
    #[error("the cluster has no definition {0}: `kubectl get crds` lists their names")]
    NotInstalled(String),
}
// ANCHOR_END: errors

impl ImportError {
    /// Returns the exit code of this error.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NoDefinition(_)
            | Self::UnknownKind { .. }
            | Self::UnknownVersion { .. }
            | Self::Reserved(_)
            | Self::ModuleExists { .. }
            | Self::Twice { .. }
            | Self::SameModule { .. } => exit::USAGE,
            Self::Yaml { .. }
            | Self::OldApi { .. }
            | Self::Malformed { .. }
            | Self::Reference { .. }
            | Self::Invalid { .. } => exit::DEFINITION,
            Self::Conflict { .. } => exit::CONFLICT,
            Self::NotInstalled(_) => exit::CLUSTER,
        }
    }
}
