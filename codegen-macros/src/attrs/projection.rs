//! `#[projection(…)]` on the struct and on its fields.

use darling::{FromDeriveInput, FromField};
use syn::{Ident, LitStr, Path, Type};

/// All `#[projection(…)]` attributes of the struct.
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
pub(crate) struct ProjectedFieldAttrs {
    pub(crate) ident: Option<Ident>,
    pub(crate) ty: Type,
    pub(crate) path: Option<LitStr>,
    #[darling(default)]
    pub(crate) default: bool,
}
