//! Tests of the server over sockets, with an independent HTTP client.

mod anonymous;
mod authorization;
mod bad_input;
mod certificates;
mod client;
mod custom_resource_definitions;
mod fuzz;
mod garbage_collection;
mod housekeeping;
mod layers;
mod objects;
mod races;
mod subresources;
mod watches;
