//! Rewrites parsed expressions for the evaluator: macros that kube-cel lacks are expanded, field selections, which kube-cel evaluates to
//! `false` on a value without fields, become calls of [`super::functions`], and so do composed variables, the names of types and objects of
//! types. Refuses what cannot be evaluated.

use super::checker::{qualified_name, type_named};
use super::{comprehensions, functions, list_types, macros, patches, signatures, type_values};
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapEntryExpr,
    MapExpr, SelectExpr, StructExpr, operators,
};
use serde_json::Value;

/// Rewrites an expression.
///
/// # Errors
///
/// Names what cannot be evaluated.
pub(super) fn lower(expression: IdedExpr) -> Result<IdedExpr, String> {
    Lowering::default().lower(expanded(expression)?)
}

/// Rewrites an expression of a rule of this schema, so that only values with fields are selected from.
///
/// # Errors
///
/// As for [`lower`].
pub(super) fn lower_typed(expression: IdedExpr, schema: &Value) -> Result<IdedExpr, String> {
    let lowering = &mut Lowering {
        schema: Some(schema),
        bound: vec![],
    };
    lowering.lower(expanded(expression)?)
}

fn expanded(expression: IdedExpr) -> Result<IdedExpr, String> {
    let refused =
        |refused: Vec<macros::Refused>| refused.into_iter().map(|(_, why)| why).next().unwrap_or_default();
    macros::expand(expression, false).map_err(refused)
}

#[derive(Default)]
struct Lowering<'s> {
    /// The schema of a rule. Its types are known, so that kube-cel can select fields, which is faster.
    schema: Option<&'s Value>,
    /// The names that the surrounding comprehensions bind.
    bound: Vec<String>,
}

impl Lowering<'_> {
    fn lower(&mut self, expression: IdedExpr) -> Result<IdedExpr, String> {
        let IdedExpr { id, expr } = expression;
        let expr = match expr {
            Expr::Select(select) if !select.test && names_type(&select) => {
                let name = qualified_name(&select.operand, &select.field).unwrap_or_default();
                call(type_values::TYPE, vec![literal(&name)])
            }
            Expr::Select(select) if self.is_free(&select.operand, "variables") => {
                if select.test {
                    Expr::Literal(LiteralValue::Boolean(true.into()))
                } else {
                    call(functions::VARIABLE, vec![literal(&select.field)])
                }
            }
            Expr::Select(select)
                if self.is_free(&select.operand, "authorizer") && select.field == "requestResource" =>
            {
                Expr::Ident(functions::REQUEST_RESOURCE.to_owned())
            }
            Expr::Select(select) if self.schema.is_some() && is_field_of_variable(&select.operand) => {
                let operand = Box::new(self.lower(*select.operand)?);
                Expr::Select(SelectExpr { operand, ..select })
            }
            Expr::Select(select) => {
                let name = if select.test {
                    functions::HAS
                } else {
                    functions::SELECT
                };
                self.select(name, *select.operand, select.field)?
            }
            Expr::Call(called) => self.call(called)?,
            Expr::Comprehension(comprehension) => {
                let function = comprehensions::function_of(&comprehension);
                let lowered = Expr::Comprehension(Box::new(self.comprehension(*comprehension)?));
                match function {
                    Some(function) => call(function, vec![unnumbered(lowered)]),
                    None => lowered,
                }
            }
            Expr::List(mut list) => {
                list.elements = self.all(list.elements)?;
                Expr::List(list)
            }
            Expr::Map(mut map) => {
                for entry in &mut map.entries {
                    if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                        entry.key = self.lower(std::mem::take(&mut entry.key))?;
                        entry.value = self.lower(std::mem::take(&mut entry.value))?;
                    }
                }
                Expr::Map(map)
            }
            Expr::Ident(name) if type_named(&name).is_some() && !self.bound.contains(&name) => {
                call(type_values::TYPE, vec![literal(&name)])
            }
            Expr::Struct(object) => Expr::Map(self.object(object)?),
            expr @ (Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified) => expr,
        };
        Ok(IdedExpr { id, expr })
    }

    /// Makes a map of an object, in which a key has the name of its type.
    fn object(&mut self, object: StructExpr) -> Result<MapExpr, String> {
        let entry = |key: IdedExpr, value: IdedExpr, optional: bool| IdedEntryExpr {
            id: 0,
            expr: EntryExpr::MapEntry(MapEntryExpr { key, value, optional }),
        };
        let type_key = unnumbered(Expr::Literal(LiteralValue::Boolean(patches::TYPE_KEY.into())));
        let mut entries = vec![entry(type_key, literal(&object.type_name), false)];
        for field in object.entries {
            if let EntryExpr::StructField(field) = field.expr {
                let value = self.lower(field.value)?;
                entries.push(entry(literal(&field.field), value, field.optional));
            }
        }
        Ok(MapExpr { entries })
    }

    fn all(&mut self, expressions: Vec<IdedExpr>) -> Result<Vec<IdedExpr>, String> {
        expressions
            .into_iter()
            .map(|expression| self.lower(expression))
            .collect()
    }

    /// The keys of the items of the list on the left, if it is of type set or map.
    fn list_keys(&self, args: &[IdedExpr]) -> Option<Vec<String>> {
        let is_free = |name: &str| !self.bound.iter().any(|bound| bound == name);
        list_types::keys(args.first()?, self.schema?, &is_free)
    }

    /// True if the expression is this name, and no comprehension binds it.
    fn is_free(&self, expression: &IdedExpr, name: &str) -> bool {
        matches!(&expression.expr, Expr::Ident(ident) if ident == name)
            && !self.bound.iter().any(|bound| bound == name)
    }

    /// Selects a field below an operand, and the operand itself below its root, in one call.
    fn select(&mut self, name: &str, operand: IdedExpr, field: String) -> Result<Expr, String> {
        let (mut root, mut fields) = (operand, vec![field]);
        loop {
            match root.expr {
                Expr::Select(select)
                    if !select.test
                        && !self.is_free(&select.operand, "variables")
                        && !self.is_free(&select.operand, "authorizer") =>
                {
                    fields.push(select.field);
                    root = *select.operand;
                }
                expr => {
                    root = IdedExpr { id: root.id, expr };
                    break;
                }
            }
        }
        let mut arguments = vec![self.lower(root)?];
        arguments.extend(fields.iter().rev().map(|field| literal(field)));
        Ok(call(name, arguments))
    }

    fn call(&mut self, called: CallExpr) -> Result<Expr, String> {
        let CallExpr {
            func_name: name,
            target,
            args,
        } = called;
        if let operators::EQUALS | operators::NOT_EQUALS = name.as_str()
            && let Some(at) = args.iter().position(is_missing_value)
        {
            // kube-cel finds no two missing values equal.
            let other = self.lower(args.into_iter().nth(1 - at.min(1)).unwrap_or_default())?;
            let has_value = Expr::Call(CallExpr {
                func_name: "hasValue".to_owned(),
                target: Some(Box::new(other)),
                args: vec![],
            });
            if name == operators::NOT_EQUALS {
                return Ok(has_value);
            }
            return Ok(call(operators::LOGICAL_NOT, vec![unnumbered(has_value)]));
        }
        if let operators::EQUALS | operators::NOT_EQUALS | operators::ADD = name.as_str()
            && let Some(keys) = self.list_keys(&args)
        {
            let keys = keys.iter().map(|key| literal(key));
            let arguments = self.all(args)?.into_iter().chain(keys).collect();
            return Ok(if name == operators::ADD {
                call(list_types::MERGE, arguments)
            } else {
                comparison(list_types::EQUALS, &name, arguments)
            });
        }
        // kube-cel compares numbers of one type, and finds only some types in maps.
        let compares = matches!(
            name.as_str(),
            operators::EQUALS | operators::NOT_EQUALS | operators::IN
        );
        let compares_any = compares && (self.schema.is_none() || args.iter().any(hides_type));
        // kube-cel adds durations to times, not times to durations.
        let adds_to_duration = name == operators::ADD && args.first().is_some_and(is_duration);
        let mut args = self.all(args)?;
        if adds_to_duration {
            args.reverse();
        }
        if compares_any {
            let function = if name == operators::IN {
                functions::IN
            } else {
                functions::EQUALS
            };
            return Ok(comparison(function, &name, args));
        }
        let Some(target) = target else {
            return match name.as_str() {
                "dyn" if args.len() == 1 => Ok(args.into_iter().next().unwrap_or_default().expr),
                operators::NEGATE => Ok(call(functions::NEGATE, args)),
                operators::LOGICAL_AND => Ok(call(functions::AND, args)),
                operators::LOGICAL_OR => Ok(call(functions::OR, args)),
                operators::OPT_SELECT => Ok(call(functions::OPTIONAL_SELECT, args)),
                // kube-cel loses errors of an only argument.
                name if is_known(name) && args.len() == 1 && !signatures::is_operator(name) => {
                    let argument = unnumbered(Expr::Ident(functions::ARGUMENT.to_owned()));
                    let applied = unnumbered(call(name, vec![argument]));
                    Ok(call(
                        functions::APPLY,
                        args.into_iter().chain([applied]).collect(),
                    ))
                }
                name if is_known(name) => Ok(call(name, args)),
                name => Err(format!("the function '{name}'")),
            };
        };
        let is_prefix = matches!(&target.expr, Expr::Ident(prefix) if is_known(&format!("{prefix}.{name}")));
        if !is_prefix && !is_known(&name) {
            return Err(format!("the function '{name}'"));
        }
        let target = if is_prefix {
            target
        } else {
            Box::new(self.lower(*target)?)
        };
        Ok(Expr::Call(CallExpr {
            func_name: name,
            target: Some(target),
            args,
        }))
    }

    fn comprehension(&mut self, comprehension: ComprehensionExpr) -> Result<ComprehensionExpr, String> {
        let ComprehensionExpr {
            iter_range,
            iter_var,
            iter_var2,
            accu_var,
            accu_init,
            loop_cond,
            loop_step,
            result,
        } = comprehension;
        let (iter_range, accu_init) = (self.lower(iter_range)?, self.lower(accu_init)?);
        let depth = self.bound.len();
        self.bound.push(accu_var.clone());
        let result = self.lower(result)?;
        // Each step is counted, which limits the cost.
        let condition = vec![
            unnumbered(call(functions::COUNT_STEP, vec![])),
            self.lower(loop_cond)?,
        ];
        self.bound.push(iter_var.clone());
        self.bound.extend(iter_var2.clone());
        let loop_step = self.lower(loop_step)?;
        self.bound.truncate(depth);
        Ok(ComprehensionExpr {
            iter_range,
            iter_var,
            iter_var2,
            accu_var,
            accu_init,
            loop_cond: unnumbered(call(operators::LOGICAL_AND, condition)),
            loop_step,
            result,
        })
    }
}

/// True for a variable, or a field below it. What a call returns may be a value that may be missing.
fn is_field_of_variable(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Select(select) => is_field_of_variable(&select.operand),
        Expr::Ident(_) => true,
        _ => false,
    }
}

/// True for the name of a type that has several parts, such as `net.IP`.
fn names_type(select: &SelectExpr) -> bool {
    qualified_name(&select.operand, &select.field).is_some_and(|name| type_named(&name).is_some())
}

/// True for a function that can be evaluated.
fn is_known(name: &str) -> bool {
    signatures::is_operator(name) || signatures::overloads(name).is_some()
}

/// True for a call of `duration`.
fn is_duration(expression: &IdedExpr) -> bool {
    matches!(&expression.expr, Expr::Call(call) if call.target.is_none() && call.func_name == "duration")
}

/// True for a value whose type only the evaluation shows, and for one that may be missing.
fn hides_type(expression: &IdedExpr) -> bool {
    let Expr::Call(call) = &expression.expr else {
        return false;
    };
    match &call.target {
        Some(target) => matches!(&target.expr, Expr::Ident(name) if name == "optional"),
        None => call.func_name == "dyn",
    }
}

/// True for `optional.none()`.
fn is_missing_value(expression: &IdedExpr) -> bool {
    let Expr::Call(call) = &expression.expr else {
        return false;
    };
    let target = call.target.as_ref().map(|target| &target.expr);
    call.func_name == "none" && matches!(target, Some(Expr::Ident(name)) if name == "optional")
}

/// A call of a function that compares, negated if the operator is `!=`.
fn comparison(function: &str, operator: &str, args: Vec<IdedExpr>) -> Expr {
    let compared = call(function, args);
    if operator == operators::NOT_EQUALS {
        return call(operators::LOGICAL_NOT, vec![unnumbered(compared)]);
    }
    compared
}

/// A call of a function without a receiver.
pub(super) fn call(name: &str, args: Vec<IdedExpr>) -> Expr {
    Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    })
}

fn literal(text: &str) -> IdedExpr {
    unnumbered(Expr::Literal(LiteralValue::String(text.into())))
}

/// A part that is not in the text.
pub(super) fn unnumbered(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}
