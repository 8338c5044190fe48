//! Running a reconciler without a server.
