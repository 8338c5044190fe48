/// Returns how many seeds the tests that simulate many runs try: 100 for every change, more where `SIMULATION_SEEDS` says so.
pub(crate) fn simulation_seeds() -> u64 {
    let seeds = std::env::var("SIMULATION_SEEDS").map(|text| text.parse().expect("a number of seeds"));
    seeds.unwrap_or(100)
}
