//! The arguments of the compiler that compiles a test.
//!
//! Tests that compile further programs need the libraries that cargo built for the test itself. Cargo names them only to the compiler, in
//! which procedural macros run. Building them again in another folder, as trybuild does, takes minutes.

use proc_macro::{Literal, TokenStream, TokenTree};

/// Expands to the compiler's path and its arguments, as one string literal with a line each.
#[proc_macro]
pub fn rustc_arguments(_: TokenStream) -> TokenStream {
    let arguments: Vec<String> = std::env::args().collect();
    TokenTree::from(Literal::string(&arguments.join("\n"))).into()
}
