//! What stands in the attributes, as it stands there. Of `Informer`: read [`kube`], then [`informer`]; [`serde`] serves the types of
//! indexes. Of `Projection`: [`projection`].

mod informer;
mod kube;
mod projection;
mod serde;

use darling::{Error, FromDeriveInput, error::Accumulator};
use syn::{Data, DeriveInput};

pub(crate) use self::{
    informer::{IndexEntry, InformerAttrs},
    kube::KubeAttrs,
    projection::{ProjectionAttrs, ShownAttrs},
    serde::{FieldAttrs, SpecSerde, renamed},
};

/// Everything that `Informer` reads of its input, before anything is checked against anything else.
pub(crate) struct Attrs {
    pub(crate) kube: KubeAttrs,
    pub(crate) informer: InformerAttrs,
    pub(crate) serde: SpecSerde,
}

impl Attrs {
    /// Reads the attributes; the mistakes of all of them are reported together. None where nothing can be made of the kind.
    ///
    /// Without a right `#[informer(…)]` the kind is as if there were none: its items are there, so that the mistake is not
    /// hidden among those of code that uses them.
    pub(crate) fn read(input: &DeriveInput, errors: &mut Accumulator) -> Option<Self> {
        let is_struct = matches!(input.data, Data::Struct(_));
        if !is_struct {
            errors.push(
                Error::custom(
                    "`Informer` is derived for the struct of a kind's spec, not for an enum or union",
                )
                .with_span(&input.ident),
            );
        }
        let is_generic = !input.generics.params.is_empty();
        if is_generic {
            errors.push(
                Error::custom("the struct of a kind's spec has no generic parameters: a kind is one type")
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
