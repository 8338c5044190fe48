//! Leader election on a Lease of `coordination.k8s.io/v1`, with client-go's rules.
//!
//! Read [`timing`], then [`election`] (who leads, from what was seen; no I/O), then [`lease`] (the requests), then [`elector`] (the loop), then
//! [`candidacy`] (the task).
//!
//! A candidate trusts no other machine's clock: a lease counts as expired when its record did not change for its duration,
//! measured here from the moment at which the last change was seen.
//!
//! # Why two replicas do not write at once
//!
//! Let a leader send its last renewal that succeeds at the moment 0. The API server carries it out later than that, and another
//! candidate sees it later still. So nobody else's claim is sent before the lease's duration *L* (15 s) has passed, and none is
//! accepted if the leader did renew after all, because a claim names the version of the Lease that was read.
//!
//! The leader counts from the moment 0, too. Until the renew deadline *D* (10 s) its clients begin writes, later they refuse
//! them ([`Fence`](crate::client::Fence)). A write that was begun may take longer while the lease is renewed; if it is not, the
//! write is given up at *D* + *M* (12.5 s), where the margin *M* is half of *L* − *D*. So *M* is left (2.5 s) before somebody else
//! may lead. It is there for two things together: that a request that was given up may still be on its way, and that clocks run
//! at different rates. With nothing on its way, the leader's clock may be slower than the other's by the factor
//! *L* / (*D* + *M*), 1.2. With clocks that are up to 5 % fast or slow, 1.1 s remain for requests on their way.
//!
//! A lease that is given back expires at once; so it is given back after everything that writes has ended, and, when a write had to be
//! given up, *M* later.
//!
//! # When they may all the same
//!
//! A Lease does not fence: the API server asks no writer for one. A write of the former leader can be carried out under the next one
//! if it was on its way for longer than *M* after its sender had given it up (a proxy that holds requests back and sends them when
//! the sender is gone); if a clock runs slower than the factor above, or stands still, as that of a machine that is suspended does; if
//! the process stands still just between the look at the clock and the sending; if a write went through
//! [`unfenced`](crate::client::Connection::unfenced), or another client than that of the operator's setup; and if people edit the
//! Lease's holder or duration by hand. Against those only the objects' own versions help: writes that name the version that was read
//! (`update`), or the uid.

mod election;
mod elector;
mod elector_handle;
mod lease;
mod timing;

pub(super) use elector::Elector;
pub use elector::LostLease;
pub(super) use elector_handle::Candidacy;
pub(super) use lease::LeaseLock;
pub(super) use timing::Timing;
