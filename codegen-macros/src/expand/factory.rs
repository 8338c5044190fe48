//! The methods that the factory of informers gets.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

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
    let with = format_ident!("{method}_with");
    let doc = format!(" Adds `{method}` and `{with}` to the factory of informers.");
    let method_doc = format!(" The shared informer of [`{root}`]s, with their indexes; always the same one.");
    let with_doc = format!(
        " As [`{method}`](Self::{method}), restricted, or keeping something else; equal options are one informer."
    );
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
