//! Leader election on a Lease of `coordination.k8s.io/v1`, with client-go's rules.
//!
//! Reading order: [`timing`] (lease duration, renew deadline, retry period), [`election`] (the decision, without I/O), [`lease`] (the
//! requests), [`elector`] (the loop), [`elector_handle`] (the background task).
//!
//! A candidate never compares its clock with another machine's: it treats a lease as expired when the record has not changed for its duration,
//! measured on the local clock since the last observed change.
//!
//! # Why two replicas do not write at once
//!
//! Let a leader send its last successful renewal at time 0. The API server processes it later, and another candidate observes it later
//! still. So no other claim is sent before the lease duration *L* (15 s) has passed, and none is accepted if the leader did renew after
//! all, because a claim carries the resource version of the Lease that was read.
//!
//! The leader counts from time 0, too. Its clients start writes until the renew deadline *D* (10 s), and refuse them later
//! ([`Fence`](crate::client::Fence)). A running write may take longer while the lease is renewed. If it is not renewed, the write is cancelled
//! at *D* + *M* (12.5 s), where the margin *M* is half of *L* − *D*. So *M* (2.5 s) remains before another replica may lead. It covers
//! two things together: a cancelled request that is still in transit, and clocks that run at different rates. Without a request in
//! transit, the leader's clock may run slower than the other's by the factor *L* / (*D* + *M*), 1.2. With clocks that are up to 5 % fast or
//! slow, 1.1 s remain for requests in transit. `split_brain_tests` checks this over 1,000 seeds.
//!
//! A released lease expires at once. So it is released after everything that writes has ended, and *M* later if a write was cancelled.
//!
//! # Limits of leader election
//!
//! A Lease does not fence: the API server does not check it when an object is written. A write of the former leader can reach the API server
//! under the next leader in these cases:
//!
//! - It was in transit for longer than *M* after its sender cancelled it: a proxy that delays requests and sends them after the sender has gone.
//! - A clock runs slower than the factor above or stops, as on a suspended machine.
//! - The process stops between the check of the deadline and the send.
//! - The write went through [`unfenced`](crate::client::Connection::unfenced), or through a client that is not from the operator's setup.
//! - A user edits the Lease's holder or duration.
//!
//! Only preconditions on the objects protect against these: writes with the resource version that was read (`update`), or the uid.

mod election;
mod elector;
mod elector_handle;
mod lease;
mod timing;

pub(super) use elector::Elector;
pub(super) use elector::LostLease;
pub(super) use elector_handle::ElectorHandle;
pub(super) use lease::LeaseLock;
pub(super) use timing::ElectionTiming;
