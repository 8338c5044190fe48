//! The calls that set up the manager.

use syn::{
    Expr, ExprCall, ExprMethodCall,
    visit::{self, Visit},
};

use super::{InsertError, insertion::Source};

/// `.register(<Kind>Controller::register)` behind the last such call, or behind `Manager::from_args(…)`.
pub fn register(text: &str, kind: &str) -> Result<String, InsertError> {
    let source = Source::parse(text)?;
    let controller = format!("{kind}Controller");
    let call = format!(".register({controller}::register)");
    let mut calls = Calls {
        controller: &controller,
        registered: false,
        registrations: Vec::new(),
        managers: Vec::new(),
    };
    calls.visit_file(&source.file);
    if calls.registered {
        return Ok(text.to_owned());
    }
    let no_place = |lacks| InsertError::NoPlace {
        lacks,
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
            // On a line of its own where the call before is.
            match source.indentation(dot) {
                "" => source.insert(end, &call),
                indent => source.insert_line_after(end, &format!("{indent}{call}")),
            }
        }
        (None, Some(manager)) => source.insert(source.range(manager).end, &call),
        (None, None) => None,
    };
    result.ok_or_else(|| no_place("`Manager::from_args(…)` was not found"))
}

struct Calls<'a, 'ast> {
    controller: &'a str,
    registered: bool,
    registrations: Vec<&'ast ExprMethodCall>,
    managers: Vec<&'ast ExprCall>,
}

impl<'ast> Visit<'ast> for Calls<'_, 'ast> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "register"
            && let Some(Expr::Path(argument)) = call.args.first()
        {
            let mut names = argument.path.segments.iter().rev().map(|segment| &segment.ident);
            if names.next().is_some_and(|name| name == "register") {
                self.registrations.push(call);
                self.registered |= names.next().is_some_and(|name| name == self.controller);
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
        register(text, "Bar").unwrap()
    }

    #[test]
    fn follows_the_layout_that_there_is() {
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
    }

    #[test]
    fn finds_what_is_registered_already() {
        let text = "fn main() { m.register(shop::controllers::BarController::register); }";
        assert_eq!(edit(text), text);
    }

    #[test]
    fn without_a_manager_it_says_what_to_write() {
        let error = register("fn main() {}", "Bar").unwrap_err();
        assert!(
            error.to_string().contains(".register(BarController::register)"),
            "{error}"
        );
        let twice = "fn main() { Manager::from_args(\"a\"); Manager::from_args(\"b\"); }";
        assert!(register(twice, "Bar").is_err());
    }
}
