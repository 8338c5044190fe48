use super::*;

const SHOP: ProjectItems<'static> = ProjectItems::of("shop");

fn renaming() -> Renaming {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    };
    Renaming {
        types: pairs(&[
            ("Foo", "Bar"),
            ("FooSpec", "BarSpec"),
            ("FooController", "BarController"),
        ]),
        module: ["foo", "bar"].map(str::to_owned),
        method: ["foos", "bars"].map(str::to_owned),
        literals: pairs(&[("Foo", "Bar"), ("foos/status", "bars/status")]),
        words: pairs(&[("Foo", "Bar"), ("foos", "bars")]),
        fields: BTreeSet::from(["foo_size".to_owned()]),
    }
}

#[test]
fn names_change_by_the_role_of_the_file() {
    use FileRole::{Definition, Other, Own, Parent};
    for (role, before, after) in [
        (
            Other,
            "use crate::api::foo::Foo; // Foo",
            "use crate::api::bar::Bar; // Foo",
        ),
        (
            Other,
            "fn f(foo: Foo) { s.informers().foos(); s.foos(); let foos = \"Foo\"; }",
            "fn f(foo: Bar) { s.informers().bars(); s.foos(); let foos = \"Foo\"; }",
        ),
        (
            Parent,
            "pub mod foo;\npub use foo::FooController;",
            "pub mod bar;\npub use bar::BarController;",
        ),
        (
            Own,
            "/// A Foo, of foos.\nfn f(foo_a: Foo) { foo_a.foo_size(\"foos/status\", \"my Foo, foos\") } // Food Foo",
            "/// A Bar, of bars.\nfn f(bar_a: Bar) { bar_a.foo_size(\"bars/status\", \"my Bar, foos\") } // Food Bar",
        ),
        (
            Own,
            "struct FooController { foos: u8 }\nimpl FooController { fn foo_a(&self, foo: &Foo) { self.foos; self.foo_a(foo); x.foo_b(); \
             C { foo: 1, ..foo }; Self { foos } } }\nimpl T for FooController { fn foo_c(&self) { node.foo; FooController { foos: foo } } }",
            "struct BarController { bars: u8 }\nimpl BarController { fn bar_a(&self, bar: &Bar) { self.bars; self.bar_a(bar); x.foo_b(); \
             C { foo: 1, ..bar }; Self { bars } } }\nimpl T for BarController { fn foo_c(&self) { node.foo; BarController { bars: bar } } }",
        ),
        // A field of an unknown type, a short form, a name in a text, a public field, an import, a macro: they stay, and so do the variables.
        (
            Own,
            "use other::foo_g;\nstruct A { foos: u8, pub foo_p: u8 }\nfn f(a: A, foo_x: u8, foo_y: u8, foo_z: u8) { a.foos; self.foo_p; \
             B { foo_x }; print(\"{foo_y}\"); foo_g(foo_z); foo_m!() }",
            "use other::foo_g;\nstruct A { foos: u8, pub foo_p: u8 }\nfn f(a: A, foo_x: u8, foo_y: u8, bar_z: u8) { a.foos; self.foo_p; \
             B { foo_x }; print(\"{foo_y}\"); foo_g(bar_z); foo_m!() }",
        ),
        // Types and modules by the path, by the imports, and by a module of everything.
        (
            Other,
            "use k8s::{foo, v1::Foo};\nuse shop::api::foo::FooSpec;\nfn f(_: Foo, _: FooSpec, _: crate::api::foo::Foo, _: foo::Foo, _: E::Foo) {}",
            "use k8s::{foo, v1::Foo};\nuse shop::api::bar::BarSpec;\nfn f(_: Foo, _: BarSpec, _: crate::api::bar::Bar, _: foo::Foo, _: E::Foo) {}",
        ),
        (
            Other,
            "use crate::api::{foo, imported::x::foo::Foo as Theirs, prelude::*};\nenum E { Foo(Foo) }\nfn f(_: foo::Foo, _: k8s::api::foo::Foo) {}",
            "use crate::api::{bar, imported::x::foo::Foo as Theirs, prelude::*};\nenum E { Foo(Bar) }\nfn f(_: bar::Bar, _: k8s::api::foo::Foo) {}",
        ),
        (
            Other,
            "use k8s::v1::*;\nfn f(_: Foo) {}",
            "use k8s::v1::*;\nfn f(_: Foo) {}",
        ),
        (
            Definition,
            "#[kube(kind = \"Foo\")]\nstruct FooSpec { foo_size: u8, foo: u8 }",
            "#[kube(kind = \"Bar\")]\nstruct BarSpec { foo_size: u8, foo: u8 }",
        ),
    ] {
        assert_eq!(renaming().apply(before, role, SHOP).unwrap(), after);
    }
}

#[test]
fn clashes_are_found() {
    let clashes = |text: &str, role| {
        let renaming = renaming();
        let after = renaming.apply(text, role, SHOP).unwrap();
        renaming.clashes(text, &after, role, SHOP).unwrap()
    };
    assert_eq!(
        clashes("fn f(foo: Foo) {\n    let bar_b = 1;\n} // Bar", FileRole::Own),
        [2, 3]
    );
    assert!(clashes("fn f(foo: Foo) { let bar = Barn; } // Bar", FileRole::Other).is_empty());
    assert_eq!(clashes("\nfn f(_: Bar) {}\n", FileRole::Other), [2]);
}
