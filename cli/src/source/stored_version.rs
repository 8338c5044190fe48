//! The version that the code has stored of a kind: `setup.versions::<v1::Foo>().other::<…>().stored::<v1alpha1::Foo>()`.

use syn::{
    Expr, ExprMethodCall, GenericArgument, Type,
    visit::{self, Visit},
};

use super::{InsertError, insertion::SourceText};

/// The stored version of a kind, as a file registers it.
#[derive(Debug, PartialEq, Eq)]
pub enum StoredVersion {
    /// It does not register versions of the kind.
    NoVersions,
    /// The hub is stored.
    Hub,
    /// Another version is stored.
    Other {
        /// The file's text without the call that says so.
        without: String,
    },
}

/// Returns the stored version of the kind in the text of a file.
pub fn stored_version(text: &str, kind: &str) -> Result<StoredVersion, InsertError> {
    let source = SourceText::parse(text)?;
    let mut calls = VersionCalls {
        kind,
        has_versions: false,
        stored: None,
    };
    calls.visit_file(&source.file);
    let Some(call) = calls.stored else {
        return Ok(if calls.has_versions {
            StoredVersion::Hub
        } else {
            StoredVersion::NoVersions
        });
    };
    let start = source.range(&*call.receiver).end;
    let end = source.range(call).end;
    let without = [&text[..start], &text[end..]].concat();
    let without = join_short_chain(&without, kind).map_err(|_| InsertError::NoInsertionPoint {
        reason: "the call of `stored` cannot be removed",
        line: format!("setup.versions::<…::{kind}>() without `.stored::<…>()`"),
    })?;
    Ok(StoredVersion::Other { without })
}

/// Puts the calls that register the versions of a kind in one line, if rustfmt would do that.
fn join_short_chain(text: &str, kind: &str) -> Result<String, InsertError> {
    /// rustfmt's `chain_width`.
    const CHAIN_WIDTH: usize = 60;
    let source = SourceText::parse(text)?;
    let mut chain = VersionChain {
        kind,
        outermost: None,
    };
    chain.visit_file(&source.file);
    let Some(range) = chain.outermost.map(|call| source.range(call)) else {
        return Ok(text.to_owned());
    };
    let lines = &text[range.clone()];
    let joined: String = lines.lines().map(str::trim).collect();
    if lines.contains("//") || lines.contains("/*") || joined.len() > CHAIN_WIDTH {
        return Ok(text.to_owned());
    }
    Ok([&text[..range.start], &joined, &text[range.end..]].concat())
}

/// Finds the outermost call of the chain that begins with `versions::<…::Kind>()`.
struct VersionChain<'a, 'ast> {
    kind: &'a str,
    outermost: Option<&'ast ExprMethodCall>,
}

impl<'ast> Visit<'ast> for VersionChain<'_, 'ast> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if is_of_versions(call, self.kind) {
            self.outermost = Some(call);
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }
}

struct VersionCalls<'a, 'ast> {
    kind: &'a str,
    has_versions: bool,
    stored: Option<&'ast ExprMethodCall>,
}

impl<'ast> Visit<'ast> for VersionCalls<'_, 'ast> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "versions" && is_of_kind(call, self.kind) {
            self.has_versions = true;
        }
        if call.method == "stored" && is_of_versions(call, self.kind) {
            self.stored = Some(call);
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Whether the receiver of the call begins with `versions::<…::Kind>()`.
fn is_of_versions(call: &ExprMethodCall, kind: &str) -> bool {
    match &*call.receiver {
        Expr::MethodCall(inner) if inner.method == "versions" => is_of_kind(inner, kind),
        Expr::MethodCall(inner) => is_of_versions(inner, kind),
        _ => false,
    }
}

/// Whether the type argument of the call is the kind, in any module.
fn is_of_kind(call: &ExprMethodCall, kind: &str) -> bool {
    let arguments = call.turbofish.as_ref().map(|turbofish| &turbofish.args);
    let first = arguments.and_then(|arguments| arguments.first());
    let Some(GenericArgument::Type(Type::Path(path))) = first else {
        return false;
    };
    path.path.segments.last().is_some_and(|last| last.ident == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str) -> String {
        match stored_version(text, "Foo").unwrap() {
            StoredVersion::Other { without } => without,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_the_call_is_removed() {
        assert_eq!(
            without(
                "fn f(s: &mut Setup) {\n    s.versions::<v1::Foo>().other::<v1alpha1::Foo>().stored::<v1alpha1::Foo>(); // why\n}\n"
            ),
            "fn f(s: &mut Setup) {\n    s.versions::<v1::Foo>().other::<v1alpha1::Foo>(); // why\n}\n"
        );
        assert_eq!(
            without(
                "fn f(s: &mut Setup) {\r\n    s.versions::<Foo>()\r\n        .stored::<old::Foo>()\r\n        .other::<old::Foo>();\r\n}\r\n"
            ),
            "fn f(s: &mut Setup) {\r\n    s.versions::<Foo>().other::<old::Foo>();\r\n}\r\n"
        );
    }

    #[test]
    fn chain_that_stays_long_keeps_its_lines() {
        let long = "averylongnameofaversion";
        let text = format!(
            "fn f(setup: &mut Setup) {{\n    setup\n        .versions::<{long}::Foo>()\n        .other::<old::Foo>()\n        // Why.\n        \
             .stored::<old::Foo>();\n}}\n"
        );
        let expected = text.replace("\n        // Why.\n        .stored::<old::Foo>()", "");
        assert_eq!(without(&text), expected);
        let short = text.replace(long, "v1");
        assert_eq!(
            without(&short),
            "fn f(setup: &mut Setup) {\n    setup.versions::<v1::Foo>().other::<old::Foo>();\n}\n"
        );
    }

    #[test]
    fn other_kinds_and_other_calls_are_left() {
        let text = "fn f() { s.versions::<v1::Bar>().stored::<v1alpha1::Bar>(); map.stored::<Foo>(); }";
        assert_eq!(stored_version(text, "Foo"), Ok(StoredVersion::NoVersions));
        let text = "fn f() { s.versions::<v1::Foo>().other::<v1alpha1::Foo>(); s.versions::<v1::Bar>().stored::<a::Bar>(); }";
        assert_eq!(stored_version(text, "Foo"), Ok(StoredVersion::Hub));
        assert!(matches!(
            stored_version("fn (", "Foo"),
            Err(InsertError::Syntax { line: 1, .. })
        ));
    }
}
