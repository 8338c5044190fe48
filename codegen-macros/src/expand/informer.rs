//! The informer, whose lister has the methods of the indexes.

use proc_macro2::TokenStream;
use quote::quote;

use super::{in_docs, named};
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let (informer, lister) = (named(model, "Informer"), named(model, "Lister"));
    let doc = format!(
        " The shared informer of [`{root}`]s, with all that [`SharedInformer`]({krate}::cache::SharedInformer) guarantees.",
        krate = in_docs(krate)
    );
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
