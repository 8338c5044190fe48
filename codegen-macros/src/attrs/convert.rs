//! `#[convert(…)]` on the type, on its fields and on its variants.

use darling::{Error, FromAttributes, FromDeriveInput, FromMeta, Result, ast::NestedMeta, util::parse_expr};
use syn::{
    Expr, Ident, LitStr, Meta, Path, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    parse_quote,
};

/// All `#[convert(…)]` attributes of the type.
#[derive(Default, FromDeriveInput)]
#[darling(attributes(convert))]
pub(crate) struct ConvertAttrs {
    #[darling(rename = "crate")]
    pub(crate) krate: Option<Path>,
    pub(crate) hub: Option<Path>,
    #[darling(multiple)]
    pub(crate) hub_only: Vec<HubOnly>,
}

/// The `#[convert(…)]` attributes of a field or variant.
#[derive(FromAttributes)]
#[darling(attributes(convert))]
pub(crate) struct ConvertRuleAttrs {
    pub(crate) renamed: Option<LitStr>,
    pub(crate) with: Option<WithFunctions>,
    #[darling(default)]
    pub(crate) dropped: bool,
    #[darling(default, with = parse_expr::preserve_str_literal, map = Some)]
    pub(crate) default: Option<Expr>,
    pub(crate) from: Option<Path>,
}

/// `hub_only(name)`, `hub_only(name, default = expr)` or `hub_only(name, from = path)`.
pub(crate) struct HubOnly {
    pub(crate) name: Ident,
    pub(crate) value: MissingValue,
}

/// The value of a field or variant that the converted side lacks.
pub(crate) enum MissingValue {
    /// The default of its type.
    TypeDefault,
    Expr(Box<Expr>),
    /// A function of the converted value.
    From(Path),
}

/// The functions of `with`, both directions.
pub(crate) struct WithFunctions {
    pub(crate) to_hub: Path,
    pub(crate) from_hub: Path,
}

impl FromMeta for HubOnly {
    fn from_meta(item: &Meta) -> Result<Self> {
        let Meta::List(list) = item else {
            let message = "expected the name in the hub, as in `hub_only(replicas, default = 1)`";
            return Err(Error::custom(message).with_span(item));
        };
        Ok(list.parse_args()?)
    }
}

impl Parse for HubOnly {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = Ident::parse_any(input)?;
        if input.is_empty() {
            let value = MissingValue::TypeDefault;
            return Ok(Self { name, value });
        }
        input.parse::<Token![,]>()?;
        let key = Ident::parse_any(input)?;
        let value = if key == "default" {
            input.parse::<Token![=]>()?;
            MissingValue::Expr(input.parse()?)
        } else if key == "from" {
            input.parse::<Token![=]>()?;
            MissingValue::From(input.parse()?)
        } else {
            let message = "expected `default = expression` or `from = function`";
            return Err(syn::Error::new(key.span(), message));
        };
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { name, value })
    }
}

impl FromMeta for WithFunctions {
    fn from_expr(module: &Expr) -> Result<Self> {
        let Expr::Path(module) = module else {
            let message = "expected the path of a module with the functions `to_hub` and `from_hub`";
            return Err(Error::custom(message).with_span(module));
        };
        let module = &module.path;
        Ok(Self {
            to_hub: parse_quote!(#module::to_hub),
            from_hub: parse_quote!(#module::from_hub),
        })
    }

    fn from_list(items: &[NestedMeta]) -> Result<Self> {
        #[derive(FromMeta)]
        struct Functions {
            to_hub: Path,
            from_hub: Path,
        }
        let Functions { to_hub, from_hub } = Functions::from_list(items)?;
        Ok(Self { to_hub, from_hub })
    }
}

impl ConvertRuleAttrs {
    /// Returns the name in the hub, with the span of the attribute.
    pub(crate) fn hub_name(&self) -> Result<Option<Ident>> {
        let Some(text) = &self.renamed else {
            return Ok(None);
        };
        let name = text.parse_with(Ident::parse_any);
        name.map(Some).map_err(|_| {
            Error::custom("expected the name in the hub's Rust code, as in `renamed = \"max_size\"`")
                .with_span(text)
        })
    }

    /// Returns the value of something that the hub lacks, when the hub is converted.
    pub(crate) fn missing_value(&self) -> Result<MissingValue> {
        match (&self.default, &self.from) {
            (None, None) => Ok(MissingValue::TypeDefault),
            (Some(value), None) => Ok(MissingValue::Expr(Box::new(value.clone()))),
            (None, Some(function)) => Ok(MissingValue::From(function.clone())),
            (Some(value), Some(_)) => {
                Err(Error::custom("write `default` or `from`, not both").with_span(value))
            }
        }
    }

    /// Fails if the attributes contradict each other.
    pub(crate) fn check(&self, at: &Ident) -> Result<()> {
        let error = |message: &str| Err(Error::custom(message).with_span(at));
        if self.dropped && (self.renamed.is_some() || self.with.is_some()) {
            return error("`dropped` says that the hub has none: remove `dropped`, or `renamed` and `with`");
        }
        if !self.dropped && (self.default.is_some() || self.from.is_some()) {
            return error(
                "`default` and `from` give the value of what the hub lacks: add `dropped`, or convert the value with `with`",
            );
        }
        Ok(())
    }
}
