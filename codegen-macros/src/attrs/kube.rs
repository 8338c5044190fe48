//! The keys of `#[kube(…)]` that the derive needs. The attribute belongs to kube-derive, which validates the other keys.

use darling::{
    Error, FromDeriveInput, Result,
    util::{Ignored, SpannedValue},
};
use syn::{DeriveInput, Meta, Path, Token, punctuated::Punctuated};

/// Keys that concern the Rust types or the schema, not the other parts of the definition. A test compares them with the keys of kube-derive.
const TYPE_KEYS: [&str; 9] = [
    "root",
    "status",
    "schema",
    "doc",
    "derive",
    "attr",
    "validation",
    "cel",
    "no_spec",
];

/// All `#[kube(…)]` attributes of the struct.
#[derive(FromDeriveInput)]
#[darling(attributes(kube), allow_unknown_fields)]
struct RawKubeAttrs {
    kind: Option<SpannedValue<String>>,
    group: Option<SpannedValue<String>>,
    version: Option<SpannedValue<String>>,
    root: Option<SpannedValue<String>>,
    plural: Option<SpannedValue<String>>,
    singular: Option<String>,
    // kube-derive reports errors in these values.
    status: Option<Result<Path>>,
    schema: Option<Result<String>>,
    scale: Option<SpannedValue<Ignored>>,
    #[darling(default)]
    no_spec: bool,
}

/// [`RawKubeAttrs`] with the required keys present.
pub(crate) struct KubeAttrs {
    pub(crate) kind: SpannedValue<String>,
    pub(crate) group: SpannedValue<String>,
    pub(crate) version: SpannedValue<String>,
    pub(crate) root: Option<SpannedValue<String>>,
    pub(crate) plural: Option<SpannedValue<String>>,
    pub(crate) singular: Option<String>,
    pub(crate) has_status: bool,
    /// The type of the status, unless it is malformed.
    pub(crate) status: Option<Path>,
    pub(crate) schema: SchemaMode,
    pub(crate) scale: Option<SpannedValue<Ignored>>,
    pub(crate) no_spec: bool,
    /// The keys that describe the definition without its schema and types.
    pub(crate) of_definition: Vec<Meta>,
}

/// Where the schema of the definition comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchemaMode {
    /// From the types.
    Derived,
    /// From an implementation of `JsonSchema` by hand.
    Manual,
    /// There is none.
    Disabled,
}

impl KubeAttrs {
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let Some(attribute) = input
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("kube"))
        else {
            return Err(Error::custom(
                "`Informer` needs `CustomResource`: derive both, and describe the kind with \
                 `#[kube(group = \"…\", version = \"…\", kind = \"…\")]`",
            )
            .with_span(&input.ident));
        };
        let raw = RawKubeAttrs::from_derive_input(input)?;
        let mut errors = Error::accumulator();
        let mut required = |value: Option<SpannedValue<String>>, key: &str| {
            let missing =
                || Error::custom(format!("`#[kube(…)]` lacks `{key} = \"…\"`")).with_span(attribute.path());
            errors.handle(value.ok_or_else(missing)).unwrap_or_default()
        };
        let schema = raw.schema.and_then(Result::ok);
        let kube = Self {
            kind: required(raw.kind, "kind"),
            group: required(raw.group, "group"),
            version: required(raw.version, "version"),
            root: raw.root,
            plural: raw.plural,
            singular: raw.singular,
            has_status: raw.status.is_some(),
            status: raw.status.and_then(Result::ok),
            schema: match schema.as_deref() {
                Some("disabled") => SchemaMode::Disabled,
                Some("manual") => SchemaMode::Manual,
                _ => SchemaMode::Derived,
            },
            scale: raw.scale,
            no_spec: raw.no_spec,
            of_definition: of_definition(input),
        };
        errors.finish_with(kube)
    }
}

fn of_definition(input: &DeriveInput) -> Vec<Meta> {
    let attributes = input
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("kube"));
    // kube-derive reports errors.
    let keys = attributes.filter_map(|attribute| {
        attribute
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .ok()
    });
    let is_type_key = |key: &Meta| TYPE_KEYS.iter().any(|name| key.path().is_ident(name));
    keys.flatten().filter(|key| !is_type_key(key)).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

    use syn::{Field, Item, LitStr};

    use super::TYPE_KEYS;

    /// Keys that concern the definition without its schema.
    const DEFINITION_KEYS: [&str; 17] = [
        "group",
        "version",
        "kind",
        "plural",
        "singular",
        "namespaced",
        "category",
        "shortname",
        "printcolumn",
        "selectable",
        "scale",
        "crates",
        "annotation",
        "label",
        "storage",
        "served",
        "deprecated",
    ];

    /// Returns the name of a key: that of the field, or the one that darling gives it.
    fn key(field: &Field) -> String {
        let mut renamed = None;
        for attribute in field
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("darling"))
        {
            // Other values, such as those of `default`, end the attribute.
            let _ = attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    renamed = Some(meta.value()?.parse::<LitStr>()?.value());
                }
                Ok(())
            });
        }
        renamed.unwrap_or_else(|| field.ident.as_ref().unwrap().to_string())
    }

    /// Returns the keys that kube-derive accepts, by its source.
    fn keys_of_kube_derive() -> BTreeSet<String> {
        let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let rustc = Command::new("rustc").arg("-vV").output().unwrap();
        let rustc = String::from_utf8(rustc.stdout).unwrap();
        let host = rustc
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .unwrap();
        // Packages of other platforms need not be there.
        let metadata = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked", "--offline"])
            .args(["--filter-platform", host])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        let metadata = String::from_utf8(metadata.stdout).unwrap();
        let is_manifest = |text: &&str| text.contains("kube-derive") && text.ends_with("Cargo.toml");
        let manifest = metadata.split('"').find(is_manifest).unwrap();
        let source = Path::new(manifest).with_file_name("src/custom_resource/attrs/mod.rs");
        let file = syn::parse_file(&fs::read_to_string(source).unwrap()).unwrap();
        let attributes = file.items.iter().find_map(|item| match item {
            Item::Struct(item) if item.ident == "KubeAttrs" => Some(item),
            _ => None,
        });
        attributes.unwrap().fields.iter().map(key).collect()
    }

    #[test]
    fn every_key_of_kube_derive_is_of_the_types_or_of_the_definition() {
        let known = TYPE_KEYS.iter().chain(&DEFINITION_KEYS).map(ToString::to_string);
        assert_eq!(
            keys_of_kube_derive(),
            known.collect(),
            "decide for each new key whether the definition without a schema has it: TYPE_KEYS or DEFINITION_KEYS"
        );
    }
}
