//! The code that is emitted, one file per item, in the order in which a reader meets it. Nothing fails here: what could be wrong was
//! found by the model.
//!
//! Names point at the attribute that they come from, resolved at the derive, so that lints see code of a macro.

mod client;
mod factory;
mod informer;
mod kind;
mod lister;
mod projection;

use darling::Error;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident};
use syn::DeriveInput;

use crate::model::{Model, Projection};

/// The compile errors, and the items of the kind as far as it is known: without them one mistake would look like many.
pub(crate) fn informer(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let model = Model::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = model.as_ref().map(expand);
    [errors, items].into_iter().flatten().collect()
}

/// The compile errors, and the implementations, without content where there was a mistake.
pub(crate) fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let projection = Projection::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = projection.as_ref().map(projection::expand);
    [errors, items].into_iter().flatten().collect()
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

/// The library's path as links of documentation write it.
fn in_docs(krate: &syn::Path) -> String {
    let krate = krate.to_token_stream().to_string().replace(' ', "");
    krate.trim_start_matches("::").to_owned()
}
