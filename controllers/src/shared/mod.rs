//! What several controllers share. Of pods, nodes, namespaces and service accounts the informers keep what the controllers read: [`pod`],
//! [`node`], [`namespace`], [`service_account`]; [`ended`] finds what a change removed. [`node_affinity`] and [`taints`] say on which nodes a
//! pod may run, [`int_or_percent`] resolves limits of rollouts. A reconcile uses the others in this order: [`orphans`] (objects that may be
//! adopted), [`label_matcher`], [`claim`] (which objects belong to an owner), [`controller_revisions`] (the owner's former pod templates;
//! [`semantic`] with [`quantity`] compares templates, [`name_hash`] names what is made from one), [`active_pods`] (which pods to delete first),
//! [`pod_control`] (writes pods).
//! [`metrics`] are the metrics that several controllers have. [`invalid_objects`] logs and counts objects that the controllers ignore,
//! `discovery_failures` API groups that do not answer `discovery`.

#[cfg(feature = "workloads")]
pub(crate) mod active_pods;
#[cfg(feature = "workloads")]
pub(crate) mod claim;
#[cfg(feature = "workloads")]
pub(crate) mod controller_revisions;
#[cfg(any(feature = "core", feature = "gc"))]
pub(crate) mod discovery;
#[cfg(any(feature = "core", feature = "gc"))]
pub(crate) mod discovery_failures;
pub(crate) mod ended;
#[cfg(feature = "workloads")]
pub(crate) mod finished_job;
#[cfg(feature = "workloads")]
pub(crate) mod int_or_percent;
pub(crate) mod invalid_objects;
#[cfg(feature = "workloads")]
pub(crate) mod label_matcher;
#[cfg(any(feature = "gc", feature = "workloads"))]
mod label_syntax;
#[cfg(any(feature = "core", feature = "gc"))]
pub(crate) mod metadata_client;
pub(crate) mod metrics;
#[cfg(feature = "workloads")]
pub(crate) mod name_hash;
#[cfg(feature = "core")]
pub(crate) mod namespace;
#[cfg(any(feature = "gc", feature = "workloads"))]
pub(crate) mod node;
#[cfg(any(feature = "gc", feature = "workloads"))]
pub(crate) mod node_affinity;
#[cfg(feature = "workloads")]
pub(crate) mod orphans;
#[cfg(any(feature = "gc", feature = "workloads"))]
pub(crate) mod pod;
#[cfg(feature = "workloads")]
pub(crate) mod pod_control;
#[cfg(feature = "workloads")]
mod quantity;
#[cfg(feature = "workloads")]
pub(crate) mod semantic;
#[cfg(feature = "core")]
pub(crate) mod service_account;
#[cfg(feature = "workloads")]
pub(crate) mod taints;
