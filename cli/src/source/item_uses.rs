//! Where a file uses items and modules of the project. Names are resolved by the project's modules and the file's imports, as `kind_renaming`
//! does: an item of another crate may have the same name.

use std::collections::BTreeSet;

use super::{
    imported_names::{ImportedNames, ProjectItems},
    insertion::SourceText,
    tokens::{Name, Scope},
};

/// Returns the lines that use one of the items. A text that does not parse has none: rustc reports it.
pub fn item_lines(text: &str, project: ProjectItems<'_>, items: &BTreeSet<String>) -> Vec<usize> {
    lines(text, project, &|name, imports| {
        items.contains(&name.ident.to_string()) && imports.is_own_item(name, false)
    })
}

/// Returns the lines that name the module `module` of the module `parent`; with no parent, of any module of the project. A text that does not
/// parse has none: rustc reports it.
pub fn module_lines(text: &str, project: ProjectItems<'_>, parent: Option<&str>, module: &str) -> Vec<usize> {
    lines(text, project, &|name, imports| {
        if name.ident != module {
            return false;
        }
        if let Some(is_selected) = imports.is_selected_module(name) {
            return is_selected;
        }
        let is_own = match name.path {
            [] => true,
            // A glob may import the parent.
            [parent] if imports.imported(&parent.to_string()).is_none() => true,
            path => imports.is_own_path(path),
        };
        parent.is_none_or(|parent| name.parent.is_some_and(|found| found == parent)) && is_own
    })
}

/// Returns the lines with a path that begins with the name of a module, of which neither the project's modules nor the file's imports tell
/// whether it is the project's.
pub fn undecided_lines(text: &str, project: ProjectItems<'_>, module: &str) -> Vec<usize> {
    lines(text, project, &|name, imports| {
        name.ident == module && imports.is_undecided_module(name)
    })
}

fn lines(
    text: &str,
    project: ProjectItems<'_>,
    is_wanted: &dyn Fn(&Name<'_>, &ImportedNames<'_>) -> bool,
) -> Vec<usize> {
    let Ok(source) = SourceText::parse(text) else {
        return Vec::new();
    };
    let imports = ImportedNames::of(&source.file, project);
    let variants = imports.variant_starts(&source);
    let mut lines = Vec::new();
    Scope::default().visit(source.tokens(), &mut |name| {
        let start = source.range(name.ident).start;
        if !variants.contains(&start) && is_wanted(name, &imports) {
            lines.push(source.line(start));
        }
    });
    lines.dedup();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: ProjectItems<'static> = ProjectItems::of("shop");
    const IMPORTED: ProjectItems<'static> = ProjectItems {
        with_imported: true,
        ..SHOP
    };

    #[test]
    fn items_are_those_of_the_project() {
        let lines = |text: &str, project| item_lines(text, project, &BTreeSet::from(["Bar".to_owned()]));
        for (text, own, with_imported) in [
            (
                "use crate::api::bar::Bar;\nfn f(_: Bar) {}\n// Bar\n",
                vec![1, 2],
                vec![1, 2],
            ),
            ("use k8s::Bar;\nfn f(_: Bar, _: shop::Bar) {}\n", vec![2], vec![2]),
            ("struct Bar;\nfn f(_: Bar) {}\n", vec![], vec![]),
            ("use k8s::*;\nfn f(_: Bar) {}\n", vec![], vec![]),
            (
                "use k8s::*;\nuse super::*;\nfn f(_: Bar) { x!(E::Bar) }\nenum E {\nBar }\n",
                vec![3],
                vec![3],
            ),
            (
                "use crate::api::imported::x::Bar;\nfn f(_: Bar) {}\n",
                vec![],
                vec![1, 2],
            ),
            ("use k8s::imported::Bar;\nfn f(_: Bar) {}\n", vec![], vec![]),
            ("use crate::{\n", vec![], vec![]),
        ] {
            assert_eq!(
                (lines(text, SHOP), lines(text, IMPORTED)),
                (own, with_imported),
                "{text}"
            );
        }
    }

    #[test]
    fn modules_are_those_of_the_project() {
        let text = "use crate::api::{\n    bar::v1alpha1,\n    foo::{v1, v1alpha1},\n};\nfn f() {\n    x!(crate::api::foo::v1alpha1::Foo);\n    \
                    k8s::v1::v1alpha1::A { foo: v1alpha1 };\n}\nuse k8s::foo::v1alpha1;\n";
        assert_eq!(module_lines(text, SHOP, Some("foo"), "v1alpha1"), [3, 6]);
        assert_eq!(module_lines(text, SHOP, None, "v1alpha1"), [2, 3, 6, 7]);
        assert!(module_lines(text, SHOP, Some("foo"), "v2").is_empty());
        let text = "use k8s_openapi::api::core::v1;\nfn f(_: api::core::Core) {}\n";
        assert_eq!(module_lines(text, SHOP, Some("api"), "core"), [2]);
        let foreign = text.to_owned() + "use k8s_openapi::api;\n";
        assert!(module_lines(&foreign, SHOP, Some("api"), "core").is_empty());
    }
}
