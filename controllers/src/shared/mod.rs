//! What several controllers share, in the order in which a reconcile uses it: [`pod`] (what is read of a pod), [`orphans`] (objects that
//! may be adopted), [`label_matcher`], [`claim`] (which objects belong to an owner), [`active_pods`] (which pods to delete first),
//! [`pod_control`] (writes pods).

pub(crate) mod active_pods;
pub(crate) mod claim;
pub(crate) mod label_matcher;
pub(crate) mod orphans;
pub(crate) mod pod;
pub(crate) mod pod_control;
