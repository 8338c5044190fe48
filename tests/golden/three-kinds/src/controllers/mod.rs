//! The controllers of this operator, one per file. `src/main.rs` registers them.

pub mod backup_plan;
pub mod dns_policy;
pub mod foo;
pub mod node;

pub use backup_plan::BackupPlanController;
pub use dns_policy::DNSPolicyController;
pub use foo::FooController;
pub use node::NodeController;
