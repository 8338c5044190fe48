use std::fs;

use super::*;

fn source(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn cycles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    cycles(&imports::of_folder(source(files).path()).unwrap())
}

#[test]
fn modules_that_import_each_other_are_a_cycle() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B;"),
        ("b/mod.rs", "mod inner;"),
        ("b/inner.rs", "fn f() { crate::c::g() }"),
        ("c.rs", "use super::{a, b};"),
    ];
    assert_eq!(cycles_of(&files), [["a", "b", "c"]]);
}

#[test]
fn imports_in_one_direction_are_no_cycle() {
    let files = [
        ("lib.rs", "use crate::a; mod a; mod b;"),
        ("a.rs", "use crate::{b::B, b};"),
        ("b.rs", "use serde::a;"),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
}

#[test]
fn tests_may_import_what_imports_them() {
    let files = [
        ("a.rs", "use crate::b;"),
        ("b.rs", "#[cfg(test)] mod tests { use crate::a; }"),
        ("b_tests.rs", "use crate::a;"),
        ("b/tests.rs", "use crate::a;"),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
}

#[test]
fn super_is_the_crate_only_as_often_as_the_module_is_deep() {
    let mut files = vec![
        ("a/mod.rs", "use super::b;"),
        ("b/mod.rs", "mod a; mod c;"),
        ("b/c.rs", "use super::a;"),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
    files.push(("b/d.rs", "mod inner { fn f() { super::super::super::a::g() } }"));
    assert_eq!(cycles_of(&files), [["a", "b"]]);
}

#[test]
fn names_that_the_root_re_exports_are_their_modules() {
    let files = [
        (
            "lib.rs",
            "mod a; mod b; mod c; pub use a::{A, inner::B as Renamed}; pub(crate) use self::c::C;",
        ),
        ("a.rs", "use crate::b::C;"),
        ("b.rs", "fn f(_: crate::Renamed) {}"),
        ("c.rs", "use crate::A;"),
    ];
    assert_eq!(cycles_of(&files), [["a", "b"]]);
}

#[test]
fn glob_re_exports_of_the_root_are_refused() {
    for import in [
        "pub use a::*;",
        "pub(crate) use crate::{a::{inner::*, A}};",
        "use self::a::*;",
    ] {
        let folder = source(&[("lib.rs", import), ("a.rs", "")]);
        let error = format!("{:#}", imports::of_folder(folder.path()).unwrap_err());
        let file = folder.path().join("lib.rs").display().to_string();
        assert!(
            error.starts_with(&file) && error.ends_with("name the items"),
            "{error}"
        );
    }
    let allowed = "pub use serde::*; #[cfg(test)] use a::*; #[cfg(test)] mod tests { use super::*; }";
    assert_eq!(
        cycles_of(&[("lib.rs", allowed), ("a.rs", "")]),
        Vec::<Vec<String>>::new()
    );
}

#[test]
fn items_of_the_root_do_not_hide_modules_of_their_name() {
    let files = [
        ("lib.rs", "mod a; mod b; pub fn a() {}"),
        ("a.rs", "use crate::b;"),
        ("b.rs", "fn f() { crate::a::g() }"),
    ];
    assert_eq!(cycles_of(&files), [["a", "b"]]);
}

#[test]
fn inline_modules_of_the_root_are_the_root() {
    let files = [
        ("lib.rs", "mod a; mod inner { use crate::a::A; }"),
        ("a.rs", "use crate::inner;"),
    ];
    assert_eq!(cycles_of(&files), [["a", "the crate root"]]);
}

#[test]
fn single_names_in_the_root_are_no_imports() {
    let files = [
        ("lib.rs", "mod a; pub struct Config; fn f(a: i32) -> i32 { a }"),
        ("a.rs", "use crate::Config;"),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
}

#[test]
fn items_for_tests_are_no_imports() {
    for item in [
        "const A: usize = crate::a::A;",
        "static A: usize = crate::a::A;",
        "struct A(crate::a::A);",
        "enum A { B(crate::a::A) }",
        "trait A: crate::a::A {}",
        "type A = crate::a::A;",
        "make!(crate::a::A);",
    ] {
        for condition in ["test", "all(unix, test)"] {
            let text = format!("#[cfg({condition})] {item}");
            let files = [("a.rs", "use crate::b;"), ("b.rs", &text)];
            assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new(), "{text}");
        }
        for condition in ["unix", "any(unix, test)", "not(test)"] {
            let text = format!("#[cfg({condition})] {item}");
            let files = [("a.rs", "use crate::b;"), ("b.rs", &text)];
            assert_eq!(cycles_of(&files), [["a", "b"]], "{text}");
        }
    }
    let files = [
        ("a.rs", "use crate::b;"),
        (
            "b.rs",
            "impl B { #[cfg(test)] fn f() { crate::a::g() } #[cfg(test)] const A: usize = crate::a::A; }",
        ),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
}

#[test]
fn what_the_root_defines_is_a_module_too() {
    let files = [
        ("lib.rs", "mod a; mod b; pub struct Config(b::B); pub use a::A;"),
        ("a.rs", "use crate::Config;"),
        ("b.rs", "use super::Config;"),
    ];
    assert_eq!(cycles_of(&files), [["b", "the crate root"]]);
}

#[test]
fn arguments_of_macros_are_read() {
    let files = [
        ("a.rs", "fn f() { vec![(1, crate::b::g())]; }"),
        ("b.rs", "fn g() { println!(\"{}\", super::a::f()) }"),
    ];
    assert_eq!(cycles_of(&files), [["a", "b"]]);
}
