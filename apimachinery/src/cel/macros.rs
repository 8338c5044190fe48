//! The macros of kube-apiserver that kube-cel lacks: comprehensions with two variables, `optMap`, `optFlatMap` and `sortBy`.
//!
//! They are expanded as cel-go does, so that the types and the cost of an expression can be checked, and it can be evaluated
//! ([`super::comprehensions`]).

use super::RESERVED_WORDS;
use super::expression::parse;
use super::lowering;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr,
};

/// Inserts an entry into a map: a key and its value, or a map.
pub(super) const MAP_INSERT: &str = "@mapInsert";
/// Sorts a list by a list of keys.
pub(super) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";
/// The variable with the list that `sortBy` sorts.
const SORTED: &str = "@__sortBy_input__";
/// The bits of an id that the parser sets. The higher ones number the parts that expansions make.
const PARSED_ID: u64 = u32::MAX as u64;
/// Upper limit of the parts that expansions make: `optMap` copies its receiver, so that a chain of it grows exponentially.
const MAX_PARTS: u64 = 20_000;

/// A call of a macro that is refused: the id of the part at fault, and why.
pub(super) type Refused = (u64, String);

/// Expands the macros of an expression, and `cel.bind`, which only some expressions have, if `has_bindings`.
///
/// # Errors
///
/// Returns the calls that cel-go refuses, with its messages, and those that would make an expression too large.
pub(super) fn expand(mut expression: IdedExpr, has_bindings: bool) -> Result<IdedExpr, Vec<Refused>> {
    let mut expansion = Expansion {
        parts: 0,
        has_bindings,
        refused: vec![],
    };
    expansion.expand(&mut expression);
    if expansion.refused.is_empty() {
        Ok(expression)
    } else {
        Err(expansion.refused)
    }
}

/// Returns the id of the part of the text that the part with this id is, or is a copy of; None if it is not in the text.
pub(super) fn id_in_text(id: u64) -> Option<u64> {
    Some(id & PARSED_ID).filter(|id| *id != 0)
}

struct Expansion {
    /// How many parts were made.
    parts: u64,
    has_bindings: bool,
    refused: Vec<Refused>,
}

impl Expansion {
    fn expand(&mut self, expression: &mut IdedExpr) {
        parts_mut(&mut expression.expr, &mut |part| self.expand(part));
        let id = expression.id;
        if let Expr::Ident(name) = &expression.expr
            && RESERVED_WORDS.contains(&name.as_str())
        {
            self.refused.push((id, format!("reserved identifier: {name}")));
        }
        if let Expr::Call(call) = &mut expression.expr
            && let Some(mut expanded) = self.expand_call(id, call)
        {
            // It stands where the macro does.
            expanded.id |= id & PARSED_ID;
            *expression = expanded;
        }
    }

    /// Expands a call of a macro and moves its parts into the expansion; None for other calls.
    fn expand_call(&mut self, id: u64, call: &mut CallExpr) -> Option<IdedExpr> {
        let name = call.func_name.as_str();
        // R, F and B stand for the receiver, the filter and the last argument, V for that argument where the receiver's value has a name.
        let (variable_count, template) = match (name, call.args.len()) {
            ("all", 3) => (2, "R.all(x, B)"),
            ("exists", 3) => (2, "R.exists(x, B)"),
            ("existsOne" | "exists_one", 3) => (2, "R.exists_one(x, B)"),
            ("transformList" | "transformMap" | "transformMapEntry", 3) => (2, "R.map(x, B)"),
            ("transformList" | "transformMap" | "transformMapEntry", 4) => (2, "R.map(x, F, B)"),
            ("optMap", 2) => (1, "R.hasValue() ? optional.of(V) : optional.none()"),
            ("optFlatMap", 2) => (1, "R.hasValue() ? V : optional.none()"),
            ("sortBy", 2) => (1, "R.map(x, B)"),
            ("bind", 3) if self.has_bindings && is_cel(call.target.as_deref()) => (1, "B"),
            _ => return None,
        };
        if self.parts > MAX_PARTS {
            self.refused
                .push((id, "its macros make the expression too large".to_owned()));
            return None;
        }
        let mut variables = self.variables(name, call, variable_count)?.into_iter();
        let (first, second) = (variables.next()?, variables.next());
        let mut expanded = parse(template).ok()?;
        let receiver = *call.target.take()?;
        self.renumber(&mut expanded, 0);
        let mut rest = call.args.split_off(variable_count);
        let body = rest.pop()?;
        if name == "bind" {
            return Some(self.bind(first, rest.pop()?, body));
        }
        if name.starts_with("opt") {
            let mut copy = receiver.clone();
            self.renumber(&mut copy, PARSED_ID);
            let value = Expr::Call(CallExpr {
                func_name: "value".to_owned(),
                target: Some(Box::new(copy)),
                args: vec![],
            });
            let value = self.new_part(value);
            let bound = self.bind(first, value, body);
            substitute(&mut expanded, &mut [("R", Some(receiver)), ("V", Some(bound))]);
            return Some(expanded);
        }
        if let Expr::Comprehension(comprehension) = &mut expanded.expr {
            comprehension.iter_var.clone_from(&first);
            comprehension.iter_var2 = second;
            if name.starts_with("transformMap") {
                let key = (name == "transformMap").then(|| self.new_part(Expr::Ident(first)));
                make_map(comprehension, key);
            }
        }
        if name == "sortBy" {
            let [range, sorted] = [(); 2].map(|()| self.new_part(Expr::Ident(SORTED.to_owned())));
            substitute(&mut expanded, &mut [("R", Some(range)), ("B", Some(body))]);
            let mut sort = self.new_part(lowering::call(SORT_BY_KEYS, vec![sorted, expanded]));
            sort.id |= id & PARSED_ID;
            return Some(self.bind(SORTED.to_owned(), receiver, sort));
        }
        let parts = &mut [("R", Some(receiver)), ("F", rest.pop()), ("B", Some(body))];
        substitute(&mut expanded, parts);
        Some(expanded)
    }

    /// Returns the names of the variables that a macro binds; None if they are refused.
    fn variables(&mut self, name: &str, call: &CallExpr, count: usize) -> Option<Vec<String>> {
        if let ("sortBy", Some(target)) = (name, &call.target)
            && matches!(target.expr, Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_))
        {
            let why =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            self.refused.push((target.id, why.to_owned()));
            return None;
        }
        let mut names: Vec<String> = vec![];
        for argument in &call.args[..count] {
            let why = match (&argument.expr, name) {
                (Expr::Ident(name), _) if names.contains(name) => format!("duplicate variable name: {name}"),
                (Expr::Ident(name), _) => {
                    names.push(name.clone());
                    continue;
                }
                (_, "optMap" | "optFlatMap") => format!("{name}() variable name must be a simple identifier"),
                (_, "sortBy") => "argument is not an identifier".to_owned(),
                (_, "bind") => "cel.bind() variable names must be simple identifiers".to_owned(),
                _ => "argument must be a simple name".to_owned(),
            };
            self.refused.push((argument.id, why));
            return None;
        }
        Some(names)
    }

    /// An expression with a variable: the result of a comprehension over nothing.
    fn bind(&mut self, name: String, value: IdedExpr, result: IdedExpr) -> IdedExpr {
        let iter_range = self.new_part(Expr::List(ListExpr::default()));
        let loop_cond = self.new_part(Expr::Literal(LiteralValue::Boolean(false.into())));
        let loop_step = self.new_part(Expr::Ident(name.clone()));
        self.new_part(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range,
            iter_var: "#unused".to_owned(),
            iter_var2: None,
            accu_var: name,
            accu_init: value,
            loop_cond,
            loop_step,
            result,
        })))
    }

    fn new_part(&mut self, expr: Expr) -> IdedExpr {
        let id = self.new_id();
        IdedExpr { id, expr }
    }

    /// Numbers the parts of a template or copy, and keeps these bits of their ids.
    fn renumber(&mut self, expression: &mut IdedExpr, kept: u64) {
        expression.id = self.new_id() | (expression.id & kept);
        parts_mut(&mut expression.expr, &mut |part| self.renumber(part, kept));
    }

    fn new_id(&mut self) -> u64 {
        self.parts += 1;
        self.parts << PARSED_ID.count_ones()
    }
}

/// True for the namespace of `cel.bind`.
fn is_cel(target: Option<&IdedExpr>) -> bool {
    matches!(target, Some(IdedExpr { expr: Expr::Ident(name), .. }) if name == "cel")
}

/// Makes a comprehension that collects a list collect a map: each item becomes the value of a key, or is itself a map of entries.
fn make_map(comprehension: &mut ComprehensionExpr, key: Option<IdedExpr>) {
    comprehension.accu_init.expr = Expr::Map(MapExpr::default());
    let Expr::Call(step) = &mut comprehension.loop_step.expr else {
        return;
    };
    let call = match step.args.get_mut(1).map(|added| &mut added.expr) {
        // With a filter.
        Some(Expr::Call(call)) => call,
        _ => step,
    };
    MAP_INSERT.clone_into(&mut call.func_name);
    if let Some(Expr::List(added)) = call.args.pop().map(|added| added.expr) {
        call.args.extend(key.into_iter().chain(added.elements));
    }
}

/// Replaces the names of a template by expressions.
fn substitute(template: &mut IdedExpr, parts: &mut [(&str, Option<IdedExpr>)]) {
    if let Expr::Ident(name) = &template.expr
        && let Some(part) = parts.iter_mut().find(|(placeholder, _)| placeholder == name)
        && let Some(part) = part.1.take()
    {
        *template = part;
        return;
    }
    parts_mut(&mut template.expr, &mut |part| substitute(part, parts));
}

/// Returns the direct parts of an expression.
pub(super) fn parts(expr: &Expr) -> Vec<&IdedExpr> {
    let entries = match expr {
        Expr::Call(call) => {
            return call
                .target
                .iter()
                .map(|target| &**target)
                .chain(&call.args)
                .collect();
        }
        Expr::Select(select) => return vec![&select.operand],
        Expr::List(list) => return list.elements.iter().collect(),
        Expr::Comprehension(comprehension) => {
            return vec![
                &comprehension.iter_range,
                &comprehension.accu_init,
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ];
        }
        Expr::Map(map) => &map.entries,
        Expr::Struct(object) => &object.entries,
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => return vec![],
    };
    let mut parts = vec![];
    for entry in entries {
        match &entry.expr {
            EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
            EntryExpr::StructField(field) => parts.push(&field.value),
        }
    }
    parts
}

/// Calls a function for each direct part of an expression.
pub(super) fn parts_mut(expr: &mut Expr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    let entries = match expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| visit(target));
            return call.args.iter_mut().for_each(visit);
        }
        Expr::Select(select) => return visit(&mut select.operand),
        Expr::List(list) => return list.elements.iter_mut().for_each(visit),
        Expr::Comprehension(comprehension) => {
            visit(&mut comprehension.iter_range);
            visit(&mut comprehension.accu_init);
            visit(&mut comprehension.loop_cond);
            visit(&mut comprehension.loop_step);
            return visit(&mut comprehension.result);
        }
        Expr::Map(map) => &mut map.entries,
        Expr::Struct(object) => &mut object.entries,
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => return,
    };
    for entry in entries {
        match &mut entry.expr {
            EntryExpr::MapEntry(entry) => {
                visit(&mut entry.key);
                visit(&mut entry.value);
            }
            EntryExpr::StructField(field) => visit(&mut field.value),
        }
    }
}
