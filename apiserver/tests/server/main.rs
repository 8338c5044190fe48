//! Tests of the server over sockets, with an independent HTTP client.

mod authorization;
mod bad_input;
mod bootstrap;
mod cached_documents;
mod certificates;
mod client;
mod custom_resource_definitions;
mod extension_servers;
mod fuzz;
mod garbage_collection;
mod housekeeping;
mod layers;
mod objects;
mod pod_security;
mod races;
mod subresources;
mod watches;

// `cargo xtask fuzz` runs these for longer.
#[path = "../../../fuzz/src/api_request.rs"]
#[allow(
    clippy::pedantic,
    clippy::expect_used,
    unreachable_pub,
    reason = "part of the fuzzer's program"
)]
mod api_request;
#[path = "../../../fuzz/src/request_seeds.rs"]
#[allow(
    clippy::pedantic,
    clippy::expect_used,
    unreachable_pub,
    reason = "part of the fuzzer's program"
)]
mod request_seeds;

#[test]
fn initial_corpus_passes_the_fuzz_target() {
    // The comparison with the real server sends those of all cases.
    let seeds = request_seeds::requests();
    assert!(seeds.len() > 200, "{}", seeds.len());
    for seed in seeds {
        api_request::run(&seed);
    }
}
