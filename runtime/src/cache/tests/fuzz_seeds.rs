//! Replays the initial corpus of `cargo xtask fuzz`. The long runs are in `.ci/nightly`.

use crate::cache::fuzzing;

#[path = "../../../../fuzz/src/seeds.rs"]
#[allow(clippy::pedantic, unreachable_pub, reason = "part of the fuzzer's program")]
mod seeds;

type Target = fn(&[u8]);
type Seeds = fn() -> Vec<Vec<u8>>;

#[test]
fn initial_corpus_passes_the_fuzz_targets() {
    let targets: [(Target, Seeds); 4] = [
        (fuzzing::line, seeds::watch_lines),
        (fuzzing::list, seeds::lists),
        (fuzzing::lines, seeds::watch_bodies),
        (fuzzing::differences, seeds::object_pairs),
    ];
    for (target, seeds) in targets {
        let seeds = seeds();
        assert!(!seeds.is_empty());
        for seed in seeds {
            target(&seed);
            // As the fuzzer's first changes.
            target(&seed[..seed.len() / 2]);
            target(&[&seed[..], &seed[..]].concat());
        }
    }
}
