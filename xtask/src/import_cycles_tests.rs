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
    cycles(&imports(source(files).path()).unwrap())
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
fn super_is_the_crate_only_in_a_top_level_file() {
    let files = [
        ("a/mod.rs", "use super::b;"),
        ("b/mod.rs", "mod a; mod c;"),
        ("b/c.rs", "use super::a;"),
    ];
    assert_eq!(cycles_of(&files), Vec::<Vec<String>>::new());
}
