//! Allocations.
fn main() {}
