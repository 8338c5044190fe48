//! What several controllers share. Of pods, namespaces and service accounts the informers keep what the controllers read: [`pod`],
//! [`namespace`], [`service_account`]. [`claim`] finds the objects that belong to an owner, [`label_matcher`] those that a selector matches.

#[cfg(feature = "workloads")]
pub(crate) mod claim;
#[cfg(feature = "workloads")]
pub(crate) mod label_matcher;
#[cfg(feature = "core")]
pub(crate) mod namespace;
#[cfg(feature = "workloads")]
pub(crate) mod pod;
#[cfg(feature = "core")]
pub(crate) mod service_account;
