//! What is known to be right of what a derive was given: all that `expand` needs. A file per derive.

mod informer;
mod projection;

pub(crate) use self::{
    informer::{Index, Model},
    projection::{Content, Projection, Shown, Values},
};
