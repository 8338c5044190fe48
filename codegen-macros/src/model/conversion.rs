//! The validated model of a conversion between a type and that of the hub.

use darling::{Error, FromAttributes, FromDeriveInput, Result, error::Accumulator};
use proc_macro2::Span;
use quote::format_ident;
use syn::{
    Data, DeriveInput, Expr, Field, Fields, Ident, Index, Member, Path, Type, Variant, ext::IdentExt,
    parse_quote, spanned::Spanned,
};

use crate::attrs::{
    ConvertAttrs, ConvertRuleAttrs, FieldAttrs, HubOnly, MissingValue, SpecSerde, WithFunctions,
};

/// A type of another version, and the hub's.
pub(crate) struct Conversion {
    /// Path of the kubewright crate.
    pub(crate) krate: Path,
    pub(crate) ident: Ident,
    pub(crate) hub: Path,
    /// None after an error.
    pub(crate) content: Option<ConversionContent>,
}

/// The rules of a type.
pub(crate) enum ConversionContent {
    Struct {
        fields: Vec<ConvertedField>,
        /// Fields that only the hub has.
        hub_only: Vec<HubOnly>,
        /// Their names in JSON.
        hub_only_names: Vec<String>,
        /// Whether the JSON consists of the fields, or is that of the only field.
        has_fields: bool,
    },
    Enum {
        variants: Vec<ConvertedVariant>,
        /// Variants that only the hub has, with the value in their place.
        hub_only: Vec<(Ident, Expr)>,
    },
}

/// A field and its rule.
pub(crate) struct ConvertedField {
    pub(crate) member: Member,
    pub(crate) hub: Member,
    /// The local variable with its value.
    pub(crate) binding: Ident,
    pub(crate) ty: Type,
    /// Its name in errors.
    pub(crate) name: String,
    /// Its name in JSON, and that of the hub's field; empty if the JSON of the value is the JSON around it.
    pub(crate) json_names: [String; 2],
    pub(crate) rule: ConvertRule,
}

/// How a field is converted.
pub(crate) enum ConvertRule {
    /// By the types of both fields.
    ByType,
    With(WithFunctions),
    /// The hub has none.
    Dropped(MissingValue),
}

/// A variant and its rule.
pub(crate) struct ConvertedVariant {
    pub(crate) ident: Ident,
    pub(crate) hub: Ident,
    pub(crate) fields: Vec<ConvertedField>,
    /// The hub's value in its place, if the hub has no such variant.
    pub(crate) replacement: Option<Expr>,
}

impl Conversion {
    /// Reads and validates the attributes, and reports every error. None if the hub is unknown.
    pub(crate) fn of(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        if !input.generics.params.is_empty() {
            let message = "a type of a custom resource that is converted cannot have generic parameters";
            errors.push(Error::custom(message).with_span(&input.generics));
            return None;
        }
        let attrs = errors.handle(ConvertAttrs::from_derive_input(input))?;
        let Some(hub) = attrs.hub else {
            let message =
                "the hub's type is missing: name it, as in `#[convert(hub = crate::api::foo::v1::FooSpec)]`";
            errors.push(Error::custom(message).with_span(&input.ident));
            return None;
        };
        let content = match &input.data {
            Data::Struct(data) => Some(struct_content(input, &data.fields, attrs.hub_only, errors)),
            Data::Enum(data) => {
                let variants = data.variants.iter();
                let variants: Vec<_> = variants
                    .filter_map(|variant| errors.handle(converted_variant(variant)))
                    .collect();
                let hub_only = attrs.hub_only.into_iter();
                let hub_only: Vec<_> = hub_only
                    .filter_map(|variant| errors.handle(hub_only_variant(variant)))
                    .collect();
                Some(ConversionContent::Enum { variants, hub_only })
            }
            Data::Union(_) => {
                let message = "`Convert` is derived for a struct or an enum, not for a union";
                errors.push(Error::custom(message).with_span(&input.ident));
                None
            }
        };
        Some(Self {
            krate: attrs.krate.unwrap_or_else(|| parse_quote!(::kubewright)),
            ident: input.ident.clone(),
            hub,
            content,
        })
    }
}

fn struct_content(
    input: &DeriveInput,
    fields: &Fields,
    hub_only: Vec<HubOnly>,
    errors: &mut Accumulator,
) -> ConversionContent {
    // serde-derive reports errors in its attributes.
    let serde = SpecSerde::from_derive_input(input).ok();
    let named: Vec<&FieldAttrs> = serde.iter().flat_map(SpecSerde::fields).collect();
    let renamed = |name: &Ident| {
        let name = name.unraw().to_string();
        let renamed = serde.as_ref().and_then(|serde| serde.renamed(&name).ok());
        renamed.unwrap_or(name)
    };
    let converted = fields.iter().enumerate().filter_map(|(at, field)| {
        let attrs = named.get(at);
        let name = serde
            .as_ref()
            .zip(attrs)
            .and_then(|(serde, field)| serde.json_name(field).ok())
            .filter(|name| !name.is_empty());
        let mut converted = errors.handle(converted_field(at, field, name))?;
        let is_field = attrs.is_some_and(|field| field.flatten.is_none());
        converted.json_names = match &converted.hub {
            _ if !is_field => Default::default(),
            hub if *hub == converted.member => [converted.name.clone(), converted.name.clone()],
            Member::Named(hub) => [converted.name.clone(), renamed(hub)],
            Member::Unnamed(_) => Default::default(),
        };
        Some(converted)
    });
    ConversionContent::Struct {
        fields: converted.collect(),
        hub_only_names: hub_only.iter().map(|field| renamed(&field.name)).collect(),
        hub_only,
        has_fields: serde.as_ref().is_some_and(SpecSerde::is_written_as_fields)
            && (named.len() == fields.len() || fields.len() == 1),
    }
}

fn converted_field(at: usize, field: &Field, json_name: Option<String>) -> Result<ConvertedField> {
    let attrs = ConvertRuleAttrs::from_attributes(&field.attrs)?;
    let member = member(at, field);
    let place = field
        .ident
        .clone()
        .unwrap_or_else(|| Ident::new("field", field.ty.span()));
    attrs.check(&place)?;
    let hub = match attrs.hub_name()? {
        Some(name) => Member::Named(name),
        None => member.clone(),
    };
    let name = match &member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    };
    let rule = match attrs.with {
        _ if attrs.dropped => ConvertRule::Dropped(attrs.missing_value()?),
        Some(functions) => ConvertRule::With(functions),
        None => ConvertRule::ByType,
    };
    Ok(ConvertedField {
        binding: format_ident!("__{name}", span = place.span().resolved_at(Span::call_site())),
        name: json_name.unwrap_or(name),
        json_names: Default::default(),
        member,
        hub,
        ty: field.ty.clone(),
        rule,
    })
}

/// Returns the field's name or number, with a span where its errors belong.
fn member(at: usize, field: &Field) -> Member {
    match &field.ident {
        Some(ident) => Member::Named(ident.clone()),
        None => Member::Unnamed(Index {
            index: u32::try_from(at).unwrap_or(u32::MAX),
            span: field.ty.span(),
        }),
    }
}

fn converted_variant(variant: &Variant) -> Result<ConvertedVariant> {
    let attrs = ConvertRuleAttrs::from_attributes(&variant.attrs)?;
    attrs.check(&variant.ident)?;
    if attrs.with.is_some() || attrs.from.is_some() {
        let message = "`with` and `from` are for fields: write `renamed`, or `dropped, default = …` with the hub's value in its place";
        return Err(Error::custom(message).with_span(&variant.ident));
    }
    let ident = variant.ident.clone();
    let hub = attrs.hub_name()?.unwrap_or_else(|| ident.clone());
    if attrs.dropped {
        let Some(replacement) = attrs.default else {
            let message = "a dropped variant needs the hub's value in its place: `dropped, default = …`";
            return Err(Error::custom(message).with_span(&variant.ident));
        };
        return Ok(ConvertedVariant {
            ident,
            hub,
            fields: Vec::new(),
            replacement: Some(replacement),
        });
    }
    let fields = variant.fields.iter().enumerate();
    let fields = fields.map(|(at, field)| {
        let converted = converted_field(at, field, None)?;
        match converted.rule {
            ConvertRule::Dropped(MissingValue::From(function)) => {
                let message = "`from` is for fields of structs: write `default`";
                Err(Error::custom(message).with_span(&function))
            }
            _ => Ok(converted),
        }
    });
    Ok(ConvertedVariant {
        fields: fields.collect::<Result<_>>()?,
        ident,
        hub,
        replacement: None,
    })
}

fn hub_only_variant(variant: HubOnly) -> Result<(Ident, Expr)> {
    let MissingValue::Expr(value) = variant.value else {
        let message = "a variant that only the hub has needs the value in its place, as in `hub_only(Fast, default = Self::Normal)`";
        return Err(Error::custom(message).with_span(&variant.name));
    };
    Ok((variant.name, *value))
}
