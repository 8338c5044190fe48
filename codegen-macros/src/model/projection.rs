//! What is known of a projection.

use darling::{Error, FromDeriveInput, FromField, Result, error::Accumulator};
use syn::{Data, DeriveInput, Field, Fields, Ident, LitStr, Path, Type, ext::IdentExt, parse_quote};

use crate::{
    attrs::{ProjectionAttrs, ShownAttrs, renamed},
    path::{JsonPath, Segment},
    path_tree::{Conflict, PathTree},
    value_type,
};

/// A struct that shows values of a kind's objects.
pub(crate) struct Projection {
    /// Where kubewright is.
    pub(crate) krate: Path,
    pub(crate) ident: Ident,
    /// The kind; none when there was a mistake.
    pub(crate) of: Option<Path>,
    /// None when there was a mistake.
    pub(crate) content: Option<Content>,
}

/// What a projection shows.
pub(crate) struct Content {
    pub(crate) fields: Vec<Shown>,
    /// The paths of the fields, numbered in their order.
    pub(crate) tree: PathTree,
}

/// A field, and where its value is.
pub(crate) struct Shown {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) path: LitStr,
    pub(crate) values: Values,
}

/// How many values a field shows.
pub(crate) enum Values {
    /// One, at a path without `[*]`.
    One {
        /// Whether the default of its type stands for a missing one.
        default: bool,
    },
    /// One of each element; a `Vec` of this type.
    Each {
        element: Box<Type>,
        /// Whether an element without the value has a place, too.
        keeps_missing: bool,
    },
}

/// More are not told apart when an object is read.
const MOST_FIELDS: usize = 128;

impl Projection {
    /// Reads the attributes and checks them; reports every mistake that it finds. None where no code could be right.
    pub(crate) fn of(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        if !input.generics.params.is_empty() {
            let message = "a projection has no generic parameters: its values are owned, each of one type";
            errors.push(Error::custom(message).with_span(&input.generics));
            return None;
        }
        let attrs = errors.handle(ProjectionAttrs::from_derive_input(input));
        let krate = attrs.as_ref().and_then(|attrs| attrs.krate.clone());
        let of = attrs.and_then(|attrs| errors.handle(kind(attrs, input)));
        let fields = errors.handle(named_fields(input));
        let content = fields.and_then(|fields| {
            let (count, fields) = (fields.len(), fields.iter());
            let fields: Vec<_> = fields.filter_map(|field| errors.handle(shown(field))).collect();
            let tree = tree(&fields, errors);
            (fields.len() == count).then_some((fields, tree?))
        });
        Some(Self {
            krate: krate.unwrap_or_else(|| parse_quote!(::kubewright)),
            ident: input.ident.clone(),
            of,
            content: content.map(|(fields, tree)| Content {
                fields: fields.into_iter().map(|(shown, _)| shown).collect(),
                tree,
            }),
        })
    }
}

fn kind(attrs: ProjectionAttrs, input: &DeriveInput) -> Result<Path> {
    attrs.of.ok_or_else(|| {
        let message = "a projection shows objects of a kind: name it, as in `#[projection(of = Pod)]`";
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
        Fields::Named(fields) if fields.named.len() > MOST_FIELDS => error(format!(
            "a projection has no more than {MOST_FIELDS} fields: show the object that some of the values are in as one"
        )),
        Fields::Named(fields) if !fields.named.is_empty() => Ok(fields.named.iter().collect()),
        _ => error(
            "a projection is a struct with a named field for each value, as in \
             `{ #[projection(path = \"spec.nodeName\")] node: Option<String> }`"
                .into(),
        ),
    }
}

fn shown(field: &Field) -> Result<(Shown, JsonPath)> {
    let ShownAttrs {
        ident,
        ty,
        path: text,
        default,
    } = ShownAttrs::from_field(field)?;
    let ident = ident.ok_or_else(|| Error::custom("the field has no name").with_span(field))?;
    let text = text.ok_or_else(|| no_path(&ident))?;
    let path =
        JsonPath::parse(&text.value()).map_err(|malformed| Error::custom(malformed).with_span(&text))?;
    let start: Vec<_> = path.leading_fields().take(2).collect();
    if start == ["metadata", "managedFields"] {
        return Err(Error::custom("the cache does not keep `metadata.managedFields`").with_span(&text));
    }
    let values = if path.0.contains(&Segment::Each) {
        each(&ty)?
    } else {
        Values::One { default }
    };
    let shown = Shown {
        ident,
        ty,
        path: text,
        values,
    };
    Ok((shown, path))
}

fn no_path(ident: &Ident) -> Error {
    let name = ident.unraw().to_string();
    let json = renamed(&name, "camelCase").unwrap_or_default();
    let message = format!(
        "it is not said where the value of `{name}` is: write `#[projection(path = \"…\")]` with its path from the object's root, \
         perhaps `spec.{json}`"
    );
    Error::custom(message).with_span(ident)
}

fn each(ty: &Type) -> Result<Values> {
    let Some(element) = value_type::of_vec(ty) else {
        let message = "a path with `[*]` leads to a value in each element of a list: the field is a `Vec<…>` of them, empty where \
                       there is no list";
        return Err(Error::custom(message).with_span(ty));
    };
    let optional = value_type::of_option(element);
    Ok(Values::Each {
        element: Box::new(optional.unwrap_or(element).clone()),
        keeps_missing: optional.is_some(),
    })
}

/// The tree of the paths; none when two of them conflict.
fn tree(fields: &[(Shown, JsonPath)], errors: &mut Accumulator) -> Option<PathTree> {
    let mut tree = PathTree::new();
    let mut is_whole = true;
    for (number, (shown, path)) in fields.iter().enumerate() {
        let inserted = tree.insert(&path.0, number);
        let inserted = inserted.map_err(|conflict| conflicting(&conflict, shown, fields));
        is_whole &= errors.handle(inserted).is_some();
    }
    is_whole.then_some(tree)
}

fn conflicting(conflict: &Conflict, shown: &Shown, fields: &[(Shown, JsonPath)]) -> Error {
    let path = shown.path.value();
    let other = |number: usize| {
        let (other, _) = &fields[number];
        (other.ident.unraw(), other.path.value())
    };
    let message = match conflict {
        Conflict::Overlap(number) => {
            let (field, other) = other(*number);
            format!("`{path}` and `{other}`, which `{field}` shows, have a value in common: show it once")
        }
        Conflict::ObjectAndList(number) => {
            let (field, other) = other(*number);
            format!(
                "`{path}` and `{other}`, which `{field}` shows, take the same value for a list and for an object"
            )
        }
    };
    Error::custom(message).with_span(&shown.path)
}

#[cfg(test)]
mod tests {
    use darling::Error;

    use super::Projection;

    #[test]
    fn more_fields_than_can_be_told_apart_are_refused() {
        for (count, expected) in [
            (128, None),
            (
                129,
                Some(
                    "a projection has no more than 128 fields: show the object that some of the values are in as one",
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
