//! The fix of compile errors in conversions. Of a field that the hub has and a version lacks, or the reverse, the compiler knows that it is
//! missing, and a derive cannot add to the compiler's text: it does not see the hub's fields.

use std::path::Path;

use crate::{
    plan::{self, slashed},
    source::{self, ConversionPart},
};

/// Returns a line for each error of the compiler's output that is in a type with `derive(Convert)`, or in its attributes.
pub(super) fn conversion_help(root: &Path, printed: &str) -> Vec<String> {
    let (mut lines, mut error) = (Vec::new(), None);
    for line in printed.lines().map(without_colors) {
        if let Some(found) = line.strip_prefix("error[") {
            error = found
                .split_once("]: ")
                .map(|(code, message)| (code.to_owned(), message.to_owned()));
        } else if let Some(place) = line.trim_start().strip_prefix("--> ")
            && let Some((code, message)) = error.take()
            && let Some(help) = help_at(root, place, &code, &message)
            && !lines.contains(&help)
        {
            lines.push(help);
        }
    }
    lines
}

/// Returns the help for an error at a place as in `src/api/foo/v1alpha1.rs:12:5`.
fn help_at(root: &Path, place: &str, code: &str, message: &str) -> Option<String> {
    let mut parts = place.rsplitn(3, ':');
    let (_, line, path) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()?);
    // The compiler's paths are relative to the workspace.
    let mut folders = root.ancestors().map(|folder| folder.join(path));
    let file = folders.find(|file| file.is_file())?;
    let text = plan::read(&file).ok()??;
    let fix = fix(code, message, source::conversion_part(&text, line)?)?;
    Some(format!("{}:{line}: {fix}", slashed(Path::new(path))))
}

fn fix(code: &str, message: &str, part: ConversionPart) -> Option<String> {
    let names = quoted(message);
    let first = names.first()?;
    Some(match (code, part) {
        ("E0063", ConversionPart::StructAttribute) => {
            // The last name is that of the hub's type.
            let fields = names[..names.len() - 1].iter();
            let rules: Vec<String> = fields.map(|name| format!("`hub_only({name})`")).collect();
            format!(
                "add {} to `#[convert(hub = …)]`, for fields that only the hub has: the value is their type's default, `default = …` or \
                 `from = function`",
                rules.join(", ")
            )
        }
        ("E0004", ConversionPart::EnumAttribute) => {
            let variants = names.iter().filter_map(|name| variant(name));
            let rules: Vec<String> = variants
                .map(|name| format!("`hub_only({name}, default = …)`"))
                .collect();
            if rules.is_empty() {
                return None;
            }
            format!(
                "add {} to `#[convert(hub = …)]`, for variants that only the hub has, with the value in their place",
                rules.join(", ")
            )
        }
        ("E0063", _) => {
            "no rule adds a field to a variant: implement `kubewright::conversion::Convert` for this type by hand".to_owned()
        }
        ("E0560", ConversionPart::StructAttribute) => {
            let name = names.last()?;
            format!("the hub has no field `{name}`: correct or remove `hub_only({name})`")
        }
        ("E0599", ConversionPart::EnumAttribute) => {
            format!("the hub has no variant `{first}`: correct or remove `hub_only({first}, …)`")
        }
        ("E0560" | "E0559" | "E0026" | "E0609", _) => {
            "the hub has no such field: add `#[convert(renamed = \"…\")]` with the hub's name, or `#[convert(dropped)]`".to_owned()
        }
        ("E0599", ConversionPart::Variant) => {
            "the hub has no such variant: add `#[convert(renamed = \"…\")]` with the hub's name, or \
             `#[convert(dropped, default = …)]` with the hub's value in its place"
                .to_owned()
        }
        _ => return None,
    })
}

/// The texts in backticks.
fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

/// The name of the variant in a pattern as in `v1::Mode::Fixed { .. }`.
fn variant(pattern: &str) -> Option<&str> {
    let path = pattern.split(['(', '{']).next()?.trim();
    let name = path.rsplit("::").next()?;
    name.starts_with(|first: char| first.is_alphabetic())
        .then_some(name)
}

/// Removes the escape sequences of colors.
pub(super) fn without_colors(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.split_once('m').map_or("", |(_, rest)| rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "
#[derive(Convert)]
#[convert(hub = v1::FooSpec)]
pub struct FooSpec {
    pub size: i32,
    pub gone: i32,
}

#[derive(Clone, kubewright::Convert)]
#[convert(
    hub = v1::Mode
)]
pub enum Mode {
    Slow,
}

pub struct Other {
    pub gone: i32,
}
";

    #[test]
    fn each_error_of_a_conversion_has_its_fix_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("foo.rs"), CODE).unwrap();
        let project = folder.path().join("member");
        let help = |printed: &str| conversion_help(&project, printed);
        let one = |message: &str, line: usize| {
            help(&format!("error[{message}\n  --> foo.rs:{line}:5\n   |\n")).join("\n")
        };
        assert_eq!(
            one(
                "E0063]: missing fields `owner` and `host` in initializer of `FooSpec`",
                3
            ),
            "foo.rs:3: add `hub_only(owner)`, `hub_only(host)` to `#[convert(hub = …)]`, for fields that only the hub has: the value is their \
             type's default, `default = …` or `from = function`"
        );
        let variants =
            "E0004]: non-exhaustive patterns: `v1::Mode::Auto` and `v1::Mode::Fixed { .. }` not covered";
        assert_eq!(
            one(variants, 11),
            "foo.rs:11: add `hub_only(Auto, default = …)`, `hub_only(Fixed, default = …)` to `#[convert(hub = …)]`, for variants that only the \
             hub has, with the value in their place"
        );
        let slow = "E0599]: no variant named `Slow` found for enum `v1::Mode`";
        assert!(
            one(slow, 14).contains("`#[convert(dropped, default = …)]` with the hub's value in its place")
        );
        assert_eq!(
            one("E0560]: struct `FooSpec` has no field named `ownr`", 3),
            "foo.rs:3: the hub has no field `ownr`: correct or remove `hub_only(ownr)`"
        );
        // One field, three errors; in colors.
        let gone = "\u{1b}[1m\u{1b}[91merror[E0560]\u{1b}[0m\u{1b}[1m: struct `FooSpec` has no field named `gone`\u{1b}[0m\n \u{1b}[94m--> \
                    \u{1b}[0mfoo.rs:6:9\nerror[E0609]: no field `gone` on type `A<FooSpec>`\n --> foo.rs:6:9\n";
        assert_eq!(
            help(gone),
            [
                "foo.rs:6: the hub has no such field: add `#[convert(renamed = \"…\")]` with the hub's name, or `#[convert(dropped)]`"
            ]
        );
        // Other types, other files, other errors.
        assert_eq!(one("E0560]: struct `FooSpec` has no field named `gone`", 18), "");
        assert_eq!(one("E0412]: cannot find type `i33` in this scope", 5), "");
        assert_eq!(
            help("error[E0560]: struct `A` has no field named `b`\n --> bar.rs:1:1\n"),
            Vec::<String>::new()
        );
    }

    /// What the compiler really prints. The error of types that do not convert has its fix.
    #[test]
    fn compile_errors_of_the_derive_have_their_fix() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../codegen-macros/tests/inputs/fail/"
        );
        let printed = std::fs::read_to_string(folder.to_owned() + "conversion_fields.stderr").unwrap();
        let help = conversion_help(Path::new(env!("CARGO_MANIFEST_DIR")), &printed);
        let path = "../codegen-macros/tests/inputs/fail/conversion_fields.rs";
        let starts = [
            ":26: the hub has no such field: add `#[convert(renamed",
            ":37: add `hub_only(owner)` to `#[convert(hub = …)]`",
            ":54: the hub has no such variant: add `#[convert(renamed",
            ":58: add `hub_only(Auto, default = …)` to `#[convert(hub = …)]`",
        ];
        assert_eq!(help.len(), starts.len(), "{help:#?}");
        for (line, start) in help.iter().zip(starts) {
            assert!(line.starts_with(&format!("{path}{start}")), "{line}");
        }
    }
}
