//! The validated model of a kind: all that `expand` needs.

use std::collections::HashSet;

use darling::{Error, Result, error::Accumulator};
use proc_macro2::Span;
use syn::{DeriveInput, Ident, LitStr, Meta, Path, Visibility, ext::IdentExt, parse_quote};

use crate::{
    attrs::{Attrs, FieldAttrs, IndexEntry, KubeAttrs, SchemaMode, SpecSerde},
    names,
    path::{JsonPath, Segment},
    value_type::ValueType,
};

use super::spec_types::SpecTypes;

/// A custom kind.
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(crate) struct Model {
    /// Path of the kubewright crate.
    pub(crate) krate: Path,
    pub(crate) vis: Visibility,
    /// The type that kube-derive generates; prefix of the names that we generate.
    pub(crate) root: Ident,
    /// The method of the informer factory.
    pub(crate) method: Ident,
    /// Group, version and kind, for documentation.
    pub(crate) title: String,
    pub(crate) external: bool,
    pub(crate) sensitive: bool,
    pub(crate) has_status: bool,
    pub(crate) has_scale: bool,
    /// Whether the definition has a schema.
    pub(crate) has_schema: bool,
    /// The keys of `#[kube(…)]` that describe the definition without its schema and types.
    pub(crate) of_definition: Vec<Meta>,
    /// Whether its objects consist of spec and status.
    pub(crate) is_versioned: bool,
    pub(crate) indexes: Vec<Index>,
    pub(crate) spec_types: SpecTypes,
}

/// An index with its lister method.
pub(crate) struct Index {
    pub(crate) method: Ident,
    pub(crate) path: LitStr,
    pub(crate) value_type: ValueType,
}

impl Index {
    /// Returns the name of the index in the cache.
    pub(crate) fn name(&self) -> String {
        self.method.unraw().to_string()
    }
}

/// Methods of listers, which an index method must not shadow.
pub(crate) const LISTER_METHODS: [&str; 13] = [
    "get",
    "list",
    "select",
    "namespace",
    "by_index",
    "by_derived_index",
    "owned_by",
    "index_keys",
    "index_values",
    "indexes",
    "object",
    "clone",
    "deref",
];

impl Model {
    /// Reads and validates the attributes, and reports every error. Invalid indexes are left out; without a valid name there is
    /// no model.
    pub(crate) fn of(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let Attrs {
            kube,
            informer,
            serde,
        } = Attrs::read(input, errors)?;
        let root = match check_kind(&kube, informer.external) {
            Ok(()) => errors.handle(root(&kube)),
            // Its message may be the fix of an invalid name, too.
            Err(error) => {
                errors.push(error);
                root(&kube).ok()
            }
        };
        let method = errors.handle(factory_method(&kube));
        errors.handle(check_scale(&kube));
        let mut taken = HashSet::new();
        let indexes = informer
            .indexes()
            .filter_map(|entry| errors.handle(index(entry, &kube, &serde, input, &mut taken)))
            .collect();
        Some(Self {
            krate: informer
                .krate
                .clone()
                .unwrap_or_else(|| parse_quote!(::kubewright)),
            vis: input.vis.clone(),
            root: root?,
            method: method?,
            title: format!("{}/{} {}", *kube.group, *kube.version, *kube.kind),
            external: informer.external,
            sensitive: informer.sensitive,
            has_status: kube.has_status,
            has_scale: kube.scale.is_some(),
            has_schema: kube.schema != SchemaMode::Disabled,
            is_versioned: !kube.no_spec && kube.has_status == kube.status.is_some(),
            indexes,
            spec_types: SpecTypes::of(input, &kube, &informer, &serde),
            of_definition: kube.of_definition,
        })
    }
}

/// Returns the identifier of the root type. Its span points at the attribute and counts as macro code for lints.
fn root(kube: &KubeAttrs) -> Result<Ident> {
    let name = kube.root.as_ref().unwrap_or(&kube.kind);
    let invalid_name =
        |_| Error::custom(format!("`{}` is not a valid name of a Rust type", **name)).with_span(&name.span());
    let mut root: Ident = syn::parse_str(name).map_err(invalid_name)?;
    root.set_span(name.span().resolved_at(Span::call_site()));
    Ok(root)
}

/// Checks that the kind begins with a capital letter, as kinds do everywhere in Kubernetes. Those of other projects are as they are.
fn check_kind(kube: &KubeAttrs, external: bool) -> Result<()> {
    if external || !kube.kind.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Ok(());
    }
    let proposed = names::upper_camel(&kube.kind);
    let message = format!("kinds begin with a capital letter: write `kind = \"{proposed}\"`");
    Err(Error::custom(message).with_span(&kube.kind.span()))
}

fn factory_method(kube: &KubeAttrs) -> Result<Ident> {
    let plural = kube.plural.as_deref().cloned().unwrap_or_else(|| {
        let lowercase = || kube.kind.to_ascii_lowercase();
        names::plural(&kube.singular.clone().unwrap_or_else(lowercase))
    });
    names::identifier(&names::snake_plural(&kube.kind, &plural)).ok_or_else(|| {
        let span = kube.plural.as_ref().unwrap_or(&kube.kind).span();
        let message = format!(
            "the plural `{plural}` is not a valid method name for the informer factory: set `plural = \"…\"`"
        );
        Error::custom(message).with_span(&span)
    })
}

/// Checks that a scale subresource has a status: kube-derive generates subresources only with a status.
fn check_scale(kube: &KubeAttrs) -> Result<()> {
    match &kube.scale {
        Some(scale) if !kube.has_status => {
            let message =
                "a scale subresource needs a status, which has its replica count: add `status = \"…Status\"`";
            Err(Error::custom(message).with_span(&scale.span()))
        }
        _ => Ok(()),
    }
}

fn index(
    entry: &IndexEntry,
    kube: &KubeAttrs,
    serde: &SpecSerde,
    input: &DeriveInput,
    taken: &mut HashSet<String>,
) -> Result<Index> {
    let mut errors = Error::accumulator();
    let method = errors.handle(lister_method(entry, taken));
    let path = errors.handle(index_path(entry, kube));
    let value_type = match (&entry.value_type, &path) {
        (Some(ty), _) => errors.handle(ValueType::from_annotation(ty)),
        (None, Some(path)) => {
            let inferred = infer(entry, path, kube, serde, &input.ident);
            errors.handle(inferred.map_err(|error| error.with_span(&entry.path)))
        }
        (None, None) => None,
    };
    let index = Index {
        method: method.unwrap_or_else(|| entry.name.clone()),
        path: entry.path.clone(),
        value_type: value_type.unwrap_or(ValueType::String),
    };
    errors.finish_with(index)
}

fn lister_method(entry: &IndexEntry, taken: &mut HashSet<String>) -> Result<Ident> {
    let name = entry.name.unraw().to_string();
    let error = |message: String| Err(Error::custom(message).with_span(&entry.name));
    if LISTER_METHODS.contains(&name.as_str()) {
        return error(format!(
            "listers have a method `{name}`: give the index another name"
        ));
    }
    if !taken.insert(name.clone()) {
        return error(format!("duplicate index `{name}`: give it another name"));
    }
    names::raw_if_keyword(&entry.name).map_or_else(
        || {
            error(format!(
                "`{name}` is not a valid method name: give the index another name"
            ))
        },
        Ok,
    )
}

/// Parses the path and checks that it can have values.
fn index_path(entry: &IndexEntry, kube: &KubeAttrs) -> Result<JsonPath> {
    let text = entry.path.value();
    let error = |message: String| Err(Error::custom(message).with_span(&entry.path));
    let path = match JsonPath::parse(&text) {
        Ok(path) => path,
        Err(malformed) => return error(malformed.to_string()),
    };
    let start = {
        let mut fields = path.leading_fields();
        (fields.next(), fields.next())
    };
    match start {
        (Some("metadata"), Some("managedFields")) => {
            error("the cache does not keep `metadata.managedFields`".into())
        }
        (Some("status"), _) if !kube.has_status => error(format!(
            "`{}` has no status: add `status = \"…Status\"` to `#[kube(…)]`",
            *kube.kind
        )),
        (Some("spec"), _) if kube.no_spec => error(format!(
            "`{}` has no `spec`, its fields are at the root (`no_spec`): remove `spec.`",
            *kube.kind
        )),
        (Some("apiVersion" | "kind" | "metadata" | "spec" | "status"), _) => Ok(path),
        (Some(_), _) if kube.no_spec => Ok(path),
        _ => error(format!(
            "paths start at the object's root: write `spec.{text}`, or a path below `metadata` or `status`"
        )),
    }
}

/// Infers the type of the values at `path` from the struct's field. The error says what to write; it has no span.
fn infer(
    entry: &IndexEntry,
    path: &JsonPath,
    kube: &KubeAttrs,
    serde: &SpecSerde,
    spec: &Ident,
) -> Result<ValueType> {
    let text = entry.path.value();
    let declare = |ty: &str| format!("`index({}: {ty} = \"{text}\")`", entry.name);
    let unknown = |reason: &str| {
        Err(Error::custom(format!(
            "{reason}: write the type of its values, as in {}",
            declare("String")
        )))
    };
    let segments = match &path.0[..] {
        segments if kube.no_spec => segments,
        [Segment::Field(root), segments @ ..] if root == "spec" => segments,
        _ => return unknown(&format!("`{text}` is not in `{spec}`")),
    };
    let [Segment::Field(name), lists @ ..] = segments else {
        return unknown(&format!("`{text}` is not a field of `{spec}`"));
    };
    if lists.iter().any(|segment| *segment != Segment::Each) {
        return unknown(&format!("`{text}` is not a direct field of `{spec}`"));
    }
    if !serde.is_plain_struct() {
        return unknown(&format!("serde reads `{spec}` through another type"));
    }
    let field = match field(serde, name)? {
        Some(field) => field,
        None if serde.fields().any(|field| field.flatten.is_some()) => {
            return unknown(&format!("`{text}` may be in a flattened field of `{spec}`"));
        }
        None => return Err(no_such_field(serde, spec, name)),
    };
    if field.is_skipped() {
        return Err(Error::custom(format!(
            "serde skips `{name}`: it is not in the object's JSON"
        )));
    }
    if field.is_converted() {
        return unknown(&format!("serde reads `{name}` with a function"));
    }
    let path = text.trim_end_matches("[*]");
    ValueType::infer_from_field(&field.ty, path, lists.len(), declare)
}

/// Returns the field with that JSON name.
fn field<'a>(serde: &'a SpecSerde, name: &str) -> Result<Option<&'a FieldAttrs>> {
    for field in serde.fields().filter(|field| field.flatten.is_none()) {
        if serde.json_name(field)? == name {
            return Ok(Some(field));
        }
    }
    Ok(None)
}

fn no_such_field(serde: &SpecSerde, spec: &Ident, name: &str) -> Error {
    let fields: Vec<_> = serde
        .fields()
        .filter_map(|field| serde.json_name(field).ok())
        .collect();
    let alternatives: Vec<_> = fields.iter().map(String::as_str).collect();
    let error = Error::unknown_field_with_alts(name, &alternatives).to_string();
    let hint = error
        .split_once(". ")
        .map_or(String::new(), |(_, hint)| format!(". {hint}"));
    Error::custom(format!("`{spec}` has no field with the JSON name `{name}`{hint}"))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use syn::{ImplItem, Item, Visibility};

    use super::LISTER_METHODS;

    #[test]
    fn lister_methods_are_complete() {
        let lister = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/cache/lister.rs");
        let file = syn::parse_file(&fs::read_to_string(lister).unwrap()).unwrap();
        let of_lister = |item| match item {
            Item::Impl(item) if item.trait_.is_none() => match &*item.self_ty {
                syn::Type::Path(ty) if ty.path.segments.last()?.ident == "Lister" => Some(item.items),
                _ => None,
            },
            _ => None,
        };
        let public = |item| match item {
            ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
                Some(method.sig.ident.to_string())
            }
            _ => None,
        };
        let methods: Vec<_> = file
            .items
            .into_iter()
            .filter_map(of_lister)
            .flatten()
            .filter_map(public)
            .collect();
        assert!(methods.contains(&"get".to_owned()), "{methods:?}");
        for method in methods {
            assert!(
                LISTER_METHODS.contains(&method.as_str()),
                "`{method}` is not among LISTER_METHODS"
            );
        }
    }
}
