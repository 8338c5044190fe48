//! How many cases tests try that could try any number: few for every change, [`TEST_EFFORT`](factor) times as many in `.ci/nightly`.

use proptest::prelude::ProptestConfig;

/// Returns how many seeds the tests that simulate many runs try.
pub(crate) fn simulation_seeds() -> u64 {
    100 * u64::from(factor())
}

/// Returns the configuration of a property test that takes seconds, with the number of cases for every change.
pub(crate) fn property_cases(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases * factor(),
        // What fails becomes a plain test.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// What `TEST_EFFORT` says; 1 if it is not set.
fn factor() -> u32 {
    std::env::var("TEST_EFFORT").map_or(1, |text| text.parse().expect("TEST_EFFORT is a number"))
}
