//! The implementations that make a struct a projection.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::{
    model::{Content, Projection, Shown, Values},
    path_tree::PathTree,
};

pub(super) fn expand(projection: &Projection) -> TokenStream {
    let Projection {
        krate,
        ident,
        content,
    } = projection;
    let (info, paths, deserialize) = match content {
        Some(content) => {
            let of = &content.of;
            let paths: Vec<_> = content.fields.iter().map(|shown| &shown.path).collect();
            let info = quote!(<#of as #krate::Kind>::info());
            (info, quote!(&[#(#paths),*]), deserialize(projection, content))
        }
        None => {
            let stub = quote!(::core::unimplemented!());
            (stub.clone(), quote!(&[]), deserialize_impl(projection, &stub))
        }
    };
    quote! {
        #[automatically_derived]
        impl #krate::Kind for #ident {
            fn info() -> #krate::KindInfo {
                #info
            }
        }

        #[automatically_derived]
        impl #krate::Projection for #ident {
            const PATHS: &'static [&'static str] = #paths;
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

/// With the slots, which nobody else names.
fn deserialize(projection: &Projection, content: &Content) -> TokenStream {
    let krate = &projection.krate;
    let Content { fields, tree, .. } = content;
    let root = objects_fields(tree);
    let idents: Vec<_> = fields.iter().map(|shown| &shown.ident).collect();
    let (mut types, mut empty, mut takes, mut finished, mut lists) = (vec![], vec![], vec![], vec![], vec![]);
    for (number, shown) in fields.iter().enumerate() {
        let Shown {
            ident,
            ty,
            path,
            values,
        } = shown;
        let number = Literal::usize_unsuffixed(number);
        let span = ty.span().resolved_at(Span::call_site());
        match values {
            Values::One { default } => {
                types.push(quote!(::core::option::Option<#ty>));
                empty.push(quote!(::core::option::Option::None));
                takes
                    .push(quote_spanned!(span=> #number => #krate::projection::one(&mut self.#ident, value)));
                finished.push(if *default {
                    quote_spanned!(span=> slots.#ident.unwrap_or_default())
                } else {
                    quote_spanned!(span=> #krate::projection::present::<_, D::Error>(slots.#ident, #path)?)
                });
            }
            Values::Each {
                element,
                keeps_missing,
            } => {
                types.push(quote!(::std::vec::Vec<::core::option::Option<#element>>));
                empty.push(quote!(::std::vec::Vec::new()));
                takes.push(
                    quote_spanned!(span=> #number => #krate::projection::each(&mut self.#ident, value)),
                );
                finished.push(if *keeps_missing {
                    quote!(slots.#ident)
                } else {
                    quote!(#krate::projection::values(slots.#ident))
                });
                lists.push(quote!(#number => self.#ident.push(::core::option::Option::None)));
            }
        }
    }
    let element = (!lists.is_empty()).then(|| {
        quote! {
            fn element(&mut self, slot: usize) {
                match slot {
                    #(#lists,)*
                    _ => {}
                }
            }
        }
    });
    let body = quote! {
        let slots = #krate::projection::read(__Slots { #(#idents: #empty),* }, object)?;
        ::core::result::Result::Ok(Self { #(#idents: #finished),* })
    };
    let deserialize = deserialize_impl(projection, &body);
    quote! {
        const _: () = {
            struct __Slots {
                #(#idents: #types,)*
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
                        #(#takes,)*
                        _ => ::core::unreachable!(),
                    }
                }
            }

            #deserialize
        };
    }
}

/// The names of an object, and what is read of each. Nothing of the user's stands among them that the names of nodes could hide.
fn objects_fields(tree: &PathTree) -> TokenStream {
    let PathTree::Fields(fields) = tree else {
        return quote!(&[]);
    };
    let fields = fields.iter().map(|(name, tree)| {
        let node = node(tree);
        quote!((#name, #node))
    });
    quote!(&[#(#fields),*])
}

fn node(tree: &PathTree) -> TokenStream {
    match tree {
        PathTree::Value(number) => {
            let number = Literal::usize_unsuffixed(*number);
            quote!(Value(#number))
        }
        PathTree::Fields(_) => {
            let fields = objects_fields(tree);
            quote!(Fields(#fields))
        }
        PathTree::Elements(tree) => {
            let node = node(tree);
            quote!(Elements(&#node))
        }
    }
}
