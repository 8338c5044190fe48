//! The server as clients see it: over sockets, with a client that knows nothing of it.

mod access;
mod bad_input;
mod certificates;
mod client;
mod definitions;
mod fuzz;
mod garbage;
mod objects;
mod watches;
