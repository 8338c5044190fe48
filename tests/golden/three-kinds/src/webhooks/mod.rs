//! The webhooks of this operator, one kind per file. `src/main.rs` registers them.

pub mod backup_plan;
pub mod dns_policy;
pub mod pod;

pub use backup_plan::BackupPlanWebhook;
pub use dns_policy::DNSPolicyWebhook;
pub use pod::PodWebhook;
