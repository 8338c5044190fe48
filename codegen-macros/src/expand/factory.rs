//! Generates the methods of the informer factory.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::suffixed_name;
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model {
        krate,
        vis,
        root,
        method,
        ..
    } = model;
    let (informer, informers) = (
        suffixed_name(model, "Informer"),
        suffixed_name(model, "Informers"),
    );
    let with = format_ident!("{method}_with");
    let doc = format!(" Adds `{method}` and `{with}` to the informer factory.");
    let method_doc = format!(
        " Returns the shared informer of [`{root}`]s, with their indexes. Repeated calls return the same informer."
    );
    let with_doc =
        format!(" Like [`{method}`](Self::{method}), with options. Equal options return the same informer.");
    quote! {
        #[doc = #doc]
        #vis trait #informers {
            #[doc = #method_doc]
            fn #method(&self) -> #informer;

            #[doc = #with_doc]
            fn #with(&self, options: #krate::cache::InformerOptions) -> #informer;
        }

        #[automatically_derived]
        impl #informers for #krate::cache::SharedInformerFactory {
            fn #method(&self) -> #informer {
                #informer(self.custom::<#root>())
            }

            fn #with(&self, options: #krate::cache::InformerOptions) -> #informer {
                #informer(self.custom_with::<#root>(options))
            }
        }
    }
}
