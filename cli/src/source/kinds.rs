//! Finds the kinds that a file defines.

use syn::{
    Attribute, File, ItemStruct, LitStr,
    meta::ParseNestedMeta,
    visit::{self, Visit},
};

/// A struct with `#[kube(group = …, version = …, kind = …)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedKind {
    /// The API group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// Returns all kinds of a file.
pub fn kinds(file: &File) -> Vec<DefinedKind> {
    struct KindVisitor(Vec<DefinedKind>);
    impl<'ast> Visit<'ast> for KindVisitor {
        fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
            self.0.extend(kind(&item.attrs));
            visit::visit_item_struct(self, item);
        }
    }
    let mut visitor = KindVisitor(Vec::new());
    visitor.visit_file(file);
    visitor.0
}

fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<Option<String>> {
    Ok(Some(meta.value()?.parse::<LitStr>()?.value()))
}

fn kind(attributes: &[Attribute]) -> Option<DefinedKind> {
    let (mut group, mut version, mut kind) = (None, None, None);
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("kube"))
    {
        // Ignore errors: kube-derive reports them.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("group") {
                group = text(&meta)?;
            } else if meta.path.is_ident("version") {
                version = text(&meta)?;
            } else if meta.path.is_ident("kind") {
                kind = text(&meta)?;
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            } else if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<proc_macro2::TokenStream>()?;
            }
            Ok(())
        });
    }
    Some(DefinedKind {
        group: group?,
        version: version?,
        kind: kind?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kube_attributes() {
        let file = syn::parse_file(
            r#"
            #[derive(CustomResource)]
            #[kube(namespaced, printcolumn(name = "A", json_path = ".a"), group = "demo.dev", version = "v1")]
            #[kube(kind = "Foo", scale = r"{}")]
            pub struct FooSpec {}
            pub struct Other {}
            mod inner { #[kube(group = "a.b", version = "v2", kind = "Bar")] struct BarSpec; }
            "#,
        )
        .unwrap();
        let names: Vec<_> = kinds(&file)
            .iter()
            .map(|k| format!("{}/{} {}", k.group, k.version, k.kind))
            .collect();
        assert_eq!(names, ["demo.dev/v1 Foo", "a.b/v2 Bar"]);
    }
}
