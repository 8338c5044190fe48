//! Messages that come up in every round while their cause persists.

use std::collections::BTreeSet;

/// Filters the messages of a round, so that the log shows each when it appears, and not again after each change of the source.
#[derive(Debug, Default)]
pub(super) struct RecurringMessages {
    last_round: BTreeSet<String>,
}

impl RecurringMessages {
    /// Returns what to print in this round: each message that the last round did not have, and a line that counts the others.
    pub(super) fn next_round(&mut self, messages: Vec<String>) -> Vec<String> {
        let mut this_round = BTreeSet::new();
        let mut printed = Vec::new();
        let mut as_before = 0;
        for message in messages {
            if !this_round.insert(message.clone()) {
                continue;
            }
            if self.last_round.contains(&message) {
                as_before += 1;
            } else {
                printed.push(message);
            }
        }
        self.last_round = this_round;
        match as_before {
            0 => {}
            1 => printed.push("1 warning as before".to_owned()),
            _ => printed.push(format!("{as_before} warnings as before")),
        }
        printed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_printed_when_they_appear_and_then_counted() {
        let mut messages = RecurringMessages::default();
        let mut round = |texts: &[&str]| {
            let texts = texts.iter().map(|&text| text.to_owned()).collect();
            messages.next_round(texts).join(", ")
        };
        assert_eq!(round(&["b", "a", "b"]), "b, a");
        assert_eq!(round(&["b", "a"]), "2 warnings as before");
        assert_eq!(round(&["a", "c"]), "c, 1 warning as before");
        assert_eq!(round(&[]), "");
        assert_eq!(round(&["a"]), "a", "it was gone, and is back");
    }
}
