//! Finds the kinds that a project's files define.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use syn::{
    File, ImplItem, Item, ItemImpl, ItemMod, ItemStruct, LitStr, Type, Visibility,
    visit::{self, Visit},
};

use super::{
    SourceFile,
    attributes::{derives, is_conditional, is_external, kube_entries, kube_literals},
};
use crate::plan::slashed;

/// A struct with `#[kube(group = …, version = …, kind = …)]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedKind {
    /// The API group.
    pub group: String,
    /// The version within the group.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The line of the struct's name.
    pub line: usize,
    /// Whether the objects are namespaced.
    pub namespaced: bool,
    /// The names of the spec's fields.
    pub fields: Vec<String>,
    /// Whether the operator can register it: it derives `Informer`, and its CRD belongs to this project.
    pub is_own: bool,
    /// Whether it derives `Informer`.
    pub has_informer: bool,
}

/// A kind and the file that defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectKind {
    /// Relative to the project.
    pub path: PathBuf,
    /// The kind.
    pub kind: DefinedKind,
}

impl ProjectKind {
    /// Returns the file and the line of the definition, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", slashed(&self.path), self.kind.line)
    }
}

/// Returns all kinds that the files define.
pub fn project_kinds(files: &[SourceFile]) -> Vec<ProjectKind> {
    let of_file = |file: &SourceFile| {
        let path = file.path.clone();
        kinds(&file.syntax).into_iter().map(move |kind| ProjectKind {
            path: path.clone(),
            kind,
        })
    };
    files.iter().flat_map(of_file).collect()
}

/// Returns the kinds that a text defines. One that does not parse has none.
pub fn defined_kinds(text: &str) -> Vec<DefinedKind> {
    syn::parse_file(text).map_or_else(|_| Vec::new(), |file| kinds(&file))
}

/// Returns the file and line of a struct that the files define outside of inline modules.
pub fn defined_type<'a>(files: &'a [SourceFile], name: &str) -> Option<(&'a Path, usize)> {
    files.iter().find_map(|file| {
        let structs = file.syntax.items.iter().filter_map(|item| match item {
            Item::Struct(item) => Some(&item.ident),
            _ => None,
        });
        let found = structs.into_iter().find(|ident| *ident == name)?;
        Some((file.path.as_path(), found.span().start().line))
    })
}

/// Returns the files and lines of all structs and enums of a name that the files define outside of inline modules.
pub fn types_named<'a>(files: &'a [SourceFile], name: &str) -> Vec<(&'a Path, usize)> {
    let types = files.iter().flat_map(|file| {
        let idents = file.syntax.items.iter().filter_map(|item| match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            _ => None,
        });
        idents.map(|ident| (file.path.as_path(), ident))
    });
    let named = types.filter(|(_, ident)| *ident == name);
    named
        .map(|(path, ident)| (path, ident.span().start().line))
        .collect()
}

/// Returns the names that other files can use of a file's items, with those that the derives add to its kinds.
pub fn visible_names(file: &File) -> BTreeSet<String> {
    let visible = file.items.iter().filter_map(|item| match item {
        Item::Const(item) => Some((&item.vis, &item.ident)),
        Item::Enum(item) => Some((&item.vis, &item.ident)),
        Item::Fn(item) => Some((&item.vis, &item.sig.ident)),
        Item::Static(item) => Some((&item.vis, &item.ident)),
        Item::Struct(item) => Some((&item.vis, &item.ident)),
        Item::Trait(item) => Some((&item.vis, &item.ident)),
        Item::Type(item) => Some((&item.vis, &item.ident)),
        _ => None,
    });
    let visible = visible.filter(|(visibility, _)| !matches!(visibility, Visibility::Inherited));
    let derived = kinds(file).into_iter().flat_map(|DefinedKind { kind, .. }| {
        ["", "Client", "Informer", "Informers", "Lister"].map(|suffix| format!("{kind}{suffix}"))
    });
    visible.map(|(_, name)| name.to_string()).chain(derived).collect()
}

/// Returns all kinds of a file.
fn kinds(file: &File) -> Vec<DefinedKind> {
    struct KindVisitor(Vec<DefinedKind>);
    impl<'ast> Visit<'ast> for KindVisitor {
        fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
            self.0.extend(kind(item));
            visit::visit_item_struct(self, item);
        }

        fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
            self.0.extend(resource(item));
            visit::visit_item_impl(self, item);
        }

        fn visit_item_mod(&mut self, item: &'ast ItemMod) {
            let before = self.0.len();
            visit::visit_item_mod(self, item);
            // The build may leave the module out, as one of tests.
            if is_conditional(&item.attrs) {
                self.0[before..].iter_mut().for_each(|kind| kind.is_own = false);
            }
        }
    }
    let mut visitor = KindVisitor(Vec::new());
    visitor.visit_file(file);
    visitor.0
}

pub(super) fn kind(item: &ItemStruct) -> Option<DefinedKind> {
    let literals = kube_literals(&item.attrs);
    let text = |key: &str| {
        let mut found = literals.iter().filter(|(name, _)| name == key);
        Some(found.next_back()?.1.value())
    };
    Some(DefinedKind {
        group: text("group")?,
        version: text("version")?,
        kind: text("kind")?,
        line: item.ident.span().start().line,
        namespaced: kube_entries(&item.attrs)
            .iter()
            .any(|(key, _)| key == "namespaced"),
        fields: item
            .fields
            .iter()
            .filter_map(|field| Some(field.ident.as_ref()?.to_string()))
            .collect(),
        has_informer: derives(&item.attrs, "Informer"),
        is_own: derives(&item.attrs, "Informer") && !is_external(&item.attrs) && !is_conditional(&item.attrs),
    })
}

/// Returns the kind of an `impl Resource for Foo`, whose methods return literals, as `kubewright import` writes it.
fn resource(item: &ItemImpl) -> Option<DefinedKind> {
    struct FirstText(Option<String>);
    impl<'ast> Visit<'ast> for FirstText {
        fn visit_lit_str(&mut self, text: &'ast LitStr) {
            self.0.get_or_insert_with(|| text.value());
        }
    }
    let (of_trait, _) = item.trait_.as_ref()?;
    let Type::Path(ty) = &*item.self_ty else {
        return None;
    };
    if of_trait.segments.last()?.ident != "Resource" {
        return None;
    }
    let text = |method: &str| {
        let methods = item.items.iter().filter_map(|item| match item {
            ImplItem::Fn(item) => Some(item),
            _ => None,
        });
        let method = methods.into_iter().find(|found| found.sig.ident == method)?;
        let mut first = FirstText(None);
        first.visit_block(&method.block);
        first.0
    };
    let namespaced = item.items.iter().any(|item| match item {
        ImplItem::Type(item) if item.ident == "Scope" => match &item.ty {
            Type::Path(scope) => scope
                .path
                .segments
                .last()
                .is_some_and(|last| last.ident == "NamespaceResourceScope"),
            _ => false,
        },
        _ => false,
    });
    Some(DefinedKind {
        group: text("group")?,
        version: text("version")?,
        kind: text("kind")?,
        line: ty.path.segments.last()?.ident.span().start().line,
        namespaced,
        fields: Vec::new(),
        is_own: false,
        has_informer: false,
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
            pub struct FooSpec { size: i32 }
            pub struct Other {}
            mod inner { #[kube(group = "a.b", version = "v2", kind = "Bar")] struct BarSpec; }
            "#,
        )
        .unwrap();
        let kinds = kinds(&file);
        let names: Vec<_> = kinds
            .iter()
            .map(|k| format!("{}/{} {} in line {}", k.group, k.version, k.kind, k.line))
            .collect();
        assert_eq!(names, ["demo.dev/v1 Foo in line 5", "a.b/v2 Bar in line 7"]);
        assert_eq!(
            (kinds[0].namespaced, &*kinds[0].fields),
            (true, &["size".to_owned()][..])
        );
        assert_eq!((kinds[1].namespaced, &*kinds[1].fields), (false, &[][..]));
    }

    #[test]
    fn own_kinds_derive_informer_and_are_always_compiled() {
        let kube = r#"#[kube(group = "demo.dev", version = "v1", kind = "Foo")]"#;
        for (attributes, expected) in [
            ("#[derive(Clone, Informer)]", true),
            (
                "#[derive(kubewright::Informer)] #[informer(index(a = \"spec.a\"), sensitive)]",
                true,
            ),
            ("#[derive(CustomResource)]", false),
            (
                "#[derive(Informer)] #[informer(index(a: String = \"spec.a\"), external)]",
                false,
            ),
            ("#[cfg(test)] #[derive(Informer)]", false),
        ] {
            let file = syn::parse_file(&format!("{attributes} {kube} struct FooSpec;")).unwrap();
            assert_eq!(kinds(&file)[0].is_own, expected, "{attributes}");
        }
        let in_tests = format!("#[cfg(test)] mod tests {{ #[derive(Informer)] {kube} struct FooSpec; }}");
        assert!(!kinds(&syn::parse_file(&in_tests).unwrap())[0].is_own);
    }
}
