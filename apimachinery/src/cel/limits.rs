//! The limits of expressions: how long they may be, and how deeply nested. Deep ones are handled on a thread with a large stack: parser and
//! evaluator are recursive, and threads of an async runtime have small stacks.

use super::positions::{at_place, tokens};
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The most characters of an expression.
const MAX_LENGTH: usize = 100_000;
/// The most brackets and conditions within each other, and the most operators in a row.
const MAX_DEPTH: usize = 249;
/// What any thread can handle.
const SHALLOW: Depth = Depth { nested: 5, row: 30 };
/// Only what is used of it takes memory.
const STACK_BYTES: usize = 512 << 20;

/// How deep an expression is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Depth {
    /// Brackets and conditions within each other.
    nested: usize,
    /// Operators, selections and calls of methods in a row, each of which contains those before it.
    row: usize,
}

/// Returns the depth of an expression.
///
/// # Errors
///
/// Returns cel-go's message for an expression that is too long or too deep.
pub(crate) fn depth(text: &str) -> Result<Depth, String> {
    let refused = |why: String| format!("ERROR: <input>:-1:0: {why}");
    let length = text.chars().count();
    if length > MAX_LENGTH {
        return Err(refused(format!(
            "expression code point size exceeds limit: size: {length}, limit {MAX_LENGTH}"
        )));
    }
    if let Some((at, _)) = tokens(text).into_iter().find(|(_, token)| *token == "`") {
        return Err(at_place(text, at, "unsupported syntax: '`'"));
    }
    let depth = measure(text);
    if depth.nested > MAX_DEPTH {
        return Err(refused("expression recursion limit exceeded: 250".to_owned()));
    }
    if depth.row > MAX_DEPTH {
        return Err(refused("max recursion depth exceeded".to_owned()));
    }
    Ok(depth)
}

/// Calls a function that handles an expression of this depth, where there is enough stack for it.
pub(crate) fn with_stack<T: Send>(depth: Depth, call: impl FnOnce() -> T + Send) -> T {
    if depth.nested <= SHALLOW.nested && depth.row <= SHALLOW.row {
        return call();
    }
    let call = Mutex::new(Some(call));
    let take = || call.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(STACK_BYTES);
        let result = match builder.spawn_scoped(scope, || take().map(|call| call())) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without another thread, this one has to do.
            Err(_) => take().map(|call| call()),
        };
        result.unwrap_or_else(|| unreachable!("the function is called once"))
    })
}

fn measure(text: &str) -> Depth {
    let mut depth = Depth::default();
    // The conditions and the operators of each open bracket.
    let mut open = vec![(0, 0)];
    let mut conditions = 0;
    for (_, token) in tokens(text) {
        let Some((of_bracket, row)) = open.last_mut() else {
            break;
        };
        match token {
            "(" | "[" | "{" => {
                *row += usize::from(token == "[");
                open.push((0, 0));
            }
            ")" | "]" | "}" => {
                conditions -= *of_bracket;
                open.pop();
            }
            "?" => {
                *of_bracket += 1;
                conditions += 1;
                *row = 0;
            }
            "&&" | "||" | "," | ":" => *row = 0,
            "." | "+" | "-" | "*" | "/" | "%" | "<" | ">" | "<=" | ">=" | "==" | "!=" | "in" | "!" => {
                *row += 1;
            }
            _ => {}
        }
        depth.row = depth.row.max(open.last().map_or(0, |(_, row)| *row));
        depth.nested = depth.nested.max(open.len().saturating_sub(1) + conditions);
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_those_of_brackets_conditions_and_rows() {
        for (text, nested, row) in [
            ("true", 0, 0),
            ("a.b.c() == 1 && d", 1, 3),
            ("((a))[b[c]] + {d: [1]}", 2, 2),
            (")))]", 0, 0),
            ("a ? b : c ? d : e", 2, 0),
            ("(a ? b : c) + d.e", 2, 2),
            ("'(((' + \"[\" // {", 0, 1),
        ] {
            assert_eq!(measure(text), Depth { nested, row }, "{text}");
        }
    }

    #[test]
    fn deep_expressions_have_a_limit() {
        for (text, why) in [
            (
                format!("{}1{}", "(".repeat(250), ")".repeat(250)),
                "expression recursion limit exceeded: 250",
            ),
            ("1+".repeat(251) + "1", "max recursion depth exceeded"),
            (
                "self".to_owned() + &".o".repeat(250),
                "max recursion depth exceeded",
            ),
            (
                format!("'{}'", "a".repeat(100_000)),
                "expression code point size exceeds limit: size: 100002, limit 100000",
            ),
        ] {
            assert_eq!(depth(&text), Err(format!("ERROR: <input>:-1:0: {why}")));
        }
        assert!(depth(&"true && ".repeat(1000)).is_ok());
        assert!(depth(&("(".repeat(249) + &")".repeat(249))).is_ok());
    }
}
