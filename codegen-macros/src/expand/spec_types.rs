//! Generates a type that is only well-formed if the types of the custom resource have the derives that it needs. The compiler checks this
//! before function bodies, so its error comes before those of the other derives.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, spanned::Spanned};

use crate::model::Model;

pub(super) fn expand(model: &Model) -> TokenStream {
    let (krate, types) = (&model.krate, &model.spec_types);
    let roots = types.roots.iter().map(|ty| required(krate, "RootType", ty));
    let all = || types.roots.iter().chain(&types.fields);
    let serde = all().map(|ty| required(krate, "SerdeType", ty));
    let schema = all()
        .filter(|_| types.need_schema)
        .map(|ty| required(krate, "SchemaType", ty));
    let required = roots.chain(serde).chain(schema);
    quote! {
        const _: () = {
            #[allow(dead_code)]
            struct SpecTypes(#(#required),*);
        };
    }
}

/// Returns the type with its requirement, at the type's span.
pub(super) fn required(krate: &Path, requirement: &str, ty: &Type) -> TokenStream {
    let requirement = proc_macro2::Ident::new(requirement, ty.span());
    let krate = respanned(krate, ty);
    quote_spanned!(ty.span()=> #krate::spec_types::#requirement<#ty>)
}

/// Returns the tokens at the type's span: the error underlines all tokens of a type.
fn respanned(tokens: &impl ToTokens, ty: &Type) -> TokenStream {
    let respan = |mut token: proc_macro2::TokenTree| {
        token.set_span(ty.span().resolved_at(token.span()));
        token
    };
    tokens.to_token_stream().into_iter().map(respan).collect()
}
