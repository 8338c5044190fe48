//! Reading the store.
fn main() {}
