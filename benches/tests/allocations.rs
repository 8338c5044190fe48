//! The cache allocates as often as `allocations.toml` says. `cargo xtask bench --allocations --update` stores new figures.

use std::process::Command;

#[test]
fn allocations_equal_the_stored_figures() {
    let stored = concat!(env!("CARGO_MANIFEST_DIR"), "/allocations.toml");
    let counted = Command::new(env!("CARGO_BIN_EXE_bench-allocations"))
        .args([stored, "--check"])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&counted.stderr);
    assert!(counted.status.success(), "{stderr}");
}
