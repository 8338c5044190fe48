//! The code that is emitted, one file per item, in the order in which a reader meets it. Nothing fails here: what could be wrong was
//! found by the model.
//!
//! Names point at the attribute that they come from, resolved at the derive, so that lints see code of a macro.

mod client;
mod factory;
mod informer;
mod kind;
mod lister;

use proc_macro2::{Ident, TokenStream};
use quote::format_ident;
use syn::DeriveInput;

use crate::model::Model;

/// The items of the kind, or nothing but the compile errors.
pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    match Model::of(input) {
        Ok(model) => expand(&model),
        Err(errors) => errors.write_errors(),
    }
}

fn expand(model: &Model) -> TokenStream {
    [
        kind::expand(model),
        client::expand(model),
        lister::expand(model),
        informer::expand(model),
        factory::expand(model),
    ]
    .into_iter()
    .collect()
}

/// `FooLister` for `Lister`.
fn named(model: &Model, suffix: &str) -> Ident {
    format_ident!("{}{suffix}", model.root)
}
