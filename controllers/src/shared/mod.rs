//! What several controllers share, in the order in which a reconcile uses it: [`pod`] (what is read of a pod), [`claim`] (which objects
//! belong to an owner), [`label_matcher`].

pub(crate) mod claim;
pub(crate) mod label_matcher;
pub(crate) mod pod;
