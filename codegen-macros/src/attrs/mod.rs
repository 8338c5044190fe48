//! What stands in the attributes, as it stands there. Read [`kube`], then [`informer`]; [`serde`] serves the types of indexes.

mod informer;
mod kube;
mod serde;

use darling::{Error, FromDeriveInput, Result};
use syn::{Data, DeriveInput};

pub(crate) use self::{
    informer::{IndexEntry, InformerAttrs},
    kube::KubeAttrs,
    serde::{FieldAttrs, SpecSerde},
};

/// Everything that the derive reads of its input, before anything is checked against anything else.
pub(crate) struct Attrs {
    pub(crate) kube: KubeAttrs,
    pub(crate) informer: InformerAttrs,
    pub(crate) serde: SpecSerde,
}

impl Attrs {
    /// Reads the attributes; the mistakes of all of them are reported together.
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let mut errors = Error::accumulator();
        if !matches!(input.data, Data::Struct(_)) {
            errors.push(
                Error::custom(
                    "`Informer` is derived for the struct of a kind's spec, not for an enum or union",
                )
                .with_span(&input.ident),
            );
        }
        if !input.generics.params.is_empty() {
            errors.push(
                Error::custom("the struct of a kind's spec has no generic parameters: a kind is one type")
                    .with_span(&input.generics),
            );
        }
        errors.finish()?;
        match (
            KubeAttrs::read(input),
            InformerAttrs::from_derive_input(input),
            SpecSerde::from_derive_input(input),
        ) {
            (Ok(kube), Ok(informer), Ok(serde)) => Ok(Self {
                kube,
                informer,
                serde,
            }),
            (kube, informer, serde) => {
                let errors = [kube.err(), informer.err(), serde.err()];
                Err(Error::multiple(errors.into_iter().flatten().collect()))
            }
        }
    }
}
