//! `#[projection(…)]`: on the struct, and on each of its fields.

use darling::{FromDeriveInput, FromField};
use syn::{Ident, LitStr, Path, Type};

/// `#[projection(…)]` of the struct, in as many attributes as there are.
#[derive(Default, FromDeriveInput)]
#[darling(attributes(projection))]
pub(crate) struct ProjectionAttrs {
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
    pub(crate) of: Option<Path>,
}

/// A field with its `#[projection(…)]`.
#[derive(FromField)]
#[darling(attributes(projection))]
pub(crate) struct ShownAttrs {
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    pub(crate) path: Option<LitStr>,
    #[darling(default)]
    pub(crate) default: bool,
}
