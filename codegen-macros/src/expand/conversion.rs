//! Generates the implementation of `Convert`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Member, spanned::Spanned};

use crate::{
    attrs::{HubOnly, MissingValue},
    model::{Conversion, ConversionContent, ConvertRule, ConvertedField, ConvertedVariant},
};

/// Generates the implementation; a stub after an error, to avoid follow-up errors.
pub(super) fn expand(conversion: &Conversion, has_errors: bool) -> TokenStream {
    let Conversion {
        krate,
        ident,
        hub,
        content,
    } = conversion;
    let (to_hub, from_hub) = match content {
        Some(content) if !has_errors => match content {
            ConversionContent::Struct { fields, hub_only, .. } => (
                struct_to_hub(conversion, fields, hub_only),
                struct_from_hub(conversion, fields),
            ),
            ConversionContent::Enum { variants, hub_only } => (
                enum_to_hub(conversion, variants),
                enum_from_hub(conversion, variants, hub_only),
            ),
        },
        _ => (quote!(::core::unimplemented!()), quote!(::core::unimplemented!())),
    };
    let valid = content.as_ref().filter(|_| !has_errors);
    let describe = valid.and_then(|content| describe(conversion, content));
    quote! {
        #[automatically_derived]
        #[allow(unused_imports, unreachable_patterns, clippy::all, clippy::pedantic)]
        impl #krate::conversion::Convert for #ident {
            type Hub = #hub;

            fn to_hub(self) -> ::core::result::Result<Self::Hub, #krate::conversion::ConvertError> {
                use #krate::conversion::rules::ConvertField as _;
                #to_hub
            }

            fn from_hub(__hub: Self::Hub) -> ::core::result::Result<Self, #krate::conversion::ConvertError> {
                use #krate::conversion::rules::ConvertField as _;
                #from_hub
            }

            #describe
        }
    }
}

/// Describes the rules. None for an enum with rules of its own: the trait's default is for it.
fn describe(conversion: &Conversion, content: &ConversionContent) -> Option<TokenStream> {
    let of_type = |field: &ConvertedField, closure: &TokenStream| {
        let rule = rule(conversion, field, closure);
        let [name, hub] = &field.json_names;
        let described = quote_spanned!(span(field)=> #rule.describe(__rules));
        quote!(__rules.field(#name, #hub, |__rules| #described);)
    };
    let (has_fields, rules) = match content {
        ConversionContent::Struct {
            fields,
            hub_only_names,
            has_fields,
            ..
        } => {
            let of_field = |field: &ConvertedField| {
                let [name, hub] = &field.json_names;
                match field.rule {
                    ConvertRule::ByType => of_type(field, &struct_closure(conversion, field)),
                    ConvertRule::With(_) => quote!(__rules.function(#name, #hub);),
                    ConvertRule::Dropped(_) => quote!(__rules.dropped(#name);),
                }
            };
            let rules = fields.iter().map(of_field);
            let hub_only = hub_only_names.iter().map(|name| quote!(__rules.hub_only(#name);));
            (*has_fields, rules.chain(hub_only).collect::<Vec<_>>())
        }
        ConversionContent::Enum { variants, hub_only } => {
            let by_type = |field: &ConvertedField| {
                matches!(field.rule, ConvertRule::ByType) && field.hub == field.member
            };
            let is_same = |variant: &ConvertedVariant| {
                variant.hub == variant.ident
                    && variant.replacement.is_none()
                    && variant.fields.iter().all(by_type)
            };
            if !hub_only.is_empty() || !variants.iter().all(is_same) {
                return None;
            }
            let of_variant = |variant: &ConvertedVariant| {
                let fields = variant.fields.iter();
                fields
                    .map(|field| of_type(field, &variant_closure(conversion, variant, field)))
                    .collect::<Vec<_>>()
            };
            (false, variants.iter().flat_map(of_variant).collect())
        }
    };
    let krate = &conversion.krate;
    Some(quote! {
        fn describe(__rules: &mut #krate::conversion::rules::FieldRules) {
            use #krate::conversion::rules::ConvertField as _;
            __rules.of_type::<Self>(#has_fields, |__rules| { #(#rules)* });
        }
    })
}

fn struct_to_hub(conversion: &Conversion, fields: &[ConvertedField], hub_only: &[HubOnly]) -> TokenStream {
    let (krate, hub) = (&conversion.krate, &conversion.hub);
    // Functions get the whole struct, so they are called before its fields are moved.
    let computed = hub_only.iter().filter_map(|HubOnly { name, value }| match value {
        MissingValue::From(function) => {
            let binding = hub_only_binding(name);
            Some(quote_spanned!(function.span()=> let #binding = #function(&self);))
        }
        _ => None,
    });
    let bindings = fields.iter().map(binding);
    let converted = fields.iter().filter_map(|field| {
        let value = to_hub(conversion, field, &struct_closure(conversion, field))?;
        let hub = &field.hub;
        Some(quote!(#hub: #value))
    });
    let added = hub_only.iter().map(|HubOnly { name, value }| {
        let value = match value {
            MissingValue::TypeDefault => quote_spanned!(name.span()=> ::core::default::Default::default()),
            MissingValue::Expr(value) => value.to_token_stream(),
            MissingValue::From(_) => {
                let binding = hub_only_binding(name);
                let text = name.to_string();
                quote!(#krate::conversion::rules::outcome(#binding).map_err(|error| error.in_field(#text))?)
            }
        };
        quote!(#name: #value)
    });
    quote! {
        #(#computed)*
        let Self { #(#bindings),* } = self;
        ::core::result::Result::Ok(#hub { #(#converted,)* #(#added,)* })
    }
}

fn struct_from_hub(conversion: &Conversion, fields: &[ConvertedField]) -> TokenStream {
    let computed = fields.iter().filter_map(|field| match &field.rule {
        ConvertRule::Dropped(MissingValue::From(function)) => {
            let binding = &field.binding;
            Some(quote_spanned!(function.span()=> let #binding = #function(&__hub);))
        }
        _ => None,
    });
    let converted = fields.iter().map(|field| {
        let (member, hub) = (&field.member, &field.hub);
        let value = quote_spanned!(span(field)=> __hub.#hub);
        let value = from_hub(conversion, field, &struct_closure(conversion, field), &value);
        quote!(#member: #value)
    });
    quote! {
        #(#computed)*
        ::core::result::Result::Ok(Self { #(#converted),* })
    }
}

fn enum_to_hub(conversion: &Conversion, variants: &[ConvertedVariant]) -> TokenStream {
    let hub = &conversion.hub;
    let arms = variants.iter().map(|variant| {
        let ident = &variant.ident;
        if let Some(replacement) = &variant.replacement {
            return quote!(Self::#ident { .. } => #replacement);
        }
        let bindings = variant.fields.iter().map(binding);
        let converted = variant.fields.iter().filter_map(|field| {
            let value = to_hub(conversion, field, &variant_closure(conversion, variant, field))?;
            let hub = &field.hub;
            Some(quote!(#hub: #value))
        });
        let hub_variant = &variant.hub;
        quote!(Self::#ident { #(#bindings),* } => #hub::#hub_variant { #(#converted),* })
    });
    quote! {
        ::core::result::Result::Ok(match self {
            #(#arms,)*
        })
    }
}

fn enum_from_hub(
    conversion: &Conversion,
    variants: &[ConvertedVariant],
    hub_only: &[(Ident, syn::Expr)],
) -> TokenStream {
    let hub = &conversion.hub;
    let arms = variants
        .iter()
        .filter(|variant| variant.replacement.is_none())
        .map(|variant| {
            let (ident, hub_variant) = (&variant.ident, &variant.hub);
            let bindings = variant.fields.iter().filter_map(|field| {
                let (hub, binding) = (&field.hub, &field.binding);
                (!is_dropped(field)).then(|| quote!(#hub: #binding))
            });
            let converted = variant.fields.iter().map(|field| {
                let closure = variant_closure(conversion, variant, field);
                let (member, binding) = (&field.member, &field.binding);
                let value = from_hub(conversion, field, &closure, &quote!(#binding));
                quote!(#member: #value)
            });
            quote!(#hub::#hub_variant { #(#bindings,)* .. } => Self::#ident { #(#converted),* })
        });
    let replaced = hub_only
        .iter()
        .map(|(variant, replacement)| quote!(#hub::#variant { .. } => #replacement));
    // Variants of the hub without a rule are reported here.
    let scrutinee = quote_spanned!(hub.span().resolved_at(Span::call_site())=> __hub);
    quote! {
        ::core::result::Result::Ok(match #scrutinee {
            #(#arms,)*
            #(#replaced,)*
        })
    }
}

fn is_dropped(field: &ConvertedField) -> bool {
    matches!(field.rule, ConvertRule::Dropped(_))
}

/// Binds a field's value in a pattern.
fn binding(field: &ConvertedField) -> TokenStream {
    let (member, binding) = (&field.member, &field.binding);
    if is_dropped(field) {
        quote!(#member: _)
    } else {
        quote!(#member: #binding)
    }
}

/// The value of the hub's field; none if the hub has none.
fn to_hub(conversion: &Conversion, field: &ConvertedField, closure: &TokenStream) -> Option<TokenStream> {
    let (krate, binding, name) = (&conversion.krate, &field.binding, &field.name);
    let span = span(field);
    let result = match &field.rule {
        ConvertRule::ByType => {
            let (rule, ty) = (rule(conversion, field, closure), &field.ty);
            quote_spanned!(span=> #rule.to_hub::<#ty>(#binding))
        }
        ConvertRule::With(functions) => {
            let function = &functions.to_hub;
            let converted = quote_spanned!(function.span()=> #function(#binding));
            quote_spanned!(span=> #krate::conversion::rules::outcome(#converted))
        }
        ConvertRule::Dropped(_) => return None,
    };
    Some(quote!(#result.map_err(|error| error.in_field(#name))?))
}

/// The value of the own field; `value` is the hub's.
fn from_hub(
    conversion: &Conversion,
    field: &ConvertedField,
    closure: &TokenStream,
    value: &TokenStream,
) -> TokenStream {
    let (krate, binding, name) = (&conversion.krate, &field.binding, &field.name);
    let span = span(field);
    let result = match &field.rule {
        ConvertRule::ByType => {
            let (rule, ty) = (rule(conversion, field, closure), &field.ty);
            quote_spanned!(span=> #rule.from_hub::<#ty>(#value))
        }
        ConvertRule::With(functions) => {
            let function = &functions.from_hub;
            let converted = quote_spanned!(function.span()=> #function(#value));
            quote_spanned!(span=> #krate::conversion::rules::outcome(#converted))
        }
        ConvertRule::Dropped(MissingValue::TypeDefault) => {
            return quote_spanned!(span=> ::core::default::Default::default());
        }
        ConvertRule::Dropped(MissingValue::Expr(value)) => return value.to_token_stream(),
        ConvertRule::Dropped(MissingValue::From(_)) => {
            quote_spanned!(span=> #krate::conversion::rules::outcome(#binding))
        }
    };
    quote!(#result.map_err(|error| error.in_field(#name))?)
}

/// The rule by the types of both fields.
fn rule(conversion: &Conversion, field: &ConvertedField, closure: &TokenStream) -> TokenStream {
    let (krate, ty) = (&conversion.krate, &field.ty);
    quote_spanned!(span(field)=> #krate::conversion::rules::field::<#ty, _, _>(#closure).rule())
}

/// Reads the field of the hub: its type is the rule's, and the error that there is none names the attributes to add.
fn struct_closure(conversion: &Conversion, field: &ConvertedField) -> TokenStream {
    let (krate, hub_type, hub) = (&conversion.krate, &conversion.hub, &field.hub);
    quote! {
        |__hub: &#krate::conversion::rules::AddConvertRenamedOrDropped<#hub_type>| &__hub.#hub
    }
}

fn variant_closure(
    conversion: &Conversion,
    variant: &ConvertedVariant,
    field: &ConvertedField,
) -> TokenStream {
    let (hub_type, hub_variant, hub) = (&conversion.hub, &variant.hub, &field.hub);
    quote! {
        |__hub: &#hub_type| match __hub {
            #hub_type::#hub_variant { #hub: __field, .. } => __field,
            _ => ::core::unreachable!(),
        }
    }
}

fn hub_only_binding(name: &Ident) -> Ident {
    quote::format_ident!("__hub_only_{name}")
}

/// Where errors of the field belong.
fn span(field: &ConvertedField) -> Span {
    let span = match &field.member {
        Member::Named(ident) => ident.span(),
        Member::Unnamed(_) => field.ty.span(),
    };
    span.resolved_at(Span::call_site())
}
