//! The validated model of an apply configuration.

use darling::{Error, FromAttributes, FromDeriveInput, Result, error::Accumulator};
use proc_macro2::Span;
use quote::format_ident;
use syn::{
    Attribute, Data, DeriveInput, ExprPath, Field, Fields, GenericArgument, Ident, LitStr, Meta, Path,
    PathArguments, Type, TypePath, Visibility, parse_quote, spanned::Spanned,
};

use crate::attrs::{AppliedFieldAttrs, ApplyAttrs, KubeAttrs, SerdeKeys};

/// The keys of `#[serde(…)]` with which a struct's JSON does not consist of its fields.
const KEYS_OF_WHOLE_TYPES: [&str; 6] = ["from", "try_from", "into", "remote", "transparent", "tag"];

/// A struct whose fields are applied.
pub(crate) struct AppliedStruct {
    /// Path of the kubewright crate.
    pub(crate) krate: Path,
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    /// The struct of optional fields.
    pub(crate) apply: Ident,
    /// Keys of `#[serde(…)]` that both structs have.
    pub(crate) serde: Vec<Meta>,
    pub(crate) fields: Vec<AppliedField>,
    /// The kind, if the struct is the spec of one.
    pub(crate) kind: Option<AppliedKind>,
}

/// A field that is applied.
pub(crate) struct AppliedField {
    pub(crate) vis: Visibility,
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    /// Keys of `#[serde(…)]` that its field has, too.
    pub(crate) serde: Vec<Meta>,
    /// The module with which serde reads and writes the value within `Option`.
    pub(crate) with: Option<LitStr>,
    pub(crate) is_flattened: bool,
    /// Whether the type is an `Option`, of which `ty` is the inside.
    pub(crate) is_optional: bool,
    /// The function of `skip_serializing_if`.
    pub(crate) skip_if: Option<ExprPath>,
    pub(crate) ty: AppliedValue,
}

/// The type of a value.
pub(crate) enum AppliedValue {
    /// Applied as a whole.
    Whole(Type),
    /// Applied by fields, with the struct `apply`.
    Nested { ty: Type, apply: Path },
    /// A container of the standard library; `path` with the type of its values, which is the last argument.
    Container {
        container: Container,
        path: TypePath,
        values: Box<AppliedValue>,
    },
}

/// A container of the standard library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Option,
    Vec,
    Box,
    Map,
}

/// The kind of a spec.
pub(crate) struct AppliedKind {
    pub(crate) root: Ident,
    /// The alias of the whole object's intent.
    pub(crate) alias: Ident,
    /// The status with its struct of optional fields.
    pub(crate) status: Option<(Path, Path)>,
}

impl AppliedStruct {
    /// Reads and validates the attributes, and reports every error. A field with an error is left out.
    pub(crate) fn of(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        if !input.generics.params.is_empty() {
            let message = "a type of a custom resource that is applied cannot have generic parameters";
            errors.push(Error::custom(message).with_span(&input.generics));
            return None;
        }
        let serde = SerdeKeys::of(&input.attrs);
        let whole = match &input.data {
            Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => {
                serde.find(&KEYS_OF_WHOLE_TYPES).map(Spanned::span)
            }
            _ => Some(input.ident.span()),
        };
        if let Some(span) = whole {
            let message = "`ApplyConfiguration` is derived for a struct whose JSON consists of its named fields: fields of another type \
                           are applied as a whole, without it";
            errors.push(Error::custom(message).with_span(&span));
            return None;
        }
        let attrs = errors.handle(ApplyAttrs::from_derive_input(input))?;
        let Data::Struct(data) = &input.data else {
            return None;
        };
        let fields = data.fields.iter();
        Some(Self {
            krate: attrs.krate.unwrap_or_else(|| parse_quote!(::kubewright)),
            vis: input.vis.clone(),
            ident: input.ident.clone(),
            apply: format_ident!("{}Apply", input.ident),
            serde: serde.named(&["rename_all"]).cloned().collect(),
            fields: fields
                .filter_map(|field| errors.handle(applied_field(field)).flatten())
                .collect(),
            kind: errors.handle(applied_kind(input)).flatten(),
        })
    }
}

/// Returns the kind. Errors in `#[kube(…)]` are those of other derives.
fn applied_kind(input: &DeriveInput) -> Result<Option<AppliedKind>> {
    let Ok(kube) = KubeAttrs::read(input) else {
        return Ok(None);
    };
    if kube.no_spec {
        let message = "a kind with `no_spec` has no apply configuration: remove `no_spec`, or derive `ApplyConfiguration` only for the types of its fields";
        return Err(Error::custom(message).with_span(&input.ident));
    }
    let name = kube.root.as_ref().unwrap_or(&kube.kind);
    let root = syn::parse_str::<Ident>(name).ok();
    Ok(root.map(|mut root| {
        root.set_span(name.span().resolved_at(Span::call_site()));
        AppliedKind {
            alias: format_ident!("{root}Apply"),
            root,
            status: kube.status.map(|status| (status.clone(), apply_path(status))),
        }
    }))
}

/// Returns none if the field is not applied.
fn applied_field(field: &Field) -> Result<Option<AppliedField>> {
    let attrs = AppliedFieldAttrs::from_attributes(&field.attrs)?;
    let serde = SerdeKeys::of(&field.attrs);
    let (Some(ident), None) = (&field.ident, serde.find(&["skip", "skip_serializing"])) else {
        return Ok(None);
    };
    if attrs.skip {
        return Ok(None);
    }
    if let (Some(_), None) = (
        serde.find(&["with", "serialize_with", "deserialize_with"]),
        &attrs.with,
    ) {
        let message = format!(
            "serde reads or writes `{ident}` with a function: add `#[apply(with = \"module\")]`, whose functions `serialize` and \
             `deserialize` are for the field's type within `Option`, or `#[apply(skip)]`, which leaves the field out"
        );
        return Err(Error::custom(message).with_span(ident));
    }
    let (is_optional, ty) = match AppliedValue::of(&field.ty, attrs.nested) {
        AppliedValue::Container {
            container: Container::Option,
            values,
            ..
        } => (true, *values),
        ty => (false, ty),
    };
    Ok(Some(AppliedField {
        vis: field.vis.clone(),
        ident: ident.clone(),
        docs: field
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("doc"))
            .cloned()
            .collect(),
        serde: serde.named(&["rename", "alias", "flatten"]).cloned().collect(),
        with: attrs.with,
        is_flattened: serde.find(&["flatten"]).is_some(),
        is_optional,
        skip_if: serde.skip_serializing_if(),
        ty,
    }))
}

impl AppliedField {
    /// Whether the field is not an `Option` there: serde would read each flattened struct or map as present.
    pub(crate) fn is_plain(&self) -> bool {
        let is_map = matches!(
            self.ty,
            AppliedValue::Container {
                container: Container::Map,
                ..
            }
        );
        self.is_flattened && (is_map || self.ty.is_nested())
    }
}

impl AppliedValue {
    fn of(ty: &Type, is_nested: bool) -> Self {
        let path = match ty {
            // A type from a `macro_rules!` macro.
            Type::Group(group) => return Self::of(&group.elem, is_nested),
            Type::Path(path) if path.qself.is_none() => path,
            _ => return Self::Whole(ty.clone()),
        };
        match container(path) {
            Some((container, values)) => Self::Container {
                container,
                path: path.clone(),
                values: Box::new(Self::of(values, is_nested)),
            },
            None if is_nested => Self::Nested {
                ty: ty.clone(),
                apply: apply_path(path.path.clone()),
            },
            None => Self::Whole(ty.clone()),
        }
    }

    /// Whether its values, or those in the containers, are applied by fields.
    pub(crate) fn is_nested(&self) -> bool {
        match self {
            Self::Whole(_) => false,
            Self::Nested { .. } => true,
            Self::Container { values, .. } => values.is_nested(),
        }
    }
}

/// Returns the path of a type's struct of optional fields.
fn apply_path(mut path: Path) -> Path {
    if let Some(last) = path.segments.last_mut() {
        last.ident = format_ident!("{}Apply", last.ident);
    }
    path
}

/// Returns the container with the type of its values.
fn container(path: &TypePath) -> Option<(Container, &Type)> {
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    let container = match (last.ident.to_string().as_str(), arguments.args.len()) {
        ("Option", 1) => Container::Option,
        ("Vec", 1) => Container::Vec,
        ("Box", 1) => Container::Box,
        ("BTreeMap" | "HashMap", 2) => Container::Map,
        _ => return None,
    };
    match arguments.args.last()? {
        GenericArgument::Type(values) => Some((container, values)),
        _ => None,
    }
}
