use super::*;
use crate::source::{declare_module, export_in_prelude, export_type, import_type, register};

const SHOP: ProjectItems<'static> = ProjectItems::of("shop");

/// What the insertions write is removed again, and nothing else.
#[test]
fn removal_inverts_insertion() {
    type Edit = fn(&str) -> Result<String, InsertError>;
    let api: (Edit, Edit) = (
        |text| export_in_prelude(&declare_module(text, "bar")?, "bar"),
        |text| remove_module(text, "bar"),
    );
    let controllers: (Edit, Edit) = (
        |text| export_type(&declare_module(text, "bar")?, "bar", "BarController"),
        |text| remove_module(text, "bar"),
    );
    let main: (Edit, Edit) = (
        |text| {
            register(
                &import_type(text, "shop::controllers", "BarController")?,
                "BarController",
            )
        },
        |text| unregister(text, SHOP, "BarController"),
    );
    for ((insert, remove), text) in [
        (
            api,
            "//! Doc.\n\npub mod foo;\n\n/// All.\npub mod prelude {\n    pub use super::foo::*;\n}\n",
        ),
        (api, "pub mod prelude {}\n"),
        (
            api,
            "// Mine.\npub mod a; // A\npub mod zoo;\n\npub mod prelude {\n    // Z\n    pub use super::zoo::*;\n}",
        ),
        (controllers, "//! Doc.\n"),
        (controllers, "//! Doc.\n\npub mod foo; // foo\n"),
        (
            controllers,
            "//! Doc.\n\npub mod foo;\n\npub use foo::FooController;\n",
        ),
        (
            controllers,
            "pub mod foo;\npub use foo::FooController;\n\nfn helper() {}\n",
        ),
        (main, "fn main() { Manager::from_args(\"a\").run() }"),
        (
            main,
            "use a::B;\n\nfn main() {\n    M::from_args(\"a\")\n        .register(F::register) // F\n        .run()\n}\n",
        ),
        (
            main,
            "use shop::controllers::FooController;\nfn main() { let m = from_args(); m.register(F::register).run() }\n",
        ),
    ] {
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let inserted = insert(&text).unwrap();
            assert_ne!(inserted, text);
            assert_eq!(remove(&inserted).unwrap(), text, "{inserted}");
            assert_eq!(remove(&text).unwrap(), text);
        }
    }
}

#[test]
fn imports_are_removed_from_groups() {
    for (before, after) in [
        (
            "use shop::{BarController, FooController};\n",
            "use shop::{FooController};\n",
        ),
        (
            "use shop::{FooController, BarController};\n",
            "use shop::{FooController};\n",
        ),
        (
            "use shop::{\n    b::{BarController},\n    c,\n};\n",
            "use shop::{\n    c,\n};\n",
        ),
        (
            "use a::b; use crate::BarController; use a::c;\n",
            "use a::b; use a::c;\n",
        ),
        (
            "use shop::BarController as Bar;\n",
            "use shop::BarController as Bar;\n",
        ),
        ("use shop::{BarController,};\nfn f() {}\n", "fn f() {}\n"),
        ("use theirs::BarController;\n", "use theirs::BarController;\n"),
    ] {
        assert_eq!(unregister(before, SHOP, "BarController").unwrap(), after);
    }
    let text = "mod bar;\npub use self::bar::{A, B};\nuse {bar::C, foo::D};\nmod foo;\n";
    assert_eq!(remove_module(text, "bar").unwrap(), "use {foo::D};\nmod foo;\n");
    assert_eq!(
        remove_module("mod prelude {\n    pub use super::{bar::*, foo::*};\n}\n", "bar").unwrap(),
        "mod prelude {\n    pub use super::{foo::*};\n}\n"
    );
}

#[test]
fn registrations_are_removed_with_their_statement() {
    let text = "fn main() {\n    let mut m = from_args();\n    // Bar.\n    m.register(shop::x::BarController::register);\n    m.register(F::register);\n}\n";
    assert_eq!(
        unregister(text, SHOP, "BarController").unwrap(),
        text.replace("    m.register(shop::x::BarController::register);\n", "")
    );
}

#[test]
fn foreign_registrations_stay() {
    let ours = "    m.register(shop::controllers::BarController::register);\n";
    for import in [
        "use theirs::BarController;",
        "use theirs::*;",
        "struct BarController;",
    ] {
        let text = format!("{import}\nfn main() {{\n    m.register(BarController::register);\n{ours}}}\n");
        assert_eq!(
            unregister(&text, SHOP, "BarController").unwrap(),
            text.replace(ours, "")
        );
    }
}
