//! The progress of a migration: a bar on terminals, otherwise lines.

use crate::{Context, Error, plan::IoError};

/// Characters of the bar.
const WIDTH: u64 = 30;

/// Shows that `done` of `all` objects are rewritten. The last call has as many done as there are.
pub(super) fn show(context: &mut Context<'_>, done: u64, all: u64) -> Result<(), Error> {
    let text = format!("rewritten {done} of {all} objects");
    if !context.color {
        return context.message(text);
    }
    let end = if done == all { "\n" } else { "" };
    write!(context.stderr, "\r{} {text}{end}", bar(done, all))
        .and_then(|()| context.stderr.flush())
        .map_err(|source| IoError::new("write to", "stderr", source).into())
}

fn bar(done: u64, all: u64) -> String {
    let filled = (done * WIDTH).checked_div(all).unwrap_or(WIDTH).min(WIDTH);
    (0..WIDTH).map(|at| if at < filled { '#' } else { '.' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_has_the_share_that_is_done() {
        assert_eq!(bar(0, 10), ".".repeat(30));
        assert_eq!(bar(5, 10), "#".repeat(15) + &".".repeat(15));
        assert_eq!(bar(10, 10), "#".repeat(30));
        assert_eq!(bar(0, 0), "#".repeat(30));
    }
}
