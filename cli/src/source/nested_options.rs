//! Finds fields whose type is an `Option` in an `Option`.

use syn::{
    Attribute, Field, File, GenericArgument, ItemStruct, PathArguments, Type,
    spanned::Spanned as _,
    visit::{self, Visit},
};

/// A field of type `Option<Option<T>>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedOption {
    /// The struct.
    pub parent: String,
    /// The field.
    pub name: String,
    /// The line of the field, from 1.
    pub line: usize,
}

/// Returns the fields of structs that derive `JsonSchema`.
pub fn nested_options(file: &File) -> Vec<NestedOption> {
    struct FieldVisitor(Vec<NestedOption>);
    impl<'ast> Visit<'ast> for FieldVisitor {
        fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
            if derives_schema(&item.attrs) {
                let fields = item.fields.iter().filter(|field| is_nested_option(&field.ty));
                self.0.extend(fields.map(|field| nested_option(item, field)));
            }
            visit::visit_item_struct(self, item);
        }
    }
    let mut visitor = FieldVisitor(Vec::new());
    visitor.visit_file(file);
    visitor.0
}

fn nested_option(item: &ItemStruct, field: &Field) -> NestedOption {
    NestedOption {
        parent: item.ident.to_string(),
        name: field.ident.as_ref().map(ToString::to_string).unwrap_or_default(),
        line: field.ty.span().start().line,
    }
}

fn derives_schema(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
        .any(|derive| {
            let mut found = false;
            // Ignore errors: rustc reports them.
            let _ = derive.parse_nested_meta(|meta| {
                found |= meta
                    .path
                    .segments
                    .last()
                    .is_some_and(|segment| segment.ident == "JsonSchema");
                Ok(())
            });
            found
        })
}

fn is_nested_option(ty: &Type) -> bool {
    option_argument(ty).and_then(option_argument).is_some()
}

/// Returns T of `Option<T>`.
fn option_argument(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path
        .path
        .segments
        .last()
        .filter(|segment| segment.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_of_schemas_are_found() {
        let text = "
            #[derive(Clone, schemars::JsonSchema)]
            struct A {
                one: Option<String>,
                two: Option<std::option::Option<u8>>,
                list: Option<Vec<Option<u8>>>,
            }
            #[derive(Clone)]
            struct B { two: Option<Option<u8>> }";
        let found = nested_options(&syn::parse_file(text).unwrap());
        assert_eq!(
            found,
            [NestedOption {
                parent: "A".into(),
                name: "two".into(),
                line: 5
            }]
        );
    }
}
