//! `cargo xtask fuzz`: what is read from outside, with bytes that libFuzzer makes up and changes by what they reach in the code.
//!
//! `KUBEWRIGHT_FUZZ` names the target. Read [`targets`] for what each must stand, [`seeds`] for what it begins with.

#![no_main]

mod api_request;
mod seeds;
mod targets;

libfuzzer_sys::fuzz_target!(init: targets::begin(), |bytes: &[u8]| targets::one(bytes));
