//! The attributes of a kind's struct.

use syn::{Attribute, Expr, ExprLit, Lit, LitStr, punctuated::Punctuated};

/// Returns the string literals in `#[kube(…)]`, with their keys.
pub(super) fn kube_literals(attributes: &[Attribute]) -> Vec<(String, LitStr)> {
    let entries = kube_entries(attributes).into_iter();
    entries
        .filter_map(|(key, literal)| Some((key, literal?)))
        .collect()
}

/// Returns the keys in `#[kube(…)]`, with their string literals.
pub(super) fn kube_entries(attributes: &[Attribute]) -> Vec<(String, Option<LitStr>)> {
    let mut entries = Vec::new();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("kube"))
    {
        // Ignore errors: kube-derive reports them.
        let _ = attribute.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            let mut literal = None;
            if meta.input.peek(syn::Token![=]) {
                if let Expr::Lit(ExprLit {
                    lit: Lit::Str(text), ..
                }) = meta.value()?.parse()?
                {
                    literal = Some(text);
                }
            } else if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<proc_macro2::TokenStream>()?;
            }
            entries.push((key, literal));
            Ok(())
        });
    }
    entries
}

/// Whether a derive of that name is in the attributes.
pub(super) fn derives(attributes: &[Attribute], name: &str) -> bool {
    let paths = |attribute: &Attribute| {
        attribute
            .parse_args_with(Punctuated::<syn::Path, syn::Token![,]>::parse_terminated)
            .unwrap_or_default()
    };
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
        .flat_map(paths)
        .any(|path| path.segments.last().is_some_and(|last| last.ident == name))
}

/// Whether `#[informer(…)]` says that another project installs the definition.
pub(super) fn is_external(attributes: &[Attribute]) -> bool {
    let mut external = false;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("informer"))
    {
        // Ignore errors: the derive reports them. They end the parsing after the key that matters here.
        let _ = attribute.parse_nested_meta(|meta| {
            external |= meta.path.is_ident("external");
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                content.parse::<proc_macro2::TokenStream>()?;
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Expr>()?;
            }
            Ok(())
        });
    }
    external
}

/// Whether the build may leave the item out.
pub(super) fn is_conditional(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("cfg"))
}
