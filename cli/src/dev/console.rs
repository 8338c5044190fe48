//! The session's output lines, each with its origin.

use tokio::sync::mpsc;

/// Most lines that are buffered; writers wait while the buffer is full.
const MAX_BUFFERED_LINES: usize = 1024;

/// The origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrigin {
    /// `kubewright dev` itself.
    Dev,
    /// Cargo and the compiler.
    Cargo,
    /// The operator.
    Operator,
    /// Changes of objects in the API server.
    Objects,
}

/// A line with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    origin: LineOrigin,
    text: String,
}

impl Line {
    /// Formats the line with its origin; `color` adds ANSI colours for a terminal.
    pub fn render(&self, color: bool) -> String {
        let (name, code) = match self.origin {
            LineOrigin::Dev => ("dev", "1"),
            LineOrigin::Cargo => ("cargo", "2"),
            LineOrigin::Operator => ("operator", "34"),
            LineOrigin::Objects => ("objects", "32"),
        };
        let text = &self.text;
        if color {
            format!("\x1b[{code}m{name:>8} |\x1b[0m {text}")
        } else {
            format!("{name:>8} | {text}")
        }
    }
}

/// The sending half of the session's output; cheap to clone.
#[derive(Clone, Debug)]
pub struct Console(mpsc::Sender<Line>);

impl Console {
    /// Creates a console, and the receiver of its lines.
    pub fn new() -> (Self, mpsc::Receiver<Line>) {
        let (sender, receiver) = mpsc::channel(MAX_BUFFERED_LINES);
        (Self(sender), receiver)
    }

    /// Sends the text line by line. Lines are dropped when the receiver is gone, at the end of the command.
    pub async fn log(&self, origin: LineOrigin, text: impl std::fmt::Display) {
        for text in text.to_string().lines() {
            let text = text.to_owned();
            let _ = self.0.send(Line { origin, text }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_coloured_on_terminals_only() {
        let line = Line {
            origin: LineOrigin::Cargo,
            text: "Compiling shop".into(),
        };
        assert_eq!(line.render(false), "   cargo | Compiling shop");
        assert!(line.render(true).starts_with("\x1b[2m"));
    }
}
