//! DaemonSets: keeps one pod on each node that fits.
//!
//! Read in this order: [`placement`] (on which nodes pods run), [`pod_template`] (the pod of a node), [`pods`] (the pods as the plan sees them),
//! [`desired`] (the spec as numbers), [`plan`] with its parts [`nodes`] (which pods each node needs) and [`rolling`] (which pods of old revisions
//! to replace), [`failed_pods`] (how soon failed pods are replaced), [`status`]. Then [`controller`], and what it does with the history and the
//! plan: [`history`], [`carry_out`]. [`node_changes`] finds the DaemonSets that a change of a node affects.

mod carry_out;
mod controller;
mod desired;
mod failed_pods;
mod history;
mod node_changes;
mod nodes;
mod placement;
mod plan;
mod pod_template;
mod pods;
mod rolling;
mod status;

#[cfg(test)]
mod rollout_model;
#[cfg(test)]
mod test_objects;
#[cfg(test)]
mod test_support;

pub(crate) use controller::register;
