//! The validated model of a projection.

use darling::{Error, FromDeriveInput, FromField, Result, error::Accumulator};
use syn::{Data, DeriveInput, Field, Fields, Ident, LitStr, Path, Type, ext::IdentExt, parse_quote};

use crate::{
    attrs::{ProjectedFieldAttrs, ProjectionAttrs, renamed},
    path::{JsonPath, Segment},
    path_tree::{PathConflict, PathTree},
    value_type,
};

/// A struct with selected values of a kind's objects.
pub(crate) struct Projection {
    /// Path of the kubewright crate.
    pub(crate) krate: Path,
    pub(crate) ident: Ident,
    /// The kind; none after an error.
    pub(crate) of: Option<Path>,
    /// The fields; none after an error.
    pub(crate) content: Option<ProjectionContent>,
}

/// The fields of a projection.
pub(crate) struct ProjectionContent {
    pub(crate) fields: Vec<ProjectedField>,
    /// The paths of the fields, by index of the field.
    pub(crate) tree: PathTree,
}

/// A field and its path.
pub(crate) struct ProjectedField {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) path: LitStr,
    pub(crate) values: Cardinality,
}

/// Whether a field has one value, or one per list element.
pub(crate) enum Cardinality {
    /// One value: the path has no `[*]`.
    One {
        /// Whether a missing value becomes the default of its type.
        default: bool,
    },
    /// One value per list element, in a `Vec`.
    Each {
        /// The type of the values.
        element: Box<Type>,
        /// Whether elements without the value become `None`; otherwise they are left out.
        keeps_missing: bool,
    },
}

/// Most fields: the runtime tracks the fields of an object in a 128-bit set.
const MAX_FIELDS: usize = 128;

impl Projection {
    /// Reads and validates the attributes, and reports every error. None if no valid code can be generated.
    pub(crate) fn of(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        if !input.generics.params.is_empty() {
            let message = "a projection cannot have generic parameters: its values are owned";
            errors.push(Error::custom(message).with_span(&input.generics));
            return None;
        }
        let attrs = errors.handle(ProjectionAttrs::from_derive_input(input));
        let krate = attrs.as_ref().and_then(|attrs| attrs.krate.clone());
        let of = attrs.and_then(|attrs| errors.handle(kind(attrs, input)));
        let fields = errors.handle(named_fields(input));
        let content = fields.and_then(|fields| {
            let (count, fields) = (fields.len(), fields.iter());
            let fields: Vec<_> = fields
                .filter_map(|field| errors.handle(projected_field(field)))
                .collect();
            let tree = tree(&fields, errors);
            (fields.len() == count).then_some((fields, tree?))
        });
        Some(Self {
            krate: krate.unwrap_or_else(|| parse_quote!(::kubewright)),
            ident: input.ident.clone(),
            of,
            content: content.map(|(fields, tree)| ProjectionContent {
                fields: fields.into_iter().map(|(field, _)| field).collect(),
                tree,
            }),
        })
    }
}

fn kind(attrs: ProjectionAttrs, input: &DeriveInput) -> Result<Path> {
    attrs.of.ok_or_else(|| {
        let message = "the projection has no kind: name it, as in `#[projection(of = Pod)]`";
        let attribute = input
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("projection"));
        match attribute {
            Some(attribute) => Error::custom(message).with_span(attribute.path()),
            None => Error::custom(message).with_span(&input.ident),
        }
    })
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>> {
    let error = |message: String| Err(Error::custom(message).with_span(&input.ident));
    let Data::Struct(data) = &input.data else {
        return error("`Projection` is derived for a struct, not for an enum or union".into());
    };
    match &data.fields {
        Fields::Named(fields) if fields.named.len() > MAX_FIELDS => error(format!(
            "a projection has at most {MAX_FIELDS} fields: replace several by one with the object that contains them"
        )),
        Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter().collect()),
        _ => error(
            "a projection needs named fields, one per value, as in \
             `{ #[projection(path = \"spec.nodeName\")] node: Option<String> }`"
                .into(),
        ),
    }
}

fn projected_field(field: &Field) -> Result<(ProjectedField, JsonPath)> {
    let ProjectedFieldAttrs {
        ident,
        ty,
        path: text,
        default,
    } = ProjectedFieldAttrs::from_field(field)?;
    let ident = ident.ok_or_else(|| Error::custom("the field has no name").with_span(field))?;
    let text = text.ok_or_else(|| missing_path(&ident))?;
    let path =
        JsonPath::parse(&text.value()).map_err(|malformed| Error::custom(malformed).with_span(&text))?;
    let start: Vec<_> = path.leading_fields().take(2).collect();
    if start == ["metadata", "managedFields"] {
        return Err(Error::custom("the cache does not keep `metadata.managedFields`").with_span(&text));
    }
    let values = if path.0.contains(&Segment::Each) {
        list_cardinality(&ty)?
    } else {
        Cardinality::One { default }
    };
    let field = ProjectedField {
        ident,
        ty,
        path: text,
        values,
    };
    Ok((field, path))
}

fn missing_path(ident: &Ident) -> Error {
    let name = ident.unraw().to_string();
    let json = renamed(&name, "camelCase").unwrap_or_default();
    let message = format!(
        "the field `{name}` has no path: add `#[projection(path = \"…\")]` with the path from the object's root, \
         perhaps `spec.{json}`"
    );
    Error::custom(message).with_span(ident)
}

fn list_cardinality(ty: &Type) -> Result<Cardinality> {
    let Some(element) = value_type::vec_element(ty) else {
        let message = "a path with `[*]` selects a value in each element of a list: declare the field as `Vec<…>`, which is empty \
                       without a list";
        return Err(Error::custom(message).with_span(ty));
    };
    let optional = value_type::option_inner(element);
    Ok(Cardinality::Each {
        element: Box::new(optional.unwrap_or(element).clone()),
        keeps_missing: optional.is_some(),
    })
}

/// Builds the tree of the paths; none if two of them conflict.
fn tree(fields: &[(ProjectedField, JsonPath)], errors: &mut Accumulator) -> Option<PathTree> {
    let mut tree = PathTree::new();
    let mut is_whole = true;
    for (number, (field, path)) in fields.iter().enumerate() {
        let inserted = tree.insert(&path.0, number);
        let inserted = inserted.map_err(|conflict| conflict_error(&conflict, field, fields));
        is_whole &= errors.handle(inserted).is_some();
    }
    is_whole.then_some(tree)
}

fn conflict_error(
    conflict: &PathConflict,
    field: &ProjectedField,
    fields: &[(ProjectedField, JsonPath)],
) -> Error {
    let path = field.path.value();
    let other = |number: usize| {
        let (other, _) = &fields[number];
        (other.ident.unraw(), other.path.value())
    };
    let message = match conflict {
        PathConflict::Overlap(number) => {
            let (field, other) = other(*number);
            format!("`{path}` overlaps with `{other}` of the field `{field}`: project each value once")
        }
        PathConflict::ObjectAndList(number) => {
            let (field, other) = other(*number);
            format!(
                "`{path}` and `{other}` of the field `{field}` treat the same value as a list and as an object"
            )
        }
    };
    Error::custom(message).with_span(&field.path)
}

#[cfg(test)]
mod tests {
    use darling::Error;

    use super::Projection;

    #[test]
    fn too_many_fields_are_refused() {
        for (count, expected) in [
            (128, None),
            (
                129,
                Some(
                    "a projection has at most 128 fields: replace several by one with the object that contains them",
                ),
            ),
        ] {
            let field = |number| format!("#[projection(path = \"data.f{number}\")] f{number}: String,");
            let fields: String = (0..count).map(field).collect();
            let many = format!("#[projection(of = ConfigMap)] struct Many {{ {fields} }}");
            let mut errors = Error::accumulator();
            let projection = Projection::of(&syn::parse_str(&many).unwrap(), &mut errors).unwrap();
            assert_eq!(projection.content.is_none(), expected.is_some());
            let error = errors.finish().err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
        }
    }
}
