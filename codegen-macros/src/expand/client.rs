//! Generates the alias of the typed client.

use proc_macro2::TokenStream;
use quote::quote;

use super::suffixed_name;
use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let Model { krate, vis, root, .. } = model;
    let client = suffixed_name(model, "Client");
    let doc = format!(" A client of [`{root}`]s ({}) with the verbs `V`.", model.title);
    quote! {
        #[doc = #doc]
        #vis type #client<V> = #krate::client::TypedClient<#root, V>;
    }
}
