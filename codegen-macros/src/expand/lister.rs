//! The lister, with a method per index.

use proc_macro2::TokenStream;
use quote::quote;

use super::named;
use crate::{
    model::{Index, Model},
    value_type::ValueType,
};

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let lister = named(model, "Lister");
    let doc = format!(" Reads the [`{root}`]s of the cache.");
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
        " The objects with `value` at `{}`, found by hash.",
        index.path.value()
    );
    let (parameter, key) = match &index.value_type {
        ValueType::String => (
            quote!(impl ::core::convert::AsRef<str>),
            quote!(::core::convert::AsRef::<str>::as_ref(&value)),
        ),
        ValueType::Bool => (quote!(bool), quote!(value)),
        ValueType::Integer(integer) => (quote!(#integer), quote!(::core::primitive::i64::from(value))),
        ValueType::Enum(name) => (quote!(&#name), quote!(#krate::cache::IndexKey::of_enum(value))),
    };
    quote! {
        #[doc = #doc]
        #vis fn #method(&self, value: #parameter) -> #krate::cache::Items<#root> {
            self.0.by_index(#name, #key)
        }
    }
}
