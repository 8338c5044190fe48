//! The kinds of this operator, a file each. `kubewright generate` makes the CRDs from them.

pub mod backup_plan;
pub mod dns_policy;
pub mod foo;

/// All of them, with their clients, listers and informers: `use crate::api::prelude::*;`.
pub mod prelude {
    pub use super::backup_plan::*;
    pub use super::dns_policy::*;
    pub use super::foo::*;
}
