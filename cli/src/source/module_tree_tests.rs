use super::*;

/// A project with a kind in `api::bar`, and what each file has on top.
fn tree(files: &[(&str, &str)]) -> ModuleTree {
    let mut texts: BTreeMap<PathBuf, String> = [
        ("src/lib.rs", "pub mod api;\npub mod other;\n"),
        (
            "src/api/mod.rs",
            "pub mod bar;\npub mod prelude { pub use super::bar::*; }\n",
        ),
        ("src/api/bar.rs", "pub struct Bar;\n"),
        ("src/other.rs", ""),
        ("src/main.rs", ""),
    ]
    .into_iter()
    .map(|(path, text)| (path.into(), text.to_owned()))
    .collect();
    for (path, text) in files {
        texts.entry(path.into()).or_default().push_str(text);
    }
    ModuleTree::of(&texts, "shop")
}

fn segments(path: &str) -> Vec<String> {
    path.split("::").map(str::to_owned).collect()
}

/// Resolves a path in a file, or in an inline module of it.
#[track_caller]
fn resolve(files: &[(&str, &str)], file: &str, inline: &[&str], path: &str) -> Option<String> {
    let tree = tree(files);
    let mut module = tree.module_of(Path::new(file)).unwrap().to_vec();
    module.extend(inline.iter().map(|name| (*name).to_owned()));
    match tree.resolve(&module, &segments(path))? {
        Target::Module(module) => Some(module.join("::")),
        Target::Item(module, name) => Some(format!("{}.{name}", module.join("::"))),
    }
}

#[test]
fn paths_are_resolved_through_imports() {
    for (import, path, expected) in [
        ("use crate::api::*;", "bar", Some("shop::api::bar")),
        ("use crate::api::*;", "bar::Bar", Some("shop::api::bar.Bar")),
        (
            "use crate::api::{self as a, *};",
            "a::bar",
            Some("shop::api::bar"),
        ),
        (
            "use crate::api::{self as a, *};",
            "a::prelude::BarApply",
            Some("shop::api::bar.BarApply"),
        ),
        (
            "use super::api::prelude::*;",
            "Bar::new",
            Some("shop::api::bar.Bar"),
        ),
        ("use crate::api as things;", "things::bar", Some("shop::api::bar")),
        (
            "fn f() { use crate::api::bar as b; }",
            "b::Bar",
            Some("shop::api::bar.Bar"),
        ),
        // A name of another crate, an own one of the same name, and names that differ between functions.
        ("use k8s::*;", "bar::Bar", None),
        ("use crate::api::*; use k8s::bar;", "bar::Bar", None),
        ("use crate::api::*; mod bar {}", "bar", Some("shop::other::bar")),
        (
            "fn f() { use crate::api::bar; } fn g() { use k8s::bar; }",
            "bar",
            None,
        ),
        // A cycle.
        ("use self::a::*; mod a { pub use super::*; }", "bar", None),
    ] {
        let found = resolve(&[("src/other.rs", import)], "src/other.rs", &[], path);
        assert_eq!(found.as_deref(), expected, "{import} {path}");
    }
}

#[test]
fn modules_inherit_by_super() {
    let imports = "use crate::api::*;\nmod tests { use super::*; mod deep { use super::*; } }\n";
    for inline in [&["tests"][..], &["tests", "deep"]] {
        let found = resolve(&[("src/other.rs", imports)], "src/other.rs", inline, "bar::Bar");
        assert_eq!(found.as_deref(), Some("shop::api::bar.Bar"));
    }
    let files = [
        (
            "src/other.rs",
            "use crate::api::bar;\n#[path = \"other_tests.rs\"]\nmod tests;\n",
        ),
        ("src/other_tests.rs", "use super::*;\n"),
    ];
    let found = resolve(&files, "src/other_tests.rs", &[], "bar::Bar");
    assert_eq!(found.as_deref(), Some("shop::api::bar.Bar"));
}

#[test]
fn exports_are_followed_between_crates() {
    let files = [
        ("src/lib.rs", "pub use api::*;\npub use api::bar as things;\n"),
        ("tests/all.rs", "mod support;\nuse shop::*;\n"),
        ("tests/support/mod.rs", "use shop::api::bar::Bar as Thing;\n"),
    ];
    for (file, path, expected) in [
        ("src/other.rs", "crate::bar::Bar", "shop::api::bar.Bar"),
        ("src/other.rs", "crate::things", "shop::api::bar"),
        ("src/main.rs", "shop::bar", "shop::api::bar"),
        ("tests/all.rs", "bar::Bar", "shop::api::bar.Bar"),
        ("tests/all.rs", "things::Bar", "shop::api::bar.Bar"),
        ("tests/support/mod.rs", "Thing", "shop::api::bar.Bar"),
        ("tests/support/mod.rs", "super", "tests/all.rs"),
    ] {
        let found = resolve(&files, file, &[], path);
        assert_eq!(found.as_deref(), Some(expected), "{path}");
    }
}
