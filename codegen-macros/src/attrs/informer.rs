//! The derive's own attribute, `#[informer(…)]`.

use darling::{Error, FromDeriveInput, FromMeta, Result};
use syn::{
    Ident, LitStr, Meta, Path, Token, Type,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// All `#[informer(…)]` attributes of the struct.
#[derive(Default, FromDeriveInput)]
#[darling(attributes(informer))]
pub(crate) struct InformerAttrs {
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
    #[darling(default)]
    pub(crate) external: bool,
    #[darling(default)]
    pub(crate) sensitive: bool,
    #[darling(default)]
    pub(crate) unchecked_fields: bool,
    #[darling(multiple, rename = "index")]
    indexes: Vec<IndexList>,
}

impl InformerAttrs {
    /// Returns the entries of all `index(…)`, in source order.
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &IndexEntry> {
        self.indexes.iter().flat_map(|list| &list.0)
    }
}

/// `index(…)`. Its entries are not `Meta` items, since they can have types; they are parsed here.
struct IndexList(Vec<IndexEntry>);

/// `name: Type = "path"`.
pub(crate) struct IndexEntry {
    pub(crate) name: Ident,
    pub(crate) value_type: Option<Type>,
    pub(crate) path: LitStr,
}

impl FromMeta for IndexList {
    fn from_meta(item: &Meta) -> Result<Self> {
        let entries = match item {
            Meta::List(list) => {
                list.parse_args_with(Punctuated::<IndexEntry, Token![,]>::parse_terminated)?
            }
            _ => Punctuated::new(),
        };
        if entries.is_empty() {
            return Err(
                Error::custom("`index` is empty: write `index(by_node = \"spec.nodeName\")`").with_span(item),
            );
        }
        Ok(Self(entries.into_iter().collect()))
    }
}

impl Parse for IndexEntry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected the name of an index, as in `by_node = \"spec.nodeName\"`"));
        }
        let name = Ident::parse_any(input)?;
        let value_type = if input.peek(Token![:]) && !input.peek(Token![::]) {
            input.parse::<Token![:]>()?;
            let expected =
                |error: syn::Error| syn::Error::new(error.span(), "expected the type of the index's values");
            Some(input.parse().map_err(expected)?)
        } else {
            None
        };
        if !input.peek(Token![=]) {
            let after = if value_type.is_some() {
                "the index's type"
            } else {
                "the index's name, which is one identifier"
            };
            return Err(input.error(format!("expected `= \"path\"` after {after}")));
        }
        input.parse::<Token![=]>()?;
        let path = input.parse()?;
        Ok(Self {
            name,
            value_type,
            path,
        })
    }
}
