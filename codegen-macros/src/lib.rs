//! The derive macros of kubewright. kubewright re-exports them; do not depend on this crate directly.
//!
//! In the order of a derive: `attrs` parses the attributes, `model` validates them and reports every error at its token, `expand`
//! generates the code. The model uses `path`, `path_tree`, `value_type` and `names` for paths, types of values and names of kinds.
//! All modules use `proc_macro2`, so that they can be tested without a compiler. The examples of the documentation are tested in the
//! package `kubewright-tests`, which has what they need.

mod attrs;
mod expand;
mod model;
mod names;
mod path;
mod path_tree;
#[cfg(test)]
mod snapshots;
mod value_type;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

#[doc = include_str!("informer.md")]
#[proc_macro_derive(Informer, attributes(informer, kube))]
pub fn informer(input: TokenStream) -> TokenStream {
    expand::informer(&parse_macro_input!(input as DeriveInput)).into()
}

#[cfg_attr(not(doctest), doc = include_str!("projection.md"))]
#[proc_macro_derive(Projection, attributes(projection))]
pub fn projection(input: TokenStream) -> TokenStream {
    expand::projection(&parse_macro_input!(input as DeriveInput)).into()
}

#[cfg_attr(not(doctest), doc = include_str!("convert.md"))]
#[proc_macro_derive(Convert, attributes(convert))]
pub fn convert(input: TokenStream) -> TokenStream {
    expand::convert(&parse_macro_input!(input as DeriveInput)).into()
}

#[cfg_attr(not(doctest), doc = include_str!("apply_configuration.md"))]
#[proc_macro_derive(ApplyConfiguration, attributes(apply, kube, serde))]
pub fn apply_configuration(input: TokenStream) -> TokenStream {
    expand::apply_configuration(&parse_macro_input!(input as DeriveInput)).into()
}
