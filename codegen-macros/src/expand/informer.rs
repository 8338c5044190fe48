//! The informer, whose lister has the methods of the indexes.

use proc_macro2::TokenStream;
use quote::quote;

use super::named;
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let (informer, lister) = (named(model, "Informer"), named(model, "Lister"));
    let doc = format!(" The shared informer of [`{root}`]s.");
    quote! {
        #[doc = #doc]
        #[derive(::core::clone::Clone)]
        #vis struct #informer(#krate::cache::SharedInformer<#root>);

        impl #informer {
            /// Reads the store.
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
