//! Reads and edits the registration of a kind's versions: `setup.versions::<v1::Foo>().other::<v1alpha1::Foo>()`.

use syn::{
    ExprMethodCall, GenericArgument, Item, Type, UseTree,
    visit::{self, Visit},
};

use super::{InsertError, insertion::SourceText};

/// The registered versions of a kind: the modules that are named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredVersions {
    /// The hub.
    pub hub: String,
    /// The versions that are converted.
    pub others: Vec<String>,
    /// The version that is named as stored, if any.
    pub stored: Option<String>,
}

/// Returns the registered versions; none if nothing in the file registers versions of the kind.
pub fn registered_versions(text: &str, kind: &str) -> Result<Option<RegisteredVersions>, InsertError> {
    let source = SourceText::parse(text)?;
    let calls = VersionCalls::of(&source, kind);
    Ok(calls.hub().map(|hub| RegisteredVersions {
        hub: hub.version.clone(),
        others: calls.named("other").map(|call| call.version.clone()).collect(),
        stored: calls.named("stored").map(|call| call.version.clone()).next(),
    }))
}

/// Makes `new` the hub: the hub before becomes one of the others, and stays stored. Declares and exports the module of `new`.
pub fn add_hub(text: &str, kind: &str, new: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let calls = VersionCalls::of(&source, kind);
    let missing = || InsertError::NoInsertionPoint {
        reason: "found no registration of the versions",
        line: format!("setup.versions::<{new}::{kind}>()…"),
    };
    let hub = calls.hub().ok_or_else(missing)?;
    let old = &hub.version;
    let before_dot = |call: &ExprMethodCall| {
        let dot = source.range(&call.dot_token).start;
        match source.indentation(dot) {
            "" => String::new(),
            indent => format!("{}{indent}", source.newline()),
        }
    };
    let end = |call: &VersionCall<'_>| source.range(call.call).end;
    let mut edits = vec![(source.range(hub.module), new.to_owned())];
    let other = format!("{}.other::<{old}::{kind}>()", before_dot(hub.call));
    edits.push((end(hub)..end(hub), other));
    if calls.named("stored").next().is_none() {
        let last = calls.0.iter().max_by_key(|call| end(call)).unwrap_or(hub);
        let indent = format!("{}        ", source.newline());
        let lines = stored_comment(old, new, kind).map(|line| format!("{indent}// {line}"));
        let stored = format!("{}{indent}.stored::<{old}::{kind}>()", lines.concat());
        if end(last) == end(hub) {
            edits
                .last_mut()
                .into_iter()
                .for_each(|(_, other)| other.push_str(&stored));
        } else {
            edits.push((end(last)..end(last), stored));
        }
    }
    for item in &source.file.items {
        if let Item::Use(item) = item
            && let Some(module) = exported_module(&item.tree, old)
        {
            edits.push((source.range(module), new.to_owned()));
        }
    }
    super::declare_module(&source.replace(edits), new)
}

/// The lines of the comment that says why the version before the hub is stored.
pub fn stored_comment(stored: &str, hub: &str, kind: &str) -> [String; 2] {
    [
        format!(
            "Objects stay stored in {stored}, so that a release without {hub} can read them after a rollback."
        ),
        format!(
            "`kubewright migrate storage {kind}` stores them in {hub}: with `--cluster CONTEXT` in a cluster, then here."
        ),
    ]
}

/// Removes one of the others: its registration and its module.
pub fn remove_version(text: &str, kind: &str, version: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let calls = VersionCalls::of(&source, kind);
    let mut edits = Vec::new();
    for call in calls.named("other").filter(|call| call.version == version) {
        let start = source.range(&call.call.receiver).end;
        edits.push((start..source.range(call.call).end, String::new()));
    }
    for item in &source.file.items {
        if let Item::Mod(item) = item
            && item.ident == version
            && item.content.is_none()
        {
            let range = source.range(item);
            let end = source.end_of_line(range.end);
            let rest = &text[end..];
            let newline = if rest.starts_with("\r\n") {
                2
            } else {
                usize::from(rest.starts_with('\n'))
            };
            edits.push((range.start..end + newline, String::new()));
        }
    }
    Ok(source.replace(edits))
}

/// Returns the text of a prelude that exports `super::MODULE::HUB::*` in place of the whole module, or of another hub.
pub fn export_hub_in_prelude(text: &str, module: &str, hub: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let preludes = source.file.items.iter().filter_map(|item| match item {
        Item::Mod(item) if item.ident == "prelude" => Some(&item.content.as_ref()?.1),
        _ => None,
    });
    let mut edits = Vec::new();
    for item in preludes.flatten() {
        let Item::Use(item) = item else { continue };
        let UseTree::Path(parent) = &item.tree else {
            continue;
        };
        let UseTree::Path(kind) = &*parent.tree else {
            continue;
        };
        if parent.ident != "super" || kind.ident != module {
            continue;
        }
        match &*kind.tree {
            UseTree::Glob(glob) => {
                let start = source.range(glob).start;
                edits.push((start..start, format!("{hub}::")));
            }
            UseTree::Path(version) if matches!(*version.tree, UseTree::Glob(_)) => {
                edits.push((source.range(&version.ident), hub.to_owned()));
            }
            _ => {}
        }
    }
    Ok(source.replace(edits))
}

/// Returns the module of `pub use MODULE::*`, if it has that name.
fn exported_module<'a>(tree: &'a UseTree, name: &str) -> Option<&'a syn::Ident> {
    match tree {
        UseTree::Path(path) if path.ident == name => Some(&path.ident),
        UseTree::Path(path) if path.ident == "self" => exported_module(&path.tree, name),
        _ => None,
    }
}

/// A call of `versions`, `other` or `stored` with a version of the kind.
struct VersionCall<'ast> {
    call: &'ast ExprMethodCall,
    version: String,
    /// The version's name in the call.
    module: &'ast syn::Ident,
}

struct VersionCalls<'ast>(Vec<VersionCall<'ast>>);

impl<'ast> VersionCalls<'ast> {
    fn of(source: &'ast SourceText<'_>, kind: &str) -> Self {
        let mut visitor = VersionCallVisitor {
            kind,
            calls: Self(Vec::new()),
        };
        visitor.visit_file(&source.file);
        // The outermost call of a chain is visited first.
        visitor.calls.0.reverse();
        visitor.calls
    }

    fn named(&self, method: &'static str) -> impl Iterator<Item = &VersionCall<'ast>> {
        self.0.iter().filter(move |call| call.call.method == method)
    }

    fn hub(&self) -> Option<&VersionCall<'ast>> {
        self.named("versions").next()
    }
}

struct VersionCallVisitor<'a, 'ast> {
    kind: &'a str,
    calls: VersionCalls<'ast>,
}

impl<'ast> Visit<'ast> for VersionCallVisitor<'_, 'ast> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let is_registration = ["versions", "other", "stored"]
            .iter()
            .any(|name| call.method == name);
        let argument = call.turbofish.as_ref().and_then(|generics| generics.args.first());
        if is_registration && let Some(GenericArgument::Type(Type::Path(path))) = argument {
            let mut segments = path.path.segments.iter().rev().map(|segment| &segment.ident);
            if segments.next().is_some_and(|name| name == self.kind)
                && let Some(module) = segments.next()
            {
                let version = module.to_string();
                self.calls.0.push(VersionCall {
                    call,
                    version,
                    module,
                });
            }
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
#[path = "registration_tests.rs"]
mod tests;
