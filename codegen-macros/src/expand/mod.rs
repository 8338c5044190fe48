//! Generates the code, one file per item. Expansion cannot fail: errors are found when the model is built.
//!
//! Spans of names point at their attribute and are resolved at the call site, so that lints treat the code as macro code.

mod apply;
mod client;
mod conversion;
mod factory;
mod informer;
mod kind;
mod lister;
mod projection;
mod spec_types;

use darling::Error;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, format_ident};
use syn::DeriveInput;

use crate::model::{AppliedStruct, Conversion, Model, Projection};

/// Expands `Informer` to the compile errors and the items of the kind. Items are generated despite errors, to avoid follow-up errors.
pub(crate) fn informer(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let model = Model::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = model.as_ref().map(expand);
    [errors, items].into_iter().flatten().collect()
}

/// Expands `Projection` to the compile errors and the implementations, which are stubs after an error.
pub(crate) fn projection(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let projection = Projection::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = projection.as_ref().map(projection::expand);
    [errors, items].into_iter().flatten().collect()
}

/// Expands `Convert` to the compile errors and the implementation, which is a stub after an error.
pub(crate) fn convert(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let conversion = Conversion::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = conversion
        .as_ref()
        .map(|conversion| conversion::expand(conversion, errors.is_some()));
    [errors, items].into_iter().flatten().collect()
}

/// Expands `ApplyConfiguration` to the compile errors, and the struct without the fields that have one.
pub(crate) fn apply_configuration(input: &DeriveInput) -> TokenStream {
    let mut errors = Error::accumulator();
    let applied = AppliedStruct::of(input, &mut errors);
    let errors = errors.finish().err().map(Error::write_errors);
    let items = applied.as_ref().map(apply::expand);
    [errors, items].into_iter().flatten().collect()
}

fn expand(model: &Model) -> TokenStream {
    [
        spec_types::expand(model),
        kind::expand(model),
        client::expand(model),
        lister::expand(model),
        informer::expand(model),
        factory::expand(model),
    ]
    .into_iter()
    .collect()
}

/// Returns the root's name with a suffix: `FooLister` for `Lister`.
fn suffixed_name(model: &Model, suffix: &str) -> Ident {
    format_ident!("{}{suffix}", model.root)
}

/// Returns the crate's path as it is written in documentation links.
fn doc_path(krate: &syn::Path) -> String {
    let krate = krate.to_token_stream().to_string().replace(' ', "");
    krate.trim_start_matches("::").to_owned()
}
