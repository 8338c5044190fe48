//! Types of index values, from the attribute or inferred from a field, and types of projected lists.

use darling::{Error, Result};
use quote::ToTokens;
use syn::{GenericArgument, Ident, Path, PathArguments, Type};

/// The type of an index's values.
pub(crate) enum ValueType {
    String,
    Bool,
    /// An integer type that fits into an `i64`.
    Integer(Ident),
    /// An enum that serde writes as a string.
    Enum(Path),
}

/// The kinds of types that an index distinguishes.
enum TypeShape<'a> {
    /// The type of one value.
    Value(ValueType),
    /// An integer type that does not fit into an `i64`.
    WideInteger,
    Option(&'a Type),
    Vec(&'a Type),
    /// Floats, references, tuples…
    Other,
}

impl ValueType {
    /// Validates the type in `index(name: Type = …)`.
    pub(crate) fn from_annotation(ty: &Type) -> Result<Self> {
        let refused = |message: &str| Err(Error::custom(message).with_span(ty));
        match type_shape(ty) {
            TypeShape::Value(value) => Ok(value),
            TypeShape::WideInteger => {
                refused("the integers of an index are signed with 64 bits: write `i64`")
            }
            TypeShape::Option(_) => refused("absent values are not indexed: write the type without `Option`"),
            TypeShape::Vec(_) => {
                refused("an index has single values: write the type of an element, and `[*]` in the path")
            }
            TypeShape::Other => refused(
                "the type of an index must be `String`, `bool`, an integer, or the path of an enum that serde writes as a string",
            ),
        }
    }

    /// Infers the type of the values of a field of type `ty`, below `lists` levels of `[*]`. The error says what to write instead and
    /// has no span; `declare` formats the index with a type.
    pub(crate) fn infer_from_field(
        ty: &Type,
        path: &str,
        lists: usize,
        declare: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let (mut ty, mut left) = (ty, lists);
        let refused = |message: String| Err(Error::custom(message));
        loop {
            match (type_shape(ty), left) {
                (TypeShape::Option(inner), _) => ty = inner,
                (TypeShape::Vec(_), 0) => return refused(format!("`{path}` is a list: write `{path}[*]`")),
                (TypeShape::Vec(inner), _) => (ty, left) = (inner, left - 1),
                (TypeShape::Value(ValueType::Enum(name)), 0) => {
                    let name = name.to_token_stream().to_string().replace(' ', "");
                    return refused(format!(
                        "`{path}` is a `{name}`: if serde writes it as a string, write {}",
                        declare(&name)
                    ));
                }
                (TypeShape::Value(value), 0) => return Ok(value),
                (TypeShape::WideInteger, 0) => {
                    let declared = declare("i64");
                    return refused(format!(
                        "the integers of an index are signed with 64 bits: write {declared}"
                    ));
                }
                (TypeShape::Other, 0) => {
                    return refused(format!(
                        "cannot infer the type of the values at `{path}`: if they are strings, booleans or integers, write the \
                         type, as in {}",
                        declare("String")
                    ));
                }
                (_, _) => {
                    let declared = declare("String");
                    return refused(format!(
                        "`{path}` is not known to be a list: remove `[*]`, or write the type of its elements, as in {declared}"
                    ));
                }
            }
        }
    }
}

/// Returns `T` if the type is written as `Vec<T>`.
pub(crate) fn vec_element(ty: &Type) -> Option<&Type> {
    match type_shape(ty) {
        TypeShape::Vec(element) => Some(element),
        _ => None,
    }
}

/// Returns `T` if the type is written as `Option<T>`.
pub(crate) fn option_inner(ty: &Type) -> Option<&Type> {
    match type_shape(ty) {
        TypeShape::Option(inner) => Some(inner),
        _ => None,
    }
}

/// Returns the type inside of `Option`, `Vec`, `Box` and the values of maps; none if it is a type of the standard library without
/// parameters, or refers to `Self`.
pub(crate) fn nested_type(ty: &Type) -> Option<&Type> {
    let shape = type_shape(ty);
    match shape {
        TypeShape::Option(inner) | TypeShape::Vec(inner) => return nested_type(inner),
        TypeShape::Value(ValueType::Enum(_)) | TypeShape::Other => {}
        TypeShape::Value(_) | TypeShape::WideInteger => return None,
    }
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        let unchecked = ["Self", "str", "char", "f32", "f64"]
            .iter()
            .any(|name| path.path.is_ident(name));
        return (!unchecked && path.qself.is_none()).then_some(ty);
    };
    let mut types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    match last.ident.to_string().as_str() {
        "Box" => nested_type(types.next()?),
        "BTreeMap" | "HashMap" => nested_type(types.nth(1)?),
        _ => None,
    }
}

fn type_shape(ty: &Type) -> TypeShape<'_> {
    let path = match ty {
        // A type from a `macro_rules!` macro.
        Type::Group(group) => return type_shape(&group.elem),
        Type::Path(path) if path.qself.is_none() => &path.path,
        _ => return TypeShape::Other,
    };
    let Some(last) = path.segments.last() else {
        return TypeShape::Other;
    };
    let is_std = path.segments.len() == 1
        || ["std", "core", "alloc"]
            .iter()
            .any(|root| path.segments[0].ident == root);
    let name = last.ident.to_string();
    if let Some(inner) = only_argument(&last.arguments) {
        return match name.as_str() {
            "Option" if is_std => TypeShape::Option(inner),
            "Vec" if is_std => TypeShape::Vec(inner),
            _ => TypeShape::Other,
        };
    }
    if path.segments.iter().any(|segment| !segment.arguments.is_none()) {
        return TypeShape::Other;
    }
    match name.as_str() {
        "String" if is_std => TypeShape::Value(ValueType::String),
        "bool" if is_std => TypeShape::Value(ValueType::Bool),
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" if is_std => {
            TypeShape::Value(ValueType::Integer(last.ident.clone()))
        }
        "u64" | "u128" | "usize" | "i128" | "isize" if is_std => TypeShape::WideInteger,
        "f32" | "f64" | "char" | "str" | "Option" | "Vec" if is_std => TypeShape::Other,
        _ => TypeShape::Value(ValueType::Enum(path.clone())),
    }
}

/// Returns `T` of `<T>`.
fn only_argument(arguments: &PathArguments) -> Option<&Type> {
    match arguments {
        PathArguments::AngleBracketed(arguments) if arguments.args.len() == 1 => match &arguments.args[0] {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}
