//! The method that the factory of informers gets.

use proc_macro2::TokenStream;
use quote::quote;

use super::named;
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model {
        krate,
        vis,
        root,
        method,
        ..
    } = model;
    let (informer, informers) = (named(model, "Informer"), named(model, "Informers"));
    let doc = format!(" Adds `{method}` to the factory of informers.");
    let method_doc = format!(" The shared informer of [`{root}`]s, with their indexes; always the same one.");
    quote! {
        #[doc = #doc]
        #vis trait #informers {
            #[doc = #method_doc]
            fn #method(&self) -> #informer;
        }

        #[automatically_derived]
        impl #informers for #krate::cache::SharedInformerFactory {
            fn #method(&self) -> #informer {
                #informer(self.custom::<#root>())
            }
        }
    }
}
