//! Validated models of the derives' inputs: all that `expand` needs. One file per derive.

mod informer;
mod projection;

pub(crate) use self::{
    informer::{Index, Model},
    projection::{Cardinality, ProjectedField, Projection, ProjectionContent},
};
