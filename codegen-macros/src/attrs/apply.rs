//! `#[apply(…)]` on the type and on its fields, and the keys of `#[serde(…)]` that decide the JSON of an apply configuration.

use darling::{FromAttributes, FromDeriveInput};
use syn::{Attribute, ExprPath, LitStr, Meta, Path, Token, punctuated::Punctuated};

/// All `#[apply(…)]` attributes of the type.
#[derive(Default, FromDeriveInput)]
#[darling(attributes(apply))]
pub(crate) struct ApplyAttrs {
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
}

/// The `#[apply(…)]` attributes of a field.
#[derive(FromAttributes)]
#[darling(attributes(apply))]
pub(crate) struct AppliedFieldAttrs {
    #[darling(default)]
    pub(crate) nested: bool,
    #[darling(default)]
    pub(crate) skip: bool,
    pub(crate) with: Option<LitStr>,
}

/// The keys of all `#[serde(…)]` of a type or field. serde-derive reports errors in them.
pub(crate) struct SerdeKeys(Vec<Meta>);

impl SerdeKeys {
    pub(crate) fn of(attributes: &[Attribute]) -> Self {
        let keys = |attribute: &Attribute| {
            let keys = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            keys.unwrap_or_default()
        };
        let serde = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("serde"));
        Self(serde.flat_map(keys).collect())
    }

    /// Returns the first key with one of these names.
    pub(crate) fn find(&self, names: &'static [&'static str]) -> Option<&Meta> {
        self.named(names).next()
    }

    /// Returns all keys with one of these names.
    pub(crate) fn named(&self, names: &'static [&'static str]) -> impl Iterator<Item = &Meta> {
        self.0
            .iter()
            .filter(|key| names.iter().any(|name| key.path().is_ident(name)))
    }

    /// Returns the function of `skip_serializing_if`.
    pub(crate) fn skip_serializing_if(&self) -> Option<ExprPath> {
        let Meta::NameValue(key) = self.find(&["skip_serializing_if"])? else {
            return None;
        };
        match &key.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => text.parse().ok(),
            _ => None,
        }
    }
}
