//! `cargo xtask fuzz`: fuzzes the parsers of untrusted input with libFuzzer, guided by coverage.
//!
//! `KUBEWRIGHT_FUZZ` selects the target. Read [`targets`] for the properties that are checked, [`seeds`] and [`request_seeds`] for the
//! initial corpus.

#![no_main]

mod api_request;
mod expression;
mod request_seeds;
mod seeds;
mod targets;

libfuzzer_sys::fuzz_target!(init: targets::init(), |bytes: &[u8]| targets::run_selected(bytes));
