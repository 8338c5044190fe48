//! Parsed attributes, not yet validated. Those of `Informer` are in [`kube`] and [`informer`], and [`serde`] for the types of indexes;
//! those of `Projection` in [`projection`], those of `Convert` in [`convert`], those of `ApplyConfiguration` in [`apply`].

mod apply;
mod convert;
mod informer;
mod kube;
mod projection;
mod serde;

use darling::{Error, FromDeriveInput, error::Accumulator};
use syn::{Data, DeriveInput};

pub(crate) use self::{
    apply::{AppliedFieldAttrs, ApplyAttrs, SerdeKeys},
    convert::{ConvertAttrs, ConvertRuleAttrs, HubOnly, MissingValue, WithFunctions},
    informer::{IndexEntry, InformerAttrs},
    kube::{KubeAttrs, SchemaMode},
    projection::{ProjectedFieldAttrs, ProjectionAttrs},
    serde::{FieldAttrs, SpecSerde, renamed},
};

/// All attributes that `Informer` reads, before cross-validation.
pub(crate) struct Attrs {
    pub(crate) kube: KubeAttrs,
    pub(crate) informer: InformerAttrs,
    pub(crate) serde: SpecSerde,
}

impl Attrs {
    /// Parses the attributes and reports the errors of all of them together. None if the kind cannot be expanded.
    ///
    /// An invalid `#[informer(…)]` counts as absent: the items are still generated, so that its error is not lost among errors
    /// about missing items.
    pub(crate) fn read(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let is_struct = matches!(input.data, Data::Struct(_));
        if !is_struct {
            errors.push(
                Error::custom(
                    "`Informer` can only be derived for the spec struct of a kind, not for an enum or union",
                )
                .with_span(&input.ident),
            );
        }
        let is_generic = !input.generics.params.is_empty();
        if is_generic {
            errors.push(
                Error::custom("the spec struct of a kind cannot have generic parameters: a kind is one type")
                    .with_span(&input.generics),
            );
        }
        if !is_struct || is_generic {
            return None;
        }
        let kube = errors.handle(KubeAttrs::read(input));
        let informer = errors.handle(InformerAttrs::from_derive_input(input));
        let serde = errors.handle(SpecSerde::from_derive_input(input));
        Some(Self {
            kube: kube?,
            informer: informer.unwrap_or_default(),
            serde: serde?,
        })
    }
}
