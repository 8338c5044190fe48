//! Inserts a call into the chain that sets up the `Manager`.

use syn::{
    Expr, ExprCall, ExprMethodCall,
    visit::{self, Visit},
};

use super::{InsertError, insertion::SourceText};

/// Inserts `.register(<name>::register)` after the last such call, or after `Manager::from_args(…)`.
pub fn register(text: &str, name: &str) -> Result<String, InsertError> {
    let source = SourceText::parse(text)?;
    let call = format!(".register({name}::register)");
    let mut calls = ManagerCalls {
        name,
        registered: false,
        registrations: Vec::new(),
        managers: Vec::new(),
    };
    calls.visit_file(&source.file);
    if calls.registered {
        return Ok(text.to_owned());
    }
    let no_place = |reason| InsertError::NoInsertionPoint {
        reason,
        line: format!("Manager::from_args(…){call}"),
    };
    if calls.managers.len() > 1 {
        return Err(no_place("`from_args` is called more than once"));
    }
    let last = calls
        .registrations
        .into_iter()
        .max_by_key(|call| source.range(call).end);
    let result = match (last, calls.managers.first()) {
        (Some(last), _) => {
            let dot = source.range(&last.dot_token).start;
            let end = source.range(last).end;
            // On its own line if the previous call is on its own line.
            match source.indentation(dot) {
                "" => source.insert(end, &call),
                indent => source.insert_line_after(end, &format!("{indent}{call}")),
            }
        }
        (None, Some(manager)) => {
            let end = source.range(manager).end;
            // On its own line if the next call is on its own line.
            let rest = &text[end..];
            let next = rest.trim_start();
            let layout = &rest[..rest.len() - next.len()];
            let layout = if next.starts_with('.') { layout } else { "" };
            source.insert(end, &format!("{layout}{call}"))
        }
        (None, None) => None,
    };
    result.ok_or_else(|| no_place("found no `Manager::from_args(…)`"))
}

struct ManagerCalls<'a, 'ast> {
    name: &'a str,
    registered: bool,
    registrations: Vec<&'ast ExprMethodCall>,
    managers: Vec<&'ast ExprCall>,
}

impl<'ast> Visit<'ast> for ManagerCalls<'_, 'ast> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "register"
            && let Some(Expr::Path(argument)) = call.args.first()
        {
            let mut names = argument.path.segments.iter().rev().map(|segment| &segment.ident);
            if names.next().is_some_and(|name| name == "register") {
                self.registrations.push(call);
                self.registered |= names.next().is_some_and(|name| name == self.name);
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = &*call.func
            && function
                .path
                .segments
                .last()
                .is_some_and(|segment| segment.ident == "from_args")
        {
            self.managers.push(call);
        }
        visit::visit_expr_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str) -> String {
        register(text, "BarController").unwrap()
    }

    #[test]
    fn keeps_the_layout_of_the_call_chain() {
        assert_eq!(
            edit("fn main() { Manager::from_args(\"a\").register(F::register).run() }"),
            "fn main() { Manager::from_args(\"a\").register(F::register).register(BarController::register).run() }"
        );
        assert_eq!(
            edit(
                "fn main() {\n    Manager::from_args(\"a\")\n        .register(F::register) // F\n        .run()\n}"
            ),
            "fn main() {\n    Manager::from_args(\"a\")\n        .register(F::register) // F\n        \
             .register(BarController::register)\n        .run()\n}"
        );
        assert_eq!(
            edit("fn main() { Manager::from_args(\"a\").run() }"),
            "fn main() { Manager::from_args(\"a\").register(BarController::register).run() }"
        );
        assert_eq!(
            edit("fn main() {\n    Manager::from_args(\"a\")\n        .run()\n}"),
            "fn main() {\n    Manager::from_args(\"a\")\n        .register(BarController::register)\n        .run()\n}"
        );
    }

    #[test]
    fn registered_controllers_are_not_added_again() {
        let text = "fn main() { m.register(shop::controllers::BarController::register); }";
        assert_eq!(edit(text), text);
    }

    #[test]
    fn missing_or_ambiguous_manager_is_an_error() {
        let error = register("fn main() {}", "BarController").unwrap_err();
        assert!(
            error.to_string().contains(".register(BarController::register)"),
            "{error}"
        );
        let twice = "fn main() { Manager::from_args(\"a\"); Manager::from_args(\"b\"); }";
        assert!(register(twice, "BarController").is_err());
    }
}
