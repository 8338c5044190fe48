//! The derive macros of kubewright.

use proc_macro::TokenStream;

/// To be written.
#[proc_macro_derive(Informer, attributes(informer, kube))]
pub fn informer(_input: TokenStream) -> TokenStream {
    TokenStream::new()
}
