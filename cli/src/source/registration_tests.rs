use super::*;

const MODULE: &str = "//! Foo.

use kubewright::controller::Setup;

pub mod v1alpha1;
pub mod v1beta1;

pub use v1beta1::*;

pub fn register_versions(setup: &mut Setup) {
    setup
        .versions::<v1beta1::Foo>()
        .other::<v1alpha1::Foo>()
        // Rollback.
        .stored::<v1alpha1::Foo>();
}
";

fn registered(text: &str) -> RegisteredVersions {
    registered_versions(text, "Foo").unwrap().unwrap()
}

#[test]
fn versions_are_read_from_the_calls() {
    let expected = RegisteredVersions {
        hub: "v1beta1".to_owned(),
        others: vec!["v1alpha1".to_owned()],
        stored: Some("v1alpha1".to_owned()),
    };
    assert_eq!(registered(MODULE), expected);
    assert_eq!(registered_versions(MODULE, "Bar").unwrap(), None);
    let split = "fn f(s: &mut Setup) { let v = s.versions::<foo::v1::Foo>(); s.versions::<v2::Bar>().other::<v1::Bar>(); v.other::<foo::v2::Foo>(); }";
    let found = registered(split);
    assert_eq!((&*found.hub, found.others), ("v1", vec!["v2".to_owned()]));
}

#[test]
fn new_hub_keeps_the_stored_version() {
    let expected = MODULE
        .replace("pub mod v1alpha1;", "pub mod v1;\npub mod v1alpha1;")
        .replace("pub use v1beta1", "pub use v1")
        .replace(
            "<v1beta1::Foo>()",
            "<v1::Foo>()\n        .other::<v1beta1::Foo>()",
        );
    assert_eq!(add_hub(MODULE, "Foo", "v1").unwrap(), expected);

    // Where the hub was stored, it stays stored.
    let one = MODULE.replace(
        "\n        .other::<v1alpha1::Foo>()\n        // Rollback.\n        .stored::<v1alpha1::Foo>()",
        "",
    );
    let edited = add_hub(&one, "Foo", "v1").unwrap();
    let expected = RegisteredVersions {
        hub: "v1".to_owned(),
        others: vec!["v1beta1".to_owned()],
        stored: Some("v1beta1".to_owned()),
    };
    assert_eq!(registered(&edited), expected);
    assert!(
        edited.contains("// `kubewright migrate storage Foo` stores them in v1:"),
        "{edited}"
    );

    let error = add_hub("pub mod v1beta1;\n", "Foo", "v1").unwrap_err();
    assert!(
        error.to_string().contains("setup.versions::<v1::Foo>()"),
        "{error}"
    );
}

#[test]
fn removed_version_is_neither_registered_nor_declared() {
    let text = MODULE.replace("stored::<v1alpha1", "stored::<v1beta1");
    let edited = remove_version(&text, "Foo", "v1alpha1").unwrap();
    let expected = text
        .replace("pub mod v1alpha1;\n", "")
        .replace("\n        .other::<v1alpha1::Foo>()", "");
    assert_eq!(edited, expected);
}

#[test]
fn prelude_exports_the_hub_alone() {
    let prelude = |path: &str| {
        format!(
            "pub mod foo;\npub mod prelude {{\n    pub use super::bar::*;\n    pub use super::{path};\n}}\n"
        )
    };
    for (before, after) in [
        ("foo::*", "foo::v1::*"),
        ("foo::v1beta1::*", "foo::v1::*"),
        ("foo::v1::*", "foo::v1::*"),
        ("foo::Foo", "foo::Foo"),
    ] {
        let edited = export_hub_in_prelude(&prelude(before), "foo", "v1").unwrap();
        assert_eq!(edited, prelude(after));
    }
}

#[test]
fn only_other_version_is_removed_from_its_chain() {
    let text = "pub mod v1;\npub mod v1alpha1;\n\nfn f(setup: &mut Setup) {\n    setup\n        .versions::<v1::Foo>()\n        .other::<v1alpha1::Foo>();\n}\n";
    assert_eq!(
        remove_version(text, "Foo", "v1alpha1").unwrap(),
        "pub mod v1;\n\nfn f(setup: &mut Setup) {\n    setup\n        .versions::<v1::Foo>();\n}\n"
    );
}
