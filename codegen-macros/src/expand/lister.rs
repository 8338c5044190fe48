//! Generates the lister type, with a method per index.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{doc_path, suffixed_name};
use crate::{
    model::{Index, Model},
    value_type::ValueType,
};

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let lister = suffixed_name(model, "Lister");
    let doc = format!(
        " A lister of the cached [`{root}`]s, with the guarantees of [`Lister`]({krate}::cache::Lister).",
        krate = doc_path(krate)
    );
    let methods = (!model.indexes.is_empty()).then(|| {
        let methods = model.indexes.iter().map(|index| method(model, index));
        quote! {
            impl #lister {
                #(#methods)*
            }
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(::core::clone::Clone)]
        #vis struct #lister(#krate::cache::Lister<#root>);

        #methods

        #[automatically_derived]
        impl ::core::ops::Deref for #lister {
            type Target = #krate::cache::Lister<#root>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    }
}

fn method(model: &Model, index: &Index) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let (method, name) = (&index.method, index.name());
    let doc = format!(
        " Returns the objects with `value` at `{}`, by a hash lookup.",
        index.path.value()
    );
    let (parameter, key) = match &index.value_type {
        ValueType::String => (quote!(impl ::core::convert::AsRef<str>), quote!(value.as_ref())),
        ValueType::Bool => (quote!(bool), quote!(value)),
        ValueType::Integer(integer) => (quote!(#integer), quote!(::core::primitive::i64::from(value))),
        ValueType::Enum(name) => {
            let of_enum =
                quote_spanned!(name.span().resolved_at(Span::call_site())=> IndexKey::of_enum(value));
            (quote!(&#name), quote!(#krate::cache::#of_enum))
        }
    };
    quote! {
        #[doc = #doc]
        #vis fn #method(&self, value: #parameter) -> #krate::cache::Items<#root> {
            self.0.by_derived_index(#name, #key)
        }
    }
}
