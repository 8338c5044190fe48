//! Generates the informer type.

use proc_macro2::TokenStream;
use quote::quote;

use super::{doc_path, suffixed_name};
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let (informer, lister) = (suffixed_name(model, "Informer"), suffixed_name(model, "Lister"));
    let doc = format!(
        " A shared informer of [`{root}`]s, with the guarantees of [`SharedInformer`]({krate}::cache::SharedInformer).",
        krate = doc_path(krate)
    );
    quote! {
        #[doc = #doc]
        #[derive(::core::clone::Clone)]
        #vis struct #informer(#krate::cache::SharedInformer<#root>);

        impl #informer {
            /// Returns the lister, with its index methods.
            #vis fn lister(&self) -> #lister {
                #lister(self.0.lister())
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #informer {
            type Target = #krate::cache::SharedInformer<#root>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }
    }
}
