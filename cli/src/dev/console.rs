//! The lines that are shown, by whom.

use tokio::sync::mpsc;

/// How many lines may wait; who writes more has to wait itself.
const WAITING: usize = 1024;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The command itself.
    Dev,
    /// The compiler, and cargo.
    Cargo,
    /// The operator.
    Operator,
    /// The API server's objects.
    Objects,
}

/// A line and who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    speaker: Speaker,
    text: String,
}

impl Line {
    /// As it is written: plain, or coloured for a terminal.
    pub fn show(&self, color: bool) -> String {
        let (name, code) = match self.speaker {
            Speaker::Dev => ("dev", "1"),
            Speaker::Cargo => ("cargo", "2"),
            Speaker::Operator => ("operator", "34"),
            Speaker::Objects => ("objects", "32"),
        };
        let text = &self.text;
        if color {
            format!("\x1b[{code}m{name:>8} |\x1b[0m {text}")
        } else {
            format!("{name:>8} | {text}")
        }
    }
}

/// Where lines go.
#[derive(Clone, Debug)]
pub struct Console(mpsc::Sender<Line>);

impl Console {
    /// A console, and the end at which its lines come out.
    pub fn new() -> (Self, mpsc::Receiver<Line>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Says something, a line at a time. Nobody listens any more once the command ends.
    pub async fn say(&self, speaker: Speaker, text: impl std::fmt::Display) {
        for text in text.to_string().lines() {
            let text = text.to_owned();
            let _ = self.0.send(Line { speaker, text }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_plain_where_there_is_no_terminal() {
        let line = Line {
            speaker: Speaker::Cargo,
            text: "Compiling shop".into(),
        };
        assert_eq!(line.show(false), "   cargo | Compiling shop");
        assert!(line.show(true).starts_with("\x1b[2m"));
    }
}
