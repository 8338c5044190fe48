//! Generates the struct of optional fields, and the alias for the whole object.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::{GenericArgument, PathArguments, Type, TypePath, ext::IdentExt, parse_quote};

use super::spec_types::required;
use crate::{
    model::{AppliedField, AppliedKind, AppliedStruct, AppliedValue, Container},
    value_type::nested_type,
};

pub(super) fn expand(applied: &AppliedStruct) -> TokenStream {
    let AppliedStruct {
        krate,
        vis,
        ident,
        apply,
        serde,
        fields,
        kind,
    } = applied;
    let serde_path = krate.to_token_stream().to_string().replace(' ', "") + "::serde";
    let documentation = format!("The fields of [`{ident}`] that an operator applies: those that are set.");
    let declarations = fields.iter().map(declaration);
    let setters = fields.iter().filter_map(setter);
    let value = if fields.is_empty() {
        quote!(_)
    } else {
        quote!(value)
    };
    let values = fields.iter().map(|field| {
        let (ident, value) = (&field.ident, from_original(field));
        quote!(#ident: #value)
    });
    let alias = kind.as_ref().map(|kind| alias(applied, kind));
    let types = required_types(applied);
    quote! {
        const _: () = {
            #[allow(dead_code)]
            struct AppliedTypes(#(#types),*);
        };

        #[automatically_derived]
        impl #krate::spec_types::HasApplyConfiguration for #ident {}

        #[doc = #documentation]
        #[derive(
            ::core::clone::Clone, ::core::fmt::Debug, ::core::default::Default, ::core::cmp::PartialEq,
            #krate::serde::Serialize, #krate::serde::Deserialize,
        )]
        #[serde(crate = #serde_path #(, #serde)*)]
        #[allow(dead_code, clippy::all, clippy::pedantic)]
        #vis struct #apply {
            #(#declarations,)*
        }

        #[automatically_derived]
        #[allow(dead_code, clippy::all, clippy::pedantic)]
        impl #apply {
            /// Sets no field.
            #vis fn new() -> Self {
                ::core::default::Default::default()
            }

            #(#setters)*
        }

        #[automatically_derived]
        #[allow(deprecated, clippy::all, clippy::pedantic)]
        impl ::core::convert::From<#ident> for #apply {
            fn from(#value: #ident) -> Self {
                Self { #(#values),* }
            }
        }

        #alias
    }
}

/// Returns the types with what they need: without these, the compiler does not say what is missing.
fn required_types(applied: &AppliedStruct) -> Vec<TokenStream> {
    let krate = &applied.krate;
    let fields = applied
        .fields
        .iter()
        .filter_map(|field| match innermost(&field.ty) {
            AppliedValue::Nested { ty, .. } => Some(required(krate, "NestedType", ty)),
            AppliedValue::Whole(ty) => nested_type(ty).map(|ty| required(krate, "WholeType", ty)),
            AppliedValue::Container { .. } => None,
        });
    let status = applied.kind.as_ref().and_then(|kind| kind.status.as_ref());
    let status = status.map(|(status, _)| required(krate, "NestedType", &parse_quote!(#status)));
    fields
        .chain(status)
        .chain(serde_types(applied).map(|ty| required(krate, "SerdeType", &ty)))
        .collect()
}

/// Returns the types that serde reads and writes: the struct, and those of its fields. Those of a spec are checked with its kind.
fn serde_types(applied: &AppliedStruct) -> impl Iterator<Item = Type> {
    let ident = &applied.ident;
    let fields = applied
        .fields
        .iter()
        .filter_map(|field| match innermost(&field.ty) {
            AppliedValue::Whole(ty) if field.with.is_none() => nested_type(ty).cloned(),
            _ => None,
        });
    let types = std::iter::once(parse_quote!(#ident)).chain(fields);
    types.filter(|_| applied.kind.is_none())
}

/// Returns the value in all containers.
fn innermost(ty: &AppliedValue) -> &AppliedValue {
    match ty {
        AppliedValue::Container { values, .. } => innermost(values),
        _ => ty,
    }
}

/// Generates the alias for the whole object.
fn alias(applied: &AppliedStruct, kind: &AppliedKind) -> TokenStream {
    let AppliedStruct {
        krate, vis, apply, ..
    } = applied;
    let AppliedKind { root, alias, status } = kind;
    let documentation = format!("The fields of a [`{root}`] that an operator applies.");
    let status = status
        .as_ref()
        .map_or_else(|| quote!(()), |(_, apply)| quote!(#apply));
    quote! {
        #[doc = #documentation]
        #[allow(dead_code)]
        #vis type #alias = #krate::ObjectApply<#root, #apply, #status>;
    }
}

fn declaration(field: &AppliedField) -> TokenStream {
    let AppliedField {
        vis, ident, serde, ..
    } = field;
    let (docs, ty) = (documentation(field, "The field"), apply_type(&field.ty));
    if field.is_plain() {
        return quote!(#docs #[serde(#(#serde),*)] #vis #ident: #ty);
    }
    let with = field.with.as_ref().map(|with| quote!(with = #with, default,));
    let skip_if =
        (!field.is_flattened).then(|| quote!(skip_serializing_if = "::core::option::Option::is_none"));
    quote! {
        #docs
        #[serde(#(#serde,)* #with #skip_if)]
        #vis #ident: ::core::option::Option<#ty>
    }
}

/// Generates the method that sets a field; none if it had the constructor's name.
fn setter(field: &AppliedField) -> Option<TokenStream> {
    let AppliedField { vis, ident, .. } = field;
    if ident == "new" {
        return None;
    }
    let mut name = ident.clone();
    name.set_span(ident.span().resolved_at(Span::call_site()));
    let docs = documentation(field, "Sets the field");
    let (parameter, value) = parameter(&field.ty);
    let value = if field.is_plain() {
        value
    } else {
        quote!(::core::option::Option::Some(#value))
    };
    Some(quote! {
        #docs
        #vis fn #name(mut self, value: #parameter) -> Self {
            self.#name = #value;
            self
        }
    })
}

/// Returns the field's documentation, or one of its name.
fn documentation(field: &AppliedField, without: &str) -> TokenStream {
    if field.docs.is_empty() {
        let text = format!("{without} `{}`.", field.ident.unraw());
        return quote!(#[doc = #text]);
    }
    let docs = &field.docs;
    quote!(#(#docs)*)
}

/// Returns the type of a setter's parameter, and the value to store.
fn parameter(ty: &AppliedValue) -> (TokenStream, TokenStream) {
    let AppliedValue::Container {
        container,
        path,
        values,
    } = ty
    else {
        return single_parameter(ty);
    };
    let (item, value) = single_parameter(values);
    match container {
        Container::Vec => (
            quote!(impl ::core::iter::IntoIterator<Item = #item>),
            quote!(::core::iter::IntoIterator::into_iter(value).map(|value| #value).collect()),
        ),
        Container::Map => {
            let key = first_argument(path);
            (
                quote!(impl ::core::iter::IntoIterator<Item = (impl ::core::convert::Into<#key>, #item)>),
                quote! {
                    ::core::iter::IntoIterator::into_iter(value)
                        .map(|(key, value)| (::core::convert::Into::into(key), #value))
                        .collect()
                },
            )
        }
        Container::Box => (item, quote!(::std::boxed::Box::new(#value))),
        Container::Option => (apply_type(ty), quote!(value)),
    }
}

/// Returns the type of a parameter with a single value, and the value to store. Texts and nested structs are converted; others are not, since
/// a literal number would not get its type.
fn single_parameter(ty: &AppliedValue) -> (TokenStream, TokenStream) {
    let apply = apply_type(ty);
    let is_converted = match ty {
        AppliedValue::Nested { .. } => true,
        AppliedValue::Whole(Type::Path(path)) => {
            let last = path.path.segments.last();
            last.is_some_and(|last| last.ident == "String")
        }
        _ => false,
    };
    if is_converted {
        (
            quote!(impl ::core::convert::Into<#apply>),
            quote!(::core::convert::Into::into(value)),
        )
    } else {
        (apply, quote!(value))
    }
}

/// Returns the value of the field for that of the original struct.
fn from_original(field: &AppliedField) -> TokenStream {
    let ident = &field.ident;
    let original = quote!(value.#ident);
    let value = if field.is_optional {
        converted_values(Container::Option, &field.ty, &original)
    } else {
        converted(&field.ty, &original)
    };
    if field.is_plain() {
        let or_default = field.is_optional.then(|| quote!(.unwrap_or_default()));
        return quote!(#value #or_default);
    }
    let value = if field.is_optional {
        value
    } else {
        quote!(::core::option::Option::Some(#value))
    };
    match &field.skip_if {
        Some(skip_if) if !is_option_is_none(skip_if) => quote! {
            if #skip_if(&#original) { ::core::option::Option::None } else { #value }
        },
        _ => value,
    }
}

fn is_option_is_none(path: &syn::ExprPath) -> bool {
    let path = path.to_token_stream().to_string().replace(' ', "");
    path.ends_with("Option::is_none")
}

fn converted(ty: &AppliedValue, value: &TokenStream) -> TokenStream {
    match ty {
        AppliedValue::Whole(_) => value.clone(),
        AppliedValue::Nested { .. } => quote!(::core::convert::Into::into(#value)),
        AppliedValue::Container {
            container, values, ..
        } => converted_values(*container, values, value),
    }
}

/// Converts the values in a container.
fn converted_values(container: Container, values: &AppliedValue, value: &TokenStream) -> TokenStream {
    if !values.is_nested() {
        return value.clone();
    }
    let inner = converted(values, &quote!(value));
    match container {
        Container::Option => quote!(#value.map(|value| #inner)),
        Container::Vec => quote!(#value.into_iter().map(|value| #inner).collect()),
        Container::Map => quote!(#value.into_iter().map(|(key, value)| (key, #inner)).collect()),
        Container::Box => {
            let inner = converted(values, &quote!(*#value));
            quote!(::std::boxed::Box::new(#inner))
        }
    }
}

/// Returns the type with which values are applied.
fn apply_type(ty: &AppliedValue) -> TokenStream {
    match ty {
        AppliedValue::Whole(ty) => quote!(#ty),
        AppliedValue::Nested { apply, .. } => quote!(#apply),
        AppliedValue::Container { path, values, .. } => with_last_argument(path.clone(), apply_type(values)),
    }
}

fn with_last_argument(mut path: TypePath, values: TokenStream) -> TokenStream {
    if let Some(last) = path.path.segments.last_mut()
        && let PathArguments::AngleBracketed(arguments) = &mut last.arguments
        && let Some(argument) = arguments.args.last_mut()
    {
        *argument = GenericArgument::Type(Type::Verbatim(values));
    }
    path.to_token_stream()
}

/// Returns the type of a map's keys.
fn first_argument(path: &TypePath) -> Option<&GenericArgument> {
    match &path.path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.first(),
        _ => None,
    }
}
