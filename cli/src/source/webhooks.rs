//! Finds registered webhooks, and adds one to a file that has another one of its kind.

use std::path::PathBuf;

use syn::{
    ExprMethodCall, Fields, FnArg, GenericArgument, ImplItem, ImplItemFn, Item, ItemImpl, Pat, Type,
    visit::{self, Visit},
};

use super::{
    InsertError, SourceFile,
    insertion::SourceText,
    items::{import_type, imported_paths},
};

/// The module of the runtime with the names that webhooks use.
const MODULE: &str = "kubewright::webhooks";

/// What a webhook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookType {
    /// It accepts or denies writes.
    Validating,
    /// It changes objects before they are stored.
    Defaulting,
}

impl WebhookType {
    /// Both types, in the order of their code.
    pub const ALL: [Self; 2] = [Self::Validating, Self::Defaulting];

    /// The method of `Setup` that registers it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Validating => "validator",
            Self::Defaulting => "defaulter",
        }
    }

    fn trait_name(self) -> &'static str {
        match self {
            Self::Validating => "Validator",
            Self::Defaulting => "Defaulter",
        }
    }
}

/// A call `setup.validator::<Kind>(…)` or `setup.defaulter::<Kind>(…)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredWebhook {
    /// The file, relative to the project.
    pub path: PathBuf,
    /// The line of the call.
    pub line: usize,
    /// The last part of the type, which is the kind.
    pub kind: String,
    /// The method that is called.
    pub webhook: WebhookType,
}

/// Returns the calls that register webhooks.
pub fn registered_webhooks(files: &[SourceFile]) -> Vec<RegisteredWebhook> {
    struct CallVisitor<'a>(&'a SourceFile, Vec<RegisteredWebhook>);
    impl<'ast> Visit<'ast> for CallVisitor<'_> {
        fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
            self.1
                .extend(registered_type(call).map(|(webhook, kind)| RegisteredWebhook {
                    path: self.0.path.clone(),
                    line: call.method.span().start().line,
                    kind,
                    webhook,
                }));
            visit::visit_expr_method_call(self, call);
        }
    }
    let of_file = |file| {
        let mut visitor = CallVisitor(file, Vec::new());
        visitor.visit_file(&file.syntax);
        visitor.1
    };
    files.iter().flat_map(of_file).collect()
}

/// Returns the webhook that a call registers, and the name of its kind.
pub(super) fn registered_type(call: &ExprMethodCall) -> Option<(WebhookType, String)> {
    let mut types = WebhookType::ALL.into_iter();
    let webhook = types.find(|webhook| call.method == webhook.method())?;
    match call.turbofish.as_ref()?.args.first()? {
        GenericArgument::Type(kind) => Some((webhook, type_name(kind)?)),
        _ => None,
    }
}

/// A webhook to add to a file.
#[derive(Debug, Clone, Copy)]
pub struct NewWebhook<'a> {
    /// The type that implements the webhooks of the kind, as in `FooWebhook`.
    pub name: &'a str,
    /// The kind.
    pub kind: &'a str,
    /// What the webhook does.
    pub webhook: WebhookType,
    /// The names of `kubewright::webhooks` in the code, sorted.
    pub imports: &'a [&'a str],
    /// The implementation of the trait.
    pub code: &'a str,
}

/// Adds the imports, the implementation, and the call in `register`. Those that exist are kept.
pub fn add_webhook(text: &str, new: &NewWebhook<'_>) -> Result<String, InsertError> {
    let text = import(text, new.imports)?;
    let text = implement(&text, new)?;
    register(&text, new)
}

impl NewWebhook<'_> {
    fn call(&self, setup: &str) -> String {
        format!("{setup}.{}::<{}>(Self);", self.webhook.method(), self.kind)
    }

    fn no_place(&self, reason: &'static str) -> InsertError {
        let line = format!("{}\n\n{}", self.call("setup"), self.code.trim_end());
        InsertError::NoInsertionPoint {
            reason,
            line: line.replace('\n', "\n    "),
        }
    }
}

/// Imports each name by a line of its own, above other imports of the module.
fn import(text: &str, names: &[&str]) -> Result<String, InsertError> {
    names.iter().rev().try_fold(text.to_owned(), |text, name| {
        let source = SourceText::parse(&text)?;
        let paths: Vec<_> = imported_paths(&source, &source.file.items).collect();
        let is_imported = |(path, _): &(String, _)| {
            path.strip_prefix(MODULE)
                .is_some_and(|rest| rest == format!("::{name}") || rest == "::*")
        };
        if paths.iter().any(is_imported) {
            return Ok(text);
        }
        let sibling = paths.iter().find(|(path, _)| path.starts_with(MODULE));
        let line = format!("use {MODULE}::{name};");
        let inserted = sibling.and_then(|(_, range)| source.insert_line_before(range.start, &line));
        inserted.map_or_else(|| import_type(&text, MODULE, name), Ok)
    })
}

/// Inserts the code below the last implementation for the type.
fn implement(text: &str, new: &NewWebhook<'_>) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let implementations: Vec<_> = implementations(&source, new.name).collect();
    if implementations.iter().any(|item| is_of_trait(item, new.webhook)) {
        return Ok(text.to_owned());
    }
    let newline = source.newline();
    let code = new.code.trim_end().replace('\n', newline);
    implementations
        .last()
        .and_then(|last| source.insert_line_after(source.range(*last).end, &format!("{newline}{code}")))
        .ok_or_else(|| new.no_place("found no implementation of the webhooks' type"))
}

/// Inserts the call at the end of `fn register`.
fn register(text: &str, new: &NewWebhook<'_>) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let function = implementations(&source, new.name)
        .filter(|item| item.trait_.is_none())
        .flat_map(|item| &item.items)
        .find_map(|item| match item {
            ImplItem::Fn(function) if function.sig.ident == "register" => Some(function),
            _ => None,
        });
    let function = function.ok_or_else(|| new.no_place("found no `fn register`"))?;
    let is_unit = source.file.items.iter().any(|item| {
        matches!(item, Item::Struct(item) if item.ident == new.name && matches!(item.fields, Fields::Unit))
    });
    if !is_unit {
        return Err(new.no_place("the webhooks' type has fields, and `Self` needs their values"));
    }
    let setup = first_parameter(function).ok_or_else(|| new.no_place("`fn register` has no parameter"))?;
    let (call, newline) = (new.call(&setup), source.newline());
    let inserted = if let Some(last) = function.block.stmts.last() {
        let range = source.range(last);
        let indent = source.indentation(range.start);
        source.insert_line_after(range.end, &format!("{indent}{call}"))
    } else {
        let open = source.range(&function.block.brace_token.span.open()).end;
        source.insert(open, &format!("{newline}        {call}{newline}    "))
    };
    inserted.ok_or_else(|| new.no_place("`fn register` does not end with a statement"))
}

fn first_parameter(function: &ImplItemFn) -> Option<String> {
    if let FnArg::Typed(parameter) = function.sig.inputs.first()?
        && let Pat::Ident(pattern) = &*parameter.pat
    {
        return Some(pattern.ident.to_string());
    }
    None
}

/// Whether an item implements the trait of a webhook.
pub(super) fn is_of_trait(item: &ItemImpl, webhook: WebhookType) -> bool {
    let path = item.trait_.as_ref().map(|(path, _)| path);
    let last = path.and_then(|path| path.segments.last());
    last.is_some_and(|last| last.ident == webhook.trait_name())
}

/// Returns the implementations for a type.
pub(super) fn implementations<'a>(
    source: &'a SourceText<'_>,
    name: &'a str,
) -> impl Iterator<Item = &'a ItemImpl> {
    source.file.items.iter().filter_map(move |item| match item {
        Item::Impl(item) if type_name(&item.self_ty).is_some_and(|found| found == name) => Some(item),
        _ => None,
    })
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "use kubewright::controller::Setup;
use kubewright::webhooks::{AdmissionError, Validator};

pub struct FooWebhook;

impl FooWebhook {
    pub fn register(s: &mut Setup) {
        s.validator::<Foo>(Self).fail_closed(); // always
    }
}

impl Validator<Foo> for FooWebhook {}

fn helper() {}
";

    const NEW: NewWebhook<'_> = NewWebhook {
        name: "FooWebhook",
        kind: "Foo",
        webhook: WebhookType::Defaulting,
        imports: &["AdmissionError", "Defaulter", "Operation"],
        code: "impl Defaulter<Foo> for FooWebhook {\n    // code\n}\n",
    };

    #[test]
    fn second_webhook_is_added_once() {
        let added = add_webhook(FILE, &NEW).unwrap();
        let expected = FILE
            .replace(
                "use kubewright::webhooks",
                "use kubewright::webhooks::Defaulter;\nuse kubewright::webhooks::Operation;\nuse kubewright::webhooks",
            )
            .replace("// always\n", "// always\n        s.defaulter::<Foo>(Self);\n")
            .replace(
                "for FooWebhook {}\n",
                "for FooWebhook {}\n\nimpl Defaulter<Foo> for FooWebhook {\n    // code\n}\n",
            );
        assert_eq!(added, expected);
        assert_eq!(import(&added, NEW.imports).unwrap(), added);
        assert_eq!(implement(&added, &NEW).unwrap(), added);

        let crlf = FILE.replace('\n', "\r\n");
        let added = add_webhook(&crlf, &NEW).unwrap();
        assert_eq!(added, expected.replace('\n', "\r\n"));
        let empty = FILE.replace(
            "\n        s.validator::<Foo>(Self).fail_closed(); // always\n    ",
            "",
        );
        assert!(
            add_webhook(&empty, &NEW)
                .unwrap()
                .contains("Setup) {\n        s.defaulter::<Foo>(Self);\n    }\n")
        );
    }

    #[test]
    fn missing_places_are_errors_with_all_lines() {
        for (old, new, reason) in [
            (
                "pub struct FooWebhook;",
                "pub struct FooWebhook(u8);",
                "has fields",
            ),
            (
                "fn register(s: &mut Setup)",
                "fn other()",
                "found no `fn register`",
            ),
            (
                "fail_closed(); // always",
                "fail_closed()",
                "does not end with a statement",
            ),
        ] {
            let text = FILE.replace(old, new);
            assert_ne!(text, FILE);
            let error = add_webhook(&text, &NEW).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            let lines = "    setup.defaulter::<Foo>(Self);\n    \n    impl Defaulter<Foo> for FooWebhook {\n        // code\n    }\n";
            assert!(error.contains(lines), "{error}");
        }
    }

    #[test]
    fn registrations_are_found_by_kind() {
        let text = "fn register(setup: &mut Setup) {\n    setup.validator::<api::v1::Foo>(Rules).fail_closed();\n    \
                    setup.defaulter::<Pod>(Rules);\n    setup.controller(\"foo\", x);\n}\n";
        let file = SourceFile {
            path: "src/lib.rs".into(),
            syntax: syn::parse_file(text).unwrap(),
        };
        let found: Vec<_> = registered_webhooks(&[file])
            .into_iter()
            .map(|found| (found.line, found.kind, found.webhook))
            .collect();
        assert_eq!(
            found,
            [
                (2, "Foo".to_owned(), WebhookType::Validating),
                (3, "Pod".to_owned(), WebhookType::Defaulting)
            ]
        );
    }
}
