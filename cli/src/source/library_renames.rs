//! Renames items of a library in the code that uses it, where the syntax tree shows that the library's item is meant.

use syn::{Item, visit::Visit};

use super::{InsertError, insertion::SourceText, items::flatten, tokens::visit_names};

/// An item of the library with another name.
#[derive(Debug, Clone, Copy)]
pub struct Rename<'a> {
    /// The name before.
    pub old: &'a str,
    /// The name now.
    pub new: &'a str,
    /// What is before the name in a path: modules that export it, or the type of a variant or function.
    pub parents: &'a [&'a str],
}

/// A text with renamed items.
#[derive(Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The text.
    pub text: String,
    /// Lines with the old name where another item may be meant.
    pub undecided: Vec<usize>,
}

/// Renames an item in paths that name one of its parents, and alone where the file imports it from the library `krate`. Elsewhere the name
/// alone is undecided, unless the file defines an item of that name.
pub fn rename_item(text: &str, krate: &str, rename: &Rename<'_>) -> Result<Renamed, InsertError> {
    let source = SourceText::parse(text)?;
    let mut names = FileNames {
        krate,
        rename,
        is_imported: false,
        is_foreign: false,
    };
    names.visit_file(&source.file);
    let (mut edits, mut undecided) = (Vec::new(), Vec::new());
    visit_names(source.tokens(), &mut |ident, parent| {
        if ident != rename.old {
            return;
        }
        let range = source.range(ident);
        match parent {
            Some(parent) if rename.parents.iter().any(|known| parent == known) => {
                edits.push((range, rename.new.to_owned()));
            }
            // Of another module or type.
            Some(_) => {}
            // Variants and functions of types are named alone only after an import of their own.
            None if names.is_foreign || !is_type_name(rename.old) => {}
            None if names.is_imported => edits.push((range, rename.new.to_owned())),
            None => undecided.push(source.line(range.start)),
        }
    });
    undecided.dedup();
    Ok(Renamed {
        text: source.replace(edits),
        undecided,
    })
}

/// Whether the name alone, without the path of a type, may be the item.
fn is_type_name(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

/// What the name means in a file.
struct FileNames<'a> {
    krate: &'a str,
    rename: &'a Rename<'a>,
    /// Imported from the library.
    is_imported: bool,
    /// Defined here, or imported from elsewhere.
    is_foreign: bool,
}

impl<'ast> Visit<'ast> for FileNames<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let defined = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        self.is_foreign |= defined.is_some_and(|ident| ident == self.rename.old);
        syn::visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&import.tree, "", &mut paths);
        for path in paths {
            let is_of_library = path.starts_with(&format!("{}::", self.krate));
            let is_named = path.rsplit("::").next() == Some(self.rename.old);
            let mut modules = self.rename.parents.iter();
            let is_glob = modules.any(|module| path.ends_with(&format!("{module}::*")));
            if is_of_library && (is_named || is_glob) {
                self.is_imported = true;
            } else if is_named {
                self.is_foreign = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Rename<'_> = Rename {
        old: "ObjectName",
        new: "NamespacedName",
        parents: &["kubewright", "prelude"],
    };

    fn renamed(text: &str, rename: &Rename<'_>) -> (String, Vec<usize>) {
        let Renamed { text, undecided } = rename_item(text, "kubewright", rename).unwrap();
        (text, undecided)
    }

    #[test]
    fn items_of_the_library_are_renamed_and_other_bytes_are_kept() {
        let cases = [
            "use kubewright::{Kind, ObjectName};\r\nfn f(name: &ObjectName) -> X { x!(ObjectName::new()) } // ObjectName\r\n",
            "use kubewright::prelude::*;\nstruct A { name: ObjectName }\n",
            "fn f(a: kubewright::ObjectName, b: kubewright::prelude::ObjectName) {}\n",
            "mod tests { use kubewright::ObjectName; fn f(a: ObjectName) {} }\n",
        ];
        for text in cases {
            let expected = text
                .replace("ObjectName", "NamespacedName")
                .replace("// NamespacedName", "// ObjectName");
            assert_eq!(renamed(text, &NAME), (expected, vec![]));
        }
    }

    #[test]
    fn items_of_others_are_kept() {
        for text in [
            "struct ObjectName;\nfn f(name: ObjectName) {}\n",
            "use mine::ObjectName;\nfn f(name: ObjectName) {}\n",
            "use kubewright::prelude::*;\nuse mine::ObjectName;\nfn f(name: ObjectName) {}\n",
            "fn f(name: mine::ObjectName) { g(\"ObjectName\") }\n",
        ] {
            assert_eq!(renamed(text, &NAME), (text.to_owned(), vec![]));
        }
    }

    #[test]
    fn name_of_unknown_origin_is_undecided() {
        let text = "use super::*;\n\nfn f(name: ObjectName) {}\n";
        assert_eq!(renamed(text, &NAME), (text.to_owned(), vec![3]));
        assert!(rename_item("fn", "kubewright", &NAME).is_err());
    }

    #[test]
    fn variants_and_functions_are_renamed_after_their_type() {
        let rename = |old, new| Rename {
            old,
            new,
            parents: &["Action"],
        };
        let text = "fn f() -> Action { if done() { Action::done() } else { kubewright::controller::Action::done() } }\n";
        let expected = "fn f() -> Action { if done() { Action::await_change() } else { kubewright::controller::Action::await_change() } }\n";
        assert_eq!(
            renamed(text, &rename("done", "await_change")),
            (expected.to_owned(), vec![])
        );
        let text = "match a { Action::Again => Other::Again }\n";
        let text = format!("fn f() {{ {text} }}");
        let expected = text.replace("Action::Again", "Action::Requeue");
        assert_eq!(renamed(&text, &rename("Again", "Requeue")), (expected, vec![]));
    }
}
