//! Snapshots of the expansions of `tests/inputs/pass`; see `tests/README.md` for updating them.

use std::{fs, path::Path};

use quote::ToTokens;
use syn::{DeriveInput, ItemEnum, ItemStruct, visit::Visit};

/// The expansions of every type that derives one of the derives.
#[derive(Default)]
struct Expansions(Vec<syn::File>);

impl<'ast> Visit<'ast> for Expansions {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add(&DeriveInput::from(item.clone()));
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add(&DeriveInput::from(item.clone()));
    }
}

impl Expansions {
    fn add(&mut self, input: &DeriveInput) {
        type Expand = fn(&DeriveInput) -> proc_macro2::TokenStream;
        let derives: [(&str, Expand); 4] = [
            ("Informer", crate::expand::informer),
            ("Projection", crate::expand::projection),
            ("Convert", crate::expand::convert),
            ("ApplyConfiguration", crate::expand::apply_configuration),
        ];
        for (name, expand) in derives {
            let is_derive = |attribute: &&syn::Attribute| attribute.path().is_ident("derive");
            let mut attributes = input.attrs.iter().filter(is_derive);
            if attributes.any(|derive| derive.to_token_stream().to_string().contains(name)) {
                self.0.push(syn::parse2(expand(input)).unwrap());
            }
        }
    }
}

#[test]
fn expansions_of_the_pass_inputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/pass");
    let mut inputs: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    inputs.sort();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../tests/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for input in inputs {
            let mut expansions = Expansions::default();
            expansions.visit_file(&syn::parse_file(&fs::read_to_string(&input).unwrap()).unwrap());
            // The derive of `macro_made` is inside a `macro_rules!` macro, which is not expanded here.
            assert_eq!(
                expansions.0.is_empty(),
                input.ends_with("macro_made.rs"),
                "{}",
                input.display()
            );
            if expansions.0.is_empty() {
                continue;
            }
            let code: Vec<_> = expansions.0.iter().map(prettyplease::unparse).collect();
            insta::assert_snapshot!(input.file_stem().unwrap().to_str().unwrap(), code.join("\n"));
        }
    });
}
