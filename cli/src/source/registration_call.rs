//! Inserts the call of a kind's registration of versions into its controller.

use syn::{
    FnArg, ImplItem, ImplItemFn, Item, Pat, Path, Type,
    visit::{self, Visit},
};

use super::{InsertError, insertion::SourceText};

/// The function that registers the versions of a kind.
pub const REGISTER: &str = "register_versions";

/// Inserts the call of [`REGISTER`] in the module at `path` as the first statement of `<Kind>Controller::register`. None if the file has no such
/// function.
pub fn call_registration(text: &str, kind: &str, path: &str) -> Result<Option<String>, InsertError> {
    let source = SourceText::parse(text)?;
    let controller = format!("{kind}Controller");
    let Some(function) = register_function(&source, &controller) else {
        return Ok(None);
    };
    let module = path.rsplit("::").next().unwrap_or(path);
    let mut calls = RegistrationCalls { module, found: false };
    calls.visit_block(&function.block);
    if calls.found {
        return Ok(Some(text.to_owned()));
    }
    let missing = |reason| InsertError::NoInsertionPoint {
        reason,
        line: format!("{path}::{REGISTER}(setup);"),
    };
    let Some(FnArg::Typed(argument)) = function.sig.inputs.first() else {
        return Err(missing(
            "`register` of the controller has no parameter for the setup",
        ));
    };
    let Pat::Ident(setup) = &*argument.pat else {
        return Err(missing("`register` of the controller has no name for the setup"));
    };
    let line = format!("{path}::{REGISTER}({});", setup.ident);
    let result = match function.block.stmts.first() {
        Some(first) if !source.indentation(source.range(first).start).is_empty() => {
            let start = source.range(first).start;
            source.insert_line_before(start, &format!("{}{line}", source.indentation(start)))
        }
        _ => {
            let open = source.range(&function.block.brace_token.span.open()).end;
            source.insert(open, &format!(" {line}"))
        }
    };
    result
        .map(Some)
        .ok_or_else(|| missing("found no place in `register` of the controller"))
}

fn register_function<'a>(source: &'a SourceText<'_>, controller: &str) -> Option<&'a ImplItemFn> {
    let blocks = source.file.items.iter().filter_map(|item| match item {
        Item::Impl(block) => Some(block),
        _ => None,
    });
    let blocks = blocks.filter(|block| {
        matches!(&*block.self_ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == controller))
    });
    blocks.flat_map(|block| &block.items).find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == "register" => Some(function),
        _ => None,
    })
}

/// Finds calls of the registration of a module.
struct RegistrationCalls<'a> {
    module: &'a str,
    found: bool,
}

impl<'ast> Visit<'ast> for RegistrationCalls<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        let mut segments = path.segments.iter().rev().map(|segment| &segment.ident);
        let is_registration = segments.next().is_some_and(|name| name == REGISTER);
        self.found |= is_registration && segments.next().is_none_or(|module| module == self.module);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controller_calls_the_registration_first() {
        let call = |text: &str| call_registration(text, "Foo", "crate::api::foo").unwrap();
        let text = "impl FooController {\n    pub fn register(s: &mut Setup) {\n        // The informer.\n        let a = s.informers();\n    }\n}\n";
        let expected = text.replace(
            "        // The",
            "        crate::api::foo::register_versions(s);\n        // The",
        );
        assert_eq!(call(text), Some(expected.clone()));
        assert_eq!(call(&expected), Some(expected.clone()), "a second time");
        let imported = expected.replace("crate::api::foo::", "");
        assert_eq!(call(&imported), Some(imported.clone()));
        assert_eq!(
            call("impl FooController { fn register(setup: &mut Setup) {} }").unwrap(),
            "impl FooController { fn register(setup: &mut Setup) { crate::api::foo::register_versions(setup);} }"
        );
        assert_eq!(call("impl BarController { fn register(s: &mut Setup) {} }"), None);
        let error = call_registration(
            "impl FooController { fn register() {} }",
            "Foo",
            "crate::api::foo",
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("crate::api::foo::register_versions(setup);"),
            "{error}"
        );
    }
}
