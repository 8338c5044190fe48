//! What the operators have in common that are measured from outside.

use std::{
    io::{Write as _, stdin, stdout},
    process::exit,
    sync::atomic::{AtomicUsize, Ordering},
};

static RECONCILES: AtomicUsize = AtomicUsize::new(0);

/// Counts a reconcile.
pub fn reconciling() {
    RECONCILES.fetch_add(1, Ordering::Relaxed);
}

/// Says for each line that comes how often was reconciled. The process ends with its input: when whoever measures it does.
pub fn answer() {
    std::thread::spawn(|| {
        for _ in stdin().lines().map_while(Result::ok) {
            say(&format!("reconciles {}", RECONCILES.load(Ordering::Relaxed)));
        }
        exit(0);
    });
}

/// Says that the first reconcile could be now.
pub fn ready() {
    say("ready");
}

fn say(line: &str) {
    // Whoever does not read does not want to know.
    let _ = writeln!(stdout(), "{line}");
}
