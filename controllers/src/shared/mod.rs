//! What several controllers share. Of pods, namespaces and service accounts the informers keep what the controllers read: [`pod`],
//! [`namespace`], [`service_account`]; [`ended`] finds what a change removed. A reconcile uses the others in this order: [`orphans`] (objects that may be adopted),
//! [`label_matcher`], [`claim`] (which objects belong to an owner), [`controller_revisions`] (the owner's former pod templates; [`semantic`] with
//! [`quantity`] compares templates, [`name_hash`] names what is made from one), [`active_pods`] (which pods to delete first), [`pod_control`] (writes pods).

#[cfg(feature = "workloads")]
pub(crate) mod active_pods;
#[cfg(feature = "workloads")]
pub(crate) mod claim;
#[cfg(feature = "workloads")]
pub(crate) mod controller_revisions;
#[cfg(any(feature = "core", feature = "gc"))]
pub(crate) mod discovery;
pub(crate) mod ended;
#[cfg(feature = "workloads")]
pub(crate) mod finished_job;
#[cfg(feature = "workloads")]
pub(crate) mod label_matcher;
#[cfg(any(feature = "core", feature = "gc"))]
pub(crate) mod metadata_client;
#[cfg(feature = "workloads")]
pub(crate) mod name_hash;
#[cfg(feature = "core")]
pub(crate) mod namespace;
#[cfg(feature = "gc")]
pub(crate) mod node;
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
