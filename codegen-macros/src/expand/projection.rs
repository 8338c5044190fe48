//! Generates the implementations of a projection.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Path, spanned::Spanned};

use crate::{
    model::{Cardinality, ProjectedField, Projection, ProjectionContent},
    path_tree::PathTree,
};

/// Generates all implementations; after an error their bodies are stubs.
pub(super) fn expand(projection: &Projection) -> TokenStream {
    let Projection {
        krate,
        ident,
        of,
        content,
    } = projection;
    let stub = quote!(::core::unimplemented!());
    let info = match of {
        Some(of) => quote!(<#of as #krate::Kind>::info()),
        None => stub.clone(),
    };
    let (paths, deserialize) = match content {
        Some(content) => {
            let paths = content.fields.iter().map(|field| &field.path);
            (quote!(#(#paths),*), deserialize(projection, content))
        }
        None => (quote!(), deserialize_impl(projection, &stub)),
    };
    quote! {
        #[automatically_derived]
        impl #krate::Kind for #ident {
            fn info() -> #krate::ApiResource {
                #info
            }
        }

        #[automatically_derived]
        impl #krate::Projection for #ident {
            const PATHS: &'static [&'static str] = &[#paths];
        }

        #deserialize
    }
}

fn deserialize_impl(projection: &Projection, body: &TokenStream) -> TokenStream {
    let Projection { krate, ident, .. } = projection;
    quote! {
        #[automatically_derived]
        impl<'de> #krate::serde::Deserialize<'de> for #ident {
            fn deserialize<D: #krate::serde::Deserializer<'de>>(object: D) -> ::core::result::Result<Self, D::Error> {
                #body
            }
        }
    }
}

/// Generates `Deserialize` with its slots, in an anonymous scope.
fn deserialize(projection: &Projection, content: &ProjectionContent) -> TokenStream {
    let krate = &projection.krate;
    let root = fields_tokens(&content.tree);
    let (mut types, mut empty, mut begin, mut take, mut finish) = (vec![], vec![], vec![], vec![], vec![]);
    for (number, field) in content.fields.iter().enumerate() {
        let (ident, number) = (&field.ident, Literal::usize_unsuffixed(number));
        let Slot {
            ty,
            value,
            begin: begins,
            read,
            finished,
        } = Slot::new(krate, field);
        types.push(quote!(#ident: #ty));
        empty.push(quote!(#ident: #value));
        begin.extend(begins.map(|begins| quote!(#number => #begins)));
        take.push(quote!(#number => #read));
        finish.push(quote!(#ident: #finished));
    }
    let element = (!begin.is_empty()).then(|| {
        quote! {
            fn element(&mut self, slot: usize) {
                match slot {
                    #(#begin,)*
                    _ => {}
                }
            }
        }
    });
    let body = quote! {
        let slots = #krate::projection::read(__Slots { #(#empty),* }, object)?;
        ::core::result::Result::Ok(Self { #(#finish),* })
    };
    let deserialize = deserialize_impl(projection, &body);
    quote! {
        const _: () = {
            struct __Slots {
                #(#types,)*
            }

            impl<'de> #krate::projection::Slots<'de> for __Slots {
                const FIELDS: #krate::projection::Fields = {
                    use #krate::projection::Node::{Elements, Fields, Value};
                    #root
                };

                #element

                fn take<D: #krate::serde::Deserializer<'de>>(
                    &mut self,
                    slot: usize,
                    value: D,
                ) -> ::core::result::Result<(), D::Error> {
                    match slot {
                        #(#take,)*
                        _ => ::core::unreachable!(),
                    }
                }
            }

            #deserialize
        };
    }
}

/// The code of a slot. Spans point at the type of the values, where compile errors belong.
struct Slot {
    ty: TokenStream,
    /// The initial value.
    value: TokenStream,
    /// Run when an element of its list begins.
    begin: Option<TokenStream>,
    /// Run when its value is found.
    read: TokenStream,
    /// The final value of the field.
    finished: TokenStream,
}

impl Slot {
    fn new(krate: &Path, field: &ProjectedField) -> Self {
        let ProjectedField {
            ident,
            ty,
            path,
            values,
        } = field;
        match values {
            Cardinality::One { default } => {
                let span = ty.span().resolved_at(Span::call_site());
                Self {
                    ty: quote!(::core::option::Option<#ty>),
                    value: quote!(::core::option::Option::None),
                    begin: None,
                    read: quote_spanned!(span=> #krate::projection::one(&mut self.#ident, value)),
                    finished: if *default {
                        quote_spanned!(span=> slots.#ident.unwrap_or_default())
                    } else {
                        quote_spanned!(span=> #krate::projection::present::<_, D::Error>(slots.#ident, #path)?)
                    },
                }
            }
            Cardinality::Each {
                element,
                keeps_missing,
            } => {
                let span = element.span().resolved_at(Span::call_site());
                Self {
                    ty: quote!(::std::vec::Vec<::core::option::Option<#element>>),
                    value: quote!(::std::vec::Vec::new()),
                    begin: Some(quote!(self.#ident.push(::core::option::Option::None))),
                    read: quote_spanned!(span=> #krate::projection::each(&mut self.#ident, value)),
                    finished: if *keeps_missing {
                        quote!(slots.#ident)
                    } else {
                        quote!(#krate::projection::values(slots.#ident))
                    },
                }
            }
        }
    }
}

/// Returns an object's field names with their nodes. The tokens contain no user code that the imported node names could shadow.
fn fields_tokens(tree: &PathTree) -> TokenStream {
    let PathTree::Fields(fields) = tree else {
        return quote!(&[]);
    };
    let fields = fields.iter().map(|(name, tree)| {
        let node = node_tokens(tree);
        quote!((#name, #node))
    });
    quote!(&[#(#fields),*])
}

fn node_tokens(tree: &PathTree) -> TokenStream {
    match tree {
        PathTree::Value(number) => {
            let number = Literal::usize_unsuffixed(*number);
            quote!(Value(#number))
        }
        PathTree::Fields(_) => {
            let fields = fields_tokens(tree);
            quote!(Fields(#fields))
        }
        PathTree::Elements(tree) => {
            let node = node_tokens(tree);
            quote!(Elements(&#node))
        }
    }
}
