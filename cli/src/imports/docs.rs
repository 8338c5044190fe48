//! Descriptions of a schema as documentation comments.

/// Returns the lines of a documentation comment. It contains no code that rustdoc would compile as a test: no indented code, and all fenced
/// code is `text`.
pub(super) fn lines(description: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut is_code = false;
    for line in description.lines() {
        let visible: String = line.chars().filter(|c| !is_control(*c)).collect();
        let words: Vec<_> = visible.split_whitespace().collect();
        let plain = words.join(" ");
        if plain.starts_with("```") || plain.starts_with("~~~") {
            lines.push(if is_code { "```" } else { "```text" }.to_owned());
            is_code = !is_code;
        } else if is_code {
            lines.push(visible.replace('\t', "    ").trim_end().to_owned());
        } else {
            let plain = plain.replace("```", "'''").replace("~~~", "'''");
            // An element of HTML at the start would hide the Markdown after it.
            lines.push(if plain.starts_with('<') {
                format!("\\{plain}")
            } else {
                plain
            });
        }
    }
    if is_code {
        lines.push("```".to_owned());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Whether rustc refuses the character in a comment: control characters, and those that change the direction of the text.
fn is_control(c: char) -> bool {
    (c.is_control() && c != '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_text_and_the_rest_has_no_indentation() {
        let description =
            "A list:\n\n    let x = 1;\n-      two\n```yaml\n  a: 1\n```\n<b> ```rust```\n> ```\n~~~rust\nfn";
        let expected = [
            "A list:",
            "",
            "let x = 1;",
            "- two",
            "```text",
            "  a: 1",
            "```",
            "\\<b> '''rust'''",
            "> '''",
            "```text",
            "fn",
            "```",
        ];
        assert_eq!(lines(description), expected);
        assert_eq!(lines("a\u{202e}b\r\n\n"), ["ab"]);
    }
}
