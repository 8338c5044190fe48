//! Finds fields whose type is an `Option` in an `Option`.

use syn::{
    Attribute, Expr, Field, File, GenericArgument, Ident, ItemEnum, ItemMod, ItemStruct, PathArguments,
    Token, Type,
    spanned::Spanned as _,
    visit::{self, Visit},
};

/// A field of type `Option<Option<T>>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NestedOption {
    /// The struct or enum.
    pub parent: String,
    /// The field.
    pub name: String,
    /// The line of the field, from 1.
    pub line: usize,
}

/// Returns the fields of types that derive `JsonSchema`, but for those of tests, and those that have another schema or none.
pub fn nested_options(file: &File) -> Vec<NestedOption> {
    #[derive(Default)]
    struct FieldVisitor(Vec<NestedOption>);
    impl FieldVisitor {
        fn add<'f>(&mut self, parent: &Ident, fields: impl IntoIterator<Item = &'f Field>) {
            let nested = fields
                .into_iter()
                .filter(|field| is_nested_option(&field.ty) && !has_other_schema(field));
            self.0.extend(nested.map(|field| NestedOption {
                parent: parent.to_string(),
                name: field.ident.as_ref().map(ToString::to_string).unwrap_or_default(),
                line: field.ty.span().start().line,
            }));
        }
    }
    impl<'ast> Visit<'ast> for FieldVisitor {
        fn visit_item_mod(&mut self, module: &'ast ItemMod) {
            if !is_conditional(&module.attrs) {
                visit::visit_item_mod(self, module);
            }
        }

        fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
            if derives_schema(&item.attrs) && !is_conditional(&item.attrs) {
                self.add(&item.ident, &item.fields);
            }
        }

        fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
            if derives_schema(&item.attrs) && !is_conditional(&item.attrs) {
                self.add(
                    &item.ident,
                    item.variants.iter().flat_map(|variant| &variant.fields),
                );
            }
        }
    }
    let mut visitor = FieldVisitor::default();
    visitor.visit_file(file);
    visitor.0
}

/// Whether the item exists in some builds only, such as those of tests.
fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg"))
}

/// Whether an attribute of the field leaves it out of the schema, or gives it another one.
fn has_other_schema(field: &Field) -> bool {
    let is_of_schema = |attribute: &&Attribute| {
        ["serde", "schemars"]
            .iter()
            .any(|name| attribute.path().is_ident(name))
    };
    field.attrs.iter().filter(is_of_schema).any(|attribute| {
        let mut found = false;
        // Ignore errors: rustc reports them.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= ["skip", "with", "schema_with"]
                .iter()
                .any(|name| meta.path.is_ident(name));
            if meta.input.peek(Token![=]) {
                meta.value()?.parse::<Expr>()?;
            }
            Ok(())
        });
        found
    })
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
            struct B { two: Option<Option<u8>> }
            #[derive(JsonSchema)]
            enum C {
                Some { two: Option<Option<u8>> },
            }
            #[derive(JsonSchema)]
            struct D {
                #[serde(default = \"none\", skip)]
                skipped: Option<Option<u8>>,
                #[schemars(schema_with = \"any\")]
                other: Option<Option<u8>>,
            }
            #[cfg(test)]
            mod tests {
                #[derive(JsonSchema)]
                struct A { two: Option<Option<u8>> }
            }";
        let found = nested_options(&syn::parse_file(text).unwrap());
        assert_eq!(
            found,
            [("A", 5), ("C", 12)].map(|(parent, line)| NestedOption {
                parent: parent.into(),
                name: "two".into(),
                line
            })
        );
    }
}
