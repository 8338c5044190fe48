//! The types of values: of an index, as the attribute writes them or as a field of the struct has them; of a projection's lists.

use darling::{Error, Result};
use quote::ToTokens;
use syn::{GenericArgument, Ident, Path, PathArguments, Type};

/// What the values of an index are.
pub(crate) enum ValueType {
    String,
    Bool,
    /// An integer that an `i64` holds.
    Integer(Ident),
    /// An enum that serde writes as a string.
    Enum(Path),
}

/// What a type is to an index.
enum Shape<'a> {
    /// The type of one value.
    Value(ValueType),
    /// An integer that an `i64` does not hold.
    WideInteger,
    Option(&'a Type),
    Vec(&'a Type),
    /// Floats, references, tuples…
    Other,
}

impl ValueType {
    /// The type that stands in `index(name: Type = …)`.
    pub(crate) fn written(ty: &Type) -> Result<Self> {
        let refused = |message: &str| Err(Error::custom(message).with_span(ty));
        match shape(ty) {
            Shape::Value(value) => Ok(value),
            Shape::WideInteger => {
                refused("the integers of an index are signed and have 64 bits: write `i64`")
            }
            Shape::Option(_) => {
                refused("absent values are not indexed: write the type inside of the `Option`")
            }
            Shape::Vec(_) => {
                refused("an index finds single values: write the type of an element, and `[*]` in the path")
            }
            Shape::Other => refused(
                "the type of an index is `String`, `bool`, an integer, or the path of an enum that serde writes as a string",
            ),
        }
    }

    /// The type of the values that a field of type `ty` has, behind `lists` times `[*]`. The error says what to do instead, without a
    /// span; `declare` writes the index with a type.
    pub(crate) fn of_field(
        ty: &Type,
        path: &str,
        lists: usize,
        declare: impl Fn(&str) -> String,
    ) -> Result<Self> {
        let (mut ty, mut left) = (ty, lists);
        let refused = |message: String| Err(Error::custom(message));
        loop {
            match (shape(ty), left) {
                (Shape::Option(inner), _) => ty = inner,
                (Shape::Vec(_), 0) => return refused(format!("`{path}` is a list: write `{path}[*]`")),
                (Shape::Vec(inner), _) => (ty, left) = (inner, left - 1),
                (Shape::Value(ValueType::Enum(name)), 0) => {
                    let name = name.to_token_stream().to_string().replace(' ', "");
                    return refused(format!(
                        "`{path}` is a `{name}`: if serde writes that as a string, write {}",
                        declare(&name)
                    ));
                }
                (Shape::Value(value), 0) => return Ok(value),
                (Shape::WideInteger, 0) => {
                    let declared = declare("i64");
                    return refused(format!(
                        "the integers of an index are signed and have 64 bits: write {declared}"
                    ));
                }
                (Shape::Other, 0) => {
                    return refused(format!(
                        "the type of `{path}` does not say what its values are: if they are strings, booleans or integers, write \
                         their type, as in {}",
                        declare("String")
                    ));
                }
                (_, _) => {
                    let declared = declare("String");
                    return refused(format!(
                        "`{path}` is no list that is known here: leave out `[*]`, or write the type of its elements, as in {declared}"
                    ));
                }
            }
        }
    }
}

/// `T` of a `Vec<T>`, where the type is written as one.
pub(crate) fn of_vec(ty: &Type) -> Option<&Type> {
    match shape(ty) {
        Shape::Vec(element) => Some(element),
        _ => None,
    }
}

/// `T` of an `Option<T>`, where the type is written as one.
pub(crate) fn of_option(ty: &Type) -> Option<&Type> {
    match shape(ty) {
        Shape::Option(inner) => Some(inner),
        _ => None,
    }
}

fn shape(ty: &Type) -> Shape<'_> {
    let path = match ty {
        // A type that came through a `macro_rules!` macro.
        Type::Group(group) => return shape(&group.elem),
        Type::Path(path) if path.qself.is_none() => &path.path,
        _ => return Shape::Other,
    };
    let Some(last) = path.segments.last() else {
        return Shape::Other;
    };
    let is_std = path.segments.len() == 1
        || ["std", "core", "alloc"]
            .iter()
            .any(|root| path.segments[0].ident == root);
    let name = last.ident.to_string();
    if let Some(inner) = only_argument(&last.arguments) {
        return match name.as_str() {
            "Option" if is_std => Shape::Option(inner),
            "Vec" if is_std => Shape::Vec(inner),
            _ => Shape::Other,
        };
    }
    if path.segments.iter().any(|segment| !segment.arguments.is_none()) {
        return Shape::Other;
    }
    match name.as_str() {
        "String" if is_std => Shape::Value(ValueType::String),
        "bool" if is_std => Shape::Value(ValueType::Bool),
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" if is_std => {
            Shape::Value(ValueType::Integer(last.ident.clone()))
        }
        "u64" | "u128" | "usize" | "i128" | "isize" if is_std => Shape::WideInteger,
        "f32" | "f64" | "char" | "str" | "Option" | "Vec" if is_std => Shape::Other,
        _ => Shape::Value(ValueType::Enum(path.clone())),
    }
}

/// `T` of `<T>`.
fn only_argument(arguments: &PathArguments) -> Option<&Type> {
    match arguments {
        PathArguments::AngleBracketed(arguments) if arguments.args.len() == 1 => match &arguments.args[0] {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}
