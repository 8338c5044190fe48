//! What is read of `#[kube(…)]`. The attribute is kube-derive's: what is not needed here is not looked at.

use darling::{
    Error, FromDeriveInput, Result,
    util::{Ignored, SpannedValue},
};
use syn::DeriveInput;

/// `#[kube(…)]`, in as many attributes as there are.
#[derive(FromDeriveInput)]
#[darling(attributes(kube), allow_unknown_fields)]
struct Raw {
    kind: Option<SpannedValue<String>>,
    group: Option<SpannedValue<String>>,
    version: Option<SpannedValue<String>>,
    root: Option<SpannedValue<String>>,
    plural: Option<SpannedValue<String>>,
    singular: Option<String>,
    status: Option<Ignored>,
    scale: Option<SpannedValue<Ignored>>,
    #[darling(default)]
    no_spec: bool,
}

/// [`Raw`], with all that a kind must have.
pub(crate) struct KubeAttrs {
    pub(crate) kind: SpannedValue<String>,
    pub(crate) group: SpannedValue<String>,
    pub(crate) version: SpannedValue<String>,
    pub(crate) root: Option<SpannedValue<String>>,
    pub(crate) plural: Option<SpannedValue<String>>,
    pub(crate) singular: Option<String>,
    pub(crate) has_status: bool,
    pub(crate) scale: Option<SpannedValue<Ignored>>,
    pub(crate) no_spec: bool,
}

impl KubeAttrs {
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let Some(attribute) = input
            .attrs
            .iter()
            .find(|attribute| attribute.path().is_ident("kube"))
        else {
            return Err(Error::custom(
                "`Informer` works on what `CustomResource` makes: derive both, and describe the kind with \
                 `#[kube(group = \"…\", version = \"…\", kind = \"…\")]`",
            )
            .with_span(&input.ident));
        };
        let raw = Raw::from_derive_input(input)?;
        let mut errors = Error::accumulator();
        let mut required = |value: Option<SpannedValue<String>>, key: &str| {
            let missing =
                || Error::custom(format!("`#[kube(…)]` lacks `{key} = \"…\"`")).with_span(attribute.path());
            errors.handle(value.ok_or_else(missing)).unwrap_or_default()
        };
        let kube = Self {
            kind: required(raw.kind, "kind"),
            group: required(raw.group, "group"),
            version: required(raw.version, "version"),
            root: raw.root,
            plural: raw.plural,
            singular: raw.singular,
            has_status: raw.status.is_some(),
            scale: raw.scale,
            no_spec: raw.no_spec,
        };
        errors.finish_with(kube)
    }
}
