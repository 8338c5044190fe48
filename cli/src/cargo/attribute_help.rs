//! Errors in the attributes of serde and schemars. Their derives then generate nothing, and the compiler reports many missing implementations
//! below.

use super::conversion_help::without_colors;

/// Part of the error of a type without a derive.
const MISSING_DERIVE: &str = "is part of a custom resource and does not implement";

/// Returns a line for each error of a derive in the compiler's output, if others follow from it.
pub(super) fn attribute_help(printed: &str) -> Vec<String> {
    let (mut lines, mut error, mut has_following) = (Vec::new(), None, false);
    for line in printed.lines().map(without_colors) {
        has_following |= line.contains(MISSING_DERIVE);
        if let Some(message) = line.strip_prefix("error: ") {
            // Cargo's last line has no place; a warning's may follow it.
            error = (!message.starts_with("could not compile")).then(|| message.to_owned());
        } else if line.starts_with("error[") || line.starts_with("warning") {
            error = None;
        } else if let Some(place) = line.trim_start().strip_prefix("--> ")
            && let Some(message) = error.take()
        {
            let place = place.rsplit_once(':').map_or(place, |(place, _)| place);
            let help = format!("{place}: correct this first: {message}");
            // Cargo prints the errors of each target.
            if !lines.contains(&help) {
                lines.push(help);
            }
        }
    }
    if has_following { lines } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the compiler really prints.
    #[test]
    fn errors_of_attributes_are_repeated_below_those_that_follow() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../codegen-macros/tests/inputs/fail/"
        );
        let printed = |name: &str| std::fs::read_to_string(format!("{folder}{name}.stderr")).unwrap();
        let path = "../codegen-macros/tests/inputs/fail/schema_attributes.rs";
        let text = printed("schema_attributes");
        let lines = [
            format!("{path}:8: correct this first: unknown schemars attribute `lenght`"),
            format!("{path}:15: correct this first: unknown serde field attribute `defautl`"),
        ];
        assert_eq!(attribute_help(&text), lines);
        let of_two_targets =
            format!("{text}error: could not compile `shop`\nwarning: unused\n --> a.rs:1:1\n{text}");
        assert_eq!(attribute_help(&of_two_targets), lines);
        let after_cargo = format!("{text}error: could not compile `shop`\n --> a.rs:1:1\n");
        assert_eq!(attribute_help(&after_cargo), lines);
        assert_eq!(attribute_help(&printed("spec_derives")), [""; 0]);
        let other = "error: expected `;`, found `}`\n --> src/main.rs:3:9\nerror: could not compile `shop`\n";
        assert_eq!(attribute_help(other), [""; 0]);
    }
}
