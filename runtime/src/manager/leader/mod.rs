//! Leader election on a Lease of `coordination.k8s.io/v1`, with client-go's rules.
//!
//! Read [`election`] (who leads, from what was seen; no I/O), then [`lease`] (the requests), then [`elector`] (the loop), then
//! [`candidacy`] (the task).
//!
//! A candidate trusts no other machine's clock: a lease counts as expired when its record did not change for its duration,
//! measured here from the moment at which the last change was seen. A leader stops leading when it could not renew for the
//! renew deadline, which is shorter than the lease's duration, so that it stops before another may start; that holds while
//! the clocks of the two run at rates that differ by less than the ratio of the two. A Lease does not fence: a write that
//! was sent before the deadline may still arrive afterwards.

mod candidacy;
mod election;
mod elector;
mod lease;

pub(super) use candidacy::Candidacy;
pub(super) use election::Timing;
pub(super) use elector::Elector;
pub use elector::LostLease;
pub(super) use lease::LeaseLock;
