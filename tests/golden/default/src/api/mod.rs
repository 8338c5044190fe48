//! The kinds of this operator, a file each. `kubewright generate` makes the CRDs from them.

pub mod foo;

/// All of them, with their clients, listers and informers: `use crate::api::prelude::*;`.
pub mod prelude {
    pub use super::foo::*;
}
