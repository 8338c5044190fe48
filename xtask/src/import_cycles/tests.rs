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
            "mod a; mod b; mod c; pub use a::{A, inner::B as Renamed}; pub(crate) use self::c::*;",
        ),
        ("a.rs", "use crate::b::C;"),
        ("b.rs", "fn f(_: crate::Renamed) {}"),
        ("c.rs", "use crate::A;"),
    ];
    assert_eq!(cycles_of(&files), [["a", "b"]]);
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
