//! Removes one webhook from a file with another one of its kind.

use std::{collections::BTreeSet, ops::Range};

use syn::{Expr, ImplItem, Item, Stmt, Visibility, visit::Visit};

use super::{
    InsertError,
    insertion::SourceText,
    module_tree::Import,
    removal::{remove_imports, remove_line},
    webhooks::{WebhookType, implementations, is_of_trait, registered_type},
    words::identifiers,
};

/// Removes the implementation for the type `name`, and the call in its `register`, and what nothing else in the file uses then: private functions
/// and constants, and imports. A call in another form stays.
pub fn remove_webhook(
    text: &str,
    name: &str,
    kind: &str,
    webhook: WebhookType,
) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let Some(block) = implementations(&source, name).find(|item| is_of_trait(item, webhook)) else {
        return Ok(text.to_owned());
    };
    let block = source.range(block);
    let mut unused = identifiers(&text[block.clone()]);
    let mut text = remove_line(&source, block);
    loop {
        let source = SourceText::parse(&text)?;
        let Some(call) = call(&source, name, kind, webhook) else {
            break;
        };
        text = remove_line(&source, call);
    }
    loop {
        let source = SourceText::parse(&text)?;
        let Some(item) = unused_item(&source, &unused) else {
            break;
        };
        unused.extend(identifiers(&text[item.clone()]));
        text = remove_line(&source, item);
    }
    let used = used_names(&SourceText::parse(&text)?);
    remove_imports(&text, &|path| {
        let import = Import::parse(path);
        import
            .name
            .is_some_and(|name| unused.contains(&name) && !used.contains(&name))
    })
}

/// Returns the statement of a type's `register` that registers the webhook.
fn call(source: &SourceText<'_>, name: &str, kind: &str, webhook: WebhookType) -> Option<Range<usize>> {
    let is_call = |mut expression: &Expr| {
        while let Expr::MethodCall(call) = expression {
            if registered_type(call).is_some_and(|(found, of)| found == webhook && of == kind) {
                return matches!(*call.receiver, Expr::Path(_));
            }
            expression = &call.receiver;
        }
        false
    };
    let functions = implementations(source, name).filter(|item| item.trait_.is_none());
    let functions = functions
        .flat_map(|item| &item.items)
        .filter_map(|item| match item {
            ImplItem::Fn(function) if function.sig.ident == "register" => Some(function),
            _ => None,
        });
    let mut statements = functions.flat_map(|function| &function.block.stmts);
    let found = statements.find(|statement| matches!(statement, Stmt::Expr(call, Some(_)) if is_call(call)));
    found.map(|statement| source.range(statement))
}

/// Returns a private function or constant with one of the names, which only itself uses.
fn unused_item(source: &SourceText<'_>, names: &BTreeSet<String>) -> Option<Range<usize>> {
    let items = &source.file.items;
    // Modules in other files may use it.
    if items
        .iter()
        .any(|item| matches!(item, Item::Mod(item) if item.content.is_none()))
    {
        return None;
    }
    let ranges: Vec<_> = items.iter().map(|item| source.range(item)).collect();
    items.iter().enumerate().find_map(|(at, item)| {
        let (visibility, ident) = match item {
            Item::Const(item) => (&item.vis, &item.ident),
            Item::Fn(item) => (&item.vis, &item.sig.ident),
            Item::Static(item) => (&item.vis, &item.ident),
            _ => return None,
        };
        let name = ident.to_string();
        let others = ranges.iter().enumerate().filter(|(other, _)| *other != at);
        let mut others = others.map(|(_, range)| identifiers(&source.text[range.clone()]));
        let is_unused = matches!(visibility, Visibility::Inherited)
            && names.contains(&name)
            && !others.any(|used| used.contains(&name));
        is_unused.then(|| ranges[at].clone())
    })
}

/// Returns the names outside of imports.
fn used_names(source: &SourceText<'_>) -> BTreeSet<String> {
    struct Imports<'a>(&'a SourceText<'a>, Vec<(Range<usize>, String)>);
    impl<'ast> Visit<'ast> for Imports<'_> {
        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            self.1.push((self.0.range(item), String::new()));
        }
    }
    let mut imports = Imports(source, Vec::new());
    imports.visit_file(&source.file);
    identifiers(&source.replace(imports.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "use kubewright::controller::Setup;
use kubewright::webhooks::{AdmissionError, Defaulter, Operation, Validation, Validator};
use std::fmt;

pub struct FooWebhook;

impl FooWebhook {
    pub fn register(s: &mut Setup) {
        s.validator::<Foo>(Self).fail_closed(); // always
        s.defaulter::<Foo>(Self);
        s.defaulter::<Bar>(Self);
    }
}

impl Validator<Foo> for FooWebhook {
    fn create() -> Result<Validation, AdmissionError> {
        team(LIMIT)
    }
}

// Mine.
impl Defaulter<Foo> for FooWebhook {
    fn set_defaults() -> Result<(), AdmissionError> {
        helper(Operation::Create)
    }
}

fn team(limit: u8) {
    part();
}

fn part() {}

pub fn helper() {}

const LIMIT: u8 = 1;
";

    fn remove(text: &str, webhook: WebhookType) -> String {
        remove_webhook(text, "FooWebhook", "Foo", webhook).unwrap()
    }

    #[test]
    fn webhook_is_removed_with_what_only_it_uses() {
        for text in [FILE.to_owned(), FILE.replace('\n', "\r\n")] {
            let without = |parts: &[&str]| {
                parts.iter().fold(FILE.to_owned(), |text, part| {
                    assert!(text.contains(part), "{part}");
                    text.replacen(part, "", 1)
                })
            };
            let defaulter = &FILE[FILE.find("impl Defaulter").unwrap()..FILE.find("\nfn team").unwrap()];
            let validator = &FILE[FILE.find("impl Validator").unwrap()..FILE.find("// Mine.").unwrap()];
            let functions = &FILE[FILE.find("fn team").unwrap()..FILE.find("pub fn helper").unwrap()];
            let newline = if text == FILE { "\n" } else { "\r\n" };
            assert_eq!(
                remove(&text, WebhookType::Defaulting),
                without(&[
                    "Defaulter, Operation, ",
                    "        s.defaulter::<Foo>(Self);\n",
                    defaulter
                ])
                .replace('\n', newline)
            );
            assert_eq!(
                remove(&text, WebhookType::Validating),
                without(&[
                    ", Validation, Validator",
                    "        s.validator::<Foo>(Self).fail_closed(); // always\n",
                    validator,
                    functions,
                    "\nconst LIMIT: u8 = 1;\n",
                ])
                .replace('\n', newline)
            );
        }
    }

    #[test]
    fn other_forms_stay() {
        for text in [
            FILE.replace("s.defaulter::<Foo>(Self);", "let d = s.defaulter::<Foo>(Self);"),
            FILE.replace("fn register", "fn other"),
        ] {
            assert!(remove(&text, WebhookType::Defaulting).contains("s.defaulter::<Foo>(Self);"));
        }
        let text = FILE.replace("for FooWebhook {", "for OtherWebhook {");
        assert_eq!(remove(&text, WebhookType::Defaulting), text);
    }
}
