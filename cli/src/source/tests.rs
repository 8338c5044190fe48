use proptest::prelude::*;

use super::*;

type EditFn = fn(&str) -> Result<String, InsertError>;

const EDITS: [EditFn; 5] = [
    |text| declare_module(text, "bar"),
    |text| export_in_prelude(text, "bar"),
    |text| export_type(text, "bar", "BarController"),
    |text| import_type(text, "shop::controllers", "BarController"),
    |text| register(text, "BarController"),
];

/// Programs with all anchors of the edits, in various layouts.
fn program() -> impl Strategy<Value = String> {
    let gap = || {
        prop_oneof![
            Just("\n"),
            Just("\n\n"),
            Just("\n// a comment, ü\n"),
            Just(" // at the end\n"),
            Just("\n/* block */\n"),
        ]
    };
    let module = prop_oneof![
        Just("pub mod foo;"),
        Just("mod  zoo ;"),
        Just("/// Doc.\npub mod aaa;"),
        Just("#[cfg(test)] mod q;")
    ];
    let import = prop_oneof![
        Just("use shop::controllers::FooController;"),
        Just("use shop::controllers::{FooController, ZooController};"),
        Just("use std::fmt;"),
    ];
    let prelude = prop_oneof![
        Just("pub mod prelude {\n    pub use super::foo::*;\n}"),
        Just("pub mod prelude { pub use super::foo::*; }"),
        Just("pub mod prelude {}"),
        Just("pub mod prelude {\n    // nothing\n}"),
    ];
    let main = prop_oneof![
        Just("fn main() { Manager::from_args(\"shop\").register(FooController::register).run() }"),
        Just(
            "fn main() {\n    Manager::from_args(\"shop\")\n        .register(FooController::register) // ours\n        .run()\n}"
        ),
        Just("fn main() {\n    Manager::from_args(\"shop\").run();\n}"),
        Just(
            "fn main() {\n\tlet m = Manager::from_args(\"shop\");\n\tm.register(a::FooController::register)\n\t\t.run();\n}"
        ),
    ];
    (
        prop::collection::vec(module, 0..4),
        import,
        prelude,
        main,
        prop::collection::vec(gap(), 8),
        any::<bool>(),
    )
        .prop_map(|(modules, import, prelude, main, gaps, crlf)| {
            let mut text = "//! A program: größer.\n\n".to_owned();
            let parts = modules.into_iter().chain([import, prelude, main]);
            for (part, gap) in parts.zip(gaps) {
                text.push_str(part);
                text.push_str(gap);
            }
            if crlf { text.replace('\n', "\r\n") } else { text }
        })
}

proptest! {
    #[test]
    fn edits_are_idempotent_and_change_nothing_else(text in program()) {
        for edit in EDITS {
            let once = edit(&text).unwrap();
            prop_assert!(syn::parse_file(&once).is_ok(), "{once}");
            prop_assert_eq!(&edit(&once).unwrap(), &once, "not idempotent");
            // The addition is contiguous: the text before and after it is the old one.
            let added = once.len() - text.len();
            prop_assert!(added > 0);
            let same = text.bytes().zip(once.bytes()).take_while(|(a, b)| a == b).count();
            prop_assert!(
                (0..=same).any(|at| text.as_bytes()[at..] == once.as_bytes()[at + added..]),
                "{once}"
            );
            prop_assert!(!text.contains("\r\n") || !once.replace("\r\n", "").contains('\n'), "line endings");
        }
    }
}
