//! The pages of the book about the command line, made of its help, and about its errors.
//!
//! `UPDATE_GOLDEN=1 cargo test -p kubewright-cli reference` updates it.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use clap::{Command, CommandFactory as _};
use kubewright_cli::{args::Cli, exit};

use crate::support::collect;

#[test]
fn book_has_the_help_of_all_commands() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/reference/cli.md");
    let text = reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(page, text).unwrap();
        return;
    }
    assert_eq!(
        fs::read_to_string(page).unwrap(),
        text,
        "run with UPDATE_GOLDEN=1 to update the page"
    );
}

/// The page includes every declaration of an error: only the part between the marks.
#[test]
fn book_has_the_errors_of_all_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../docs/src/reference/errors.md")).unwrap();
    let mut files = BTreeMap::new();
    collect(&root.join("src"), &root.join("src"), &mut files);
    let mut found = 0;
    for (name, bytes) in &files {
        let code = String::from_utf8_lossy(bytes);
        let mut parts = code.split("// ANCHOR: errors\n");
        let unmarked = parts.next().unwrap_or_default();
        assert!(
            !unmarked.contains("thiserror::Error"),
            "{name}: no mark before the error"
        );
        for marked in parts {
            let (declared, after) = marked.split_once("// ANCHOR_END: errors\n").unwrap();
            assert!(
                declared.contains("thiserror::Error") && !after.contains("thiserror::Error"),
                "{name}"
            );
            let include = format!("{{{{#include ../../../cli/src/{name}:errors}}}}");
            assert!(page.contains(&include), "the page lacks {include}");
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
}

fn reference() -> String {
    let mut text = "<!-- Made by `UPDATE_GOLDEN=1 cargo test -p kubewright-cli reference`: do not edit. -->\n\n# Command line\n".to_owned();
    let command = Cli::command().term_width(100);
    for subcommand in command.get_subcommands() {
        write_help(&mut text, "kubewright", subcommand);
    }
    let (title, codes) = exit::HELP.split_once(":\n").unwrap();
    write!(text, "\n## {title}\n\n```text\n{codes}\n```\n").unwrap();
    text
}

/// Writes a section of each command that has no subcommands.
fn write_help(text: &mut String, parents: &str, command: &Command) {
    let name = format!("{parents} {}", command.get_name());
    let mut subcommands = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .peekable();
    if subcommands.peek().is_some() {
        subcommands.for_each(|subcommand| write_help(text, &name, subcommand));
        return;
    }
    let mut command = command.clone().bin_name(&name).term_width(100);
    let help = command.render_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(text, "\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
}
