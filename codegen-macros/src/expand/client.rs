//! The alias of the typed client.

use proc_macro2::TokenStream;
use quote::quote;

use super::named;
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let client = named(model, "Client");
    let doc = format!(" Writes [`{root}`]s ({}) with the verbs `V`.", model.title);
    quote! {
        #[doc = #doc]
        #vis type #client<V> = #krate::client::TypedClient<#root, V>;
    }
}
