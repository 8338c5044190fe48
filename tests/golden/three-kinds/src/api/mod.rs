//! The kinds of this operator, one per file. `kubewright generate` generates the CRDs from them.

pub mod backup_plan;
pub mod dns_policy;
pub mod foo;

/// All kinds with their clients, listers and informers: `use crate::api::prelude::*;`.
pub mod prelude {
    pub use super::backup_plan::*;
    pub use super::dns_policy::*;
    pub use super::foo::*;
}
