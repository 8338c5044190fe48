//! The kinds of this operator, one per file. `kubewright generate` generates the CRDs from them.

pub mod foo;

/// All kinds with their clients, listers and informers: `use crate::api::prelude::*;`.
pub mod prelude {
    pub use super::foo::*;
}
