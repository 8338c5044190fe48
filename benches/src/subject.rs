//! Code shared by the measured operators: counts reconciles and reports them to the benchmark.

use std::{
    io::{Write as _, stdin, stdout},
    process::exit,
    sync::atomic::{AtomicUsize, Ordering},
};

static RECONCILES: AtomicUsize = AtomicUsize::new(0);

/// Counts a reconcile.
pub fn count_reconcile() {
    RECONCILES.fetch_add(1, Ordering::Relaxed);
}

/// Starts a thread that answers each input line with the number of reconciles. The process exits at the end of its input, so it ends with
/// the benchmark.
pub fn answer_count_requests() {
    std::thread::spawn(|| {
        for _ in stdin().lines().map_while(Result::ok) {
            print_line(&format!("reconciles {}", RECONCILES.load(Ordering::Relaxed)));
        }
        exit(0);
    });
}

/// Reports that the operator is ready for its first reconcile.
pub fn print_ready() {
    print_line("ready");
}

fn print_line(line: &str) {
    // The benchmark may have stopped reading; that is not an error.
    let _ = writeln!(stdout(), "{line}");
}
