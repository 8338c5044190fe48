//! Validated models of the derives' inputs: all that `expand` needs. One file per derive, and `spec_types` for the types in a custom resource.

mod apply;
mod conversion;
mod informer;
mod projection;
mod spec_types;

pub(crate) use self::{
    informer::{Index, Model},
    projection::{Cardinality, ProjectedField, Projection, ProjectionContent},
};
pub(crate) use apply::{AppliedField, AppliedKind, AppliedStruct, AppliedValue, Container};
pub(crate) use conversion::{Conversion, ConversionContent, ConvertRule, ConvertedField, ConvertedVariant};
