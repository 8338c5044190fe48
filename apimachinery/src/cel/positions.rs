//! Where the parts of an expression stand in its text. The parser keeps no positions, so this follows its result through the text.

use super::macros::id_in_text;
use super::signatures;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The places of the parts of an expression, by their ids: the byte that cel-go names in errors. That is the operator of an operation,
/// the parenthesis of a call, the dot of a selection, the colon of an entry, and the start of everything else.
pub(super) type Positions = HashMap<u64, usize>;

/// Returns the positions of the parts of an expression that the parser returned for this text. What macros make of their arguments has none.
pub(super) fn of(text: &str, parsed: &IdedExpr) -> Positions {
    let mut walk = Walk {
        tokens: tokens(text),
        next: 0,
        positions: Positions::new(),
    };
    walk.visit(parsed);
    walk.positions
}

/// Returns where the part with this id stands, or the part of the text that it is a copy of; None if it is not in the text.
pub(super) fn place(positions: &Positions, id: u64) -> Option<usize> {
    positions.get(&id_in_text(id)?).copied()
}

static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let raw = r#"[bB]?[rR][bB]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')"#;
    let string =
        r#"[bB]?(?:"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"#;
    let number = r"0x[0-9a-fA-F]+u?|[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+(?:[eE][+-]?[0-9]+)?[uU]?";
    let pattern = format!(r"(?s)//[^\n]*|{raw}|{string}|{number}|\w+|&&|\|\||[=!<>]=|\S");
    Regex::new(&pattern).ok()
});

/// Returns the tokens of a text, and where they start.
pub(super) fn tokens(text: &str) -> Vec<(usize, &str)> {
    let found = TOKEN.iter().flat_map(|token| token.find_iter(text));
    let tokens = found.map(|token| (token.start(), token.as_str()));
    tokens.filter(|(_, token)| !token.starts_with("//")).collect()
}

/// An error at a place of an expression. The line that marks the place has a wide character below each one that is not ASCII.
pub(super) fn at_place(expression: &str, at: usize, why: &str) -> String {
    let before = expression.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = expression.get(start..).and_then(|rest| rest.lines().next());
    let before_place = before.get(start..).unwrap_or_default();
    let dots = before_place
        .chars()
        .map(|c| if c.is_ascii() { '.' } else { '．' });
    let is_wide = expression
        .get(at..)
        .and_then(|rest| rest.chars().next())
        .is_some_and(|c| !c.is_ascii());
    format!(
        "ERROR: <input>:{}:{}: {why}\n | {}\n | {}{}",
        before.matches('\n').count() + 1,
        before_place.chars().count() + 1,
        line.unwrap_or_default().replace('\t', " "),
        dots.collect::<String>(),
        if is_wide { '＾' } else { '^' },
    )
}

/// A walk through an expression and its text. The parts are visited in the order of the text, so each stands behind the one before it.
struct Walk<'t> {
    tokens: Vec<(usize, &'t str)>,
    next: usize,
    positions: Positions,
}

impl Walk<'_> {
    /// Goes behind the next token of this kind, and returns where it starts.
    fn find(&mut self, is_wanted: impl Fn(&str) -> bool) -> Option<usize> {
        let found = self.tokens[self.next..]
            .iter()
            .position(|(_, token)| is_wanted(token))?;
        self.next += found + 1;
        Some(self.tokens[self.next - 1].0)
    }

    /// The part stands at the next token with this text.
    fn place(&mut self, id: u64, token: &str) {
        let found = self.find(|found| found == token);
        self.positions.extend(found.map(|at| (id, at)));
    }

    fn visit(&mut self, expression: &IdedExpr) {
        let id = expression.id;
        match &expression.expr {
            Expr::Literal(literal) => self.literal(id, literal),
            Expr::Ident(name) => self.place(id, name.strip_prefix('.').unwrap_or(name)),
            Expr::Select(select) if select.test => {
                self.find(|token| token == "has");
                self.place(id, "(");
                self.visit(&select.operand);
                self.find(|token| token == select.field);
            }
            Expr::Select(select) => {
                self.visit(&select.operand);
                self.place(id, ".");
                self.find(|token| token == select.field);
            }
            Expr::Call(call) => self.call(id, call),
            Expr::List(list) => {
                self.place(id, "[");
                list.elements.iter().for_each(|item| self.visit(item));
            }
            Expr::Map(map) => {
                self.place(id, "{");
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(pair) = &entry.expr {
                        self.visit(&pair.key);
                        self.place(entry.id, ":");
                        self.visit(&pair.value);
                    }
                }
            }
            Expr::Struct(object) => {
                self.place(id, "{");
                for entry in &object.entries {
                    if let EntryExpr::StructField(field) = &entry.expr {
                        self.place(entry.id, ":");
                        self.visit(&field.value);
                    }
                }
            }
            Expr::Comprehension(comprehension) => self.comprehension(id, comprehension),
            Expr::Unspecified => {}
        }
    }

    fn literal(&mut self, id: u64, literal: &LiteralValue) {
        let is_text = |token: &str| token.ends_with(['"', '\'']);
        let found = match literal {
            LiteralValue::String(_) | LiteralValue::Bytes(_) => self.find(is_text),
            LiteralValue::Boolean(_) => self.find(|token| matches!(token, "true" | "false")),
            LiteralValue::Null => self.find(|token| token == "null"),
            LiteralValue::Double(_) | LiteralValue::Int(_) | LiteralValue::UInt(_) => {
                self.find(|token| token.starts_with(|c: char| c.is_ascii_digit() || c == '.') && token != ".")
            }
        };
        let is_negative = match literal {
            LiteralValue::Int(number) => *number.inner() < 0,
            LiteralValue::Double(number) => *number.inner() < 0.0,
            _ => false,
        };
        let sign = self
            .next
            .checked_sub(2)
            .and_then(|before| self.tokens.get(before));
        let found = match sign {
            Some((at, "-")) if is_negative => Some(*at),
            _ => found,
        };
        self.positions.extend(found.map(|at| (id, at)));
    }

    fn call(&mut self, id: u64, call: &CallExpr) {
        let name = call.func_name.as_str();
        match (name, &call.args[..]) {
            (operators::CONDITIONAL, [condition, left, right]) => {
                self.visit(condition);
                self.place(id, "?");
                self.visit(left);
                self.visit(right);
            }
            (operators::INDEX | operators::OPT_INDEX, [collection, index]) => {
                self.visit(collection);
                self.place(id, "[");
                self.visit(index);
            }
            (operators::OPT_SELECT, [operand, field]) => {
                self.visit(operand);
                self.place(id, ".");
                self.find(|token| token == "?");
                if let Some((at, _)) = self.tokens.get(self.next) {
                    self.positions.insert(field.id, *at);
                    self.next += 1;
                }
            }
            (_, [operand]) if signatures::is_operator(name) => {
                self.place(id, &name[..1]);
                self.visit(operand);
            }
            (_, [left, right]) if signatures::is_operator(name) => {
                self.visit(left);
                self.place(id, name.trim_matches(['_', '@']));
                self.visit(right);
            }
            (name, args) => {
                if let Some(target) = &call.target {
                    self.visit(target);
                    self.find(|token| token == ".");
                }
                self.find(|token| token == name);
                self.place(id, "(");
                for argument in args {
                    self.visit(argument);
                }
            }
        }
    }

    fn comprehension(&mut self, id: u64, comprehension: &ComprehensionExpr) {
        const MACROS: [&str; 6] = ["all", "exists", "existsOne", "exists_one", "filter", "map"];
        self.visit(&comprehension.iter_range);
        self.find(|token| MACROS.contains(&token));
        self.place(id, "(");
        self.find(|token| token == comprehension.iter_var);
        for argument in arguments(comprehension) {
            self.visit(argument);
        }
    }
}

/// Returns the arguments of the macro that was expanded to a comprehension, without its variable.
fn arguments(comprehension: &ComprehensionExpr) -> Vec<&IdedExpr> {
    fn added(step: &IdedExpr) -> Option<&IdedExpr> {
        match &step.expr {
            Expr::Call(call) => match call.args.get(1).map(|added| &added.expr) {
                Some(Expr::List(list)) => list.elements.first(),
                _ => None,
            },
            _ => None,
        }
    }
    let Expr::Call(step) = &comprehension.loop_step.expr else {
        return vec![];
    };
    match (step.func_name.as_str(), &step.args[..]) {
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [_, condition]) => vec![condition],
        (operators::CONDITIONAL, [condition, step, _]) => {
            // `filter` adds its variable, which is not in the text again.
            let is_variable =
                |item: &&IdedExpr| matches!(&item.expr, Expr::Ident(name) if *name == comprehension.iter_var);
            let item = added(step).filter(|item| !is_variable(item));
            [condition].into_iter().chain(item).collect()
        }
        (operators::ADD, _) => added(&comprehension.loop_step).into_iter().collect(),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::parse;
    use super::*;

    /// Returns the text with marks before all positions.
    fn marked(text: &str) -> String {
        let mut places: Vec<usize> = of(text, &parse(text).unwrap()).into_values().collect();
        places.sort_unstable();
        places.dedup();
        let mut marked = text.to_owned();
        for at in places.into_iter().rev() {
            marked.insert(at, '^');
        }
        marked
    }

    #[test]
    fn parts_have_the_positions_of_cel_go() {
        for expected in [
            "^a ^&& (^b ^|| ^!^c) ^&& ^d // a",
            "^self^.a^.b ^== ^'a.b' ^? ^-1 : ^-^x",
            "has^(^self.a) ^&& ^self^[^'x']^.y^[?^0]^.?^z",
            "^self.all^(x, ^x ^> ^1.5 ^&& ^x ^in ^[^1, ^2u])",
            "^a.map^(i, ^i ^> ^1, i).filter^(j, ^j ^!= ^j).exists_one^(k, ^k)",
            "size^(^\"a'\") ^+ ^b.size^() ^- (^c ^* ^2)",
            "^{^'a'^: ^1, ^x^: ^null}^.a",
            "^sets.contains^(^[], ^b'x')",
            "Object.spec^{a^: ^true, b^: ^r'\\d'}",
        ] {
            let text = expected.replace('^', "");
            let found = marked(&text);
            assert_eq!(found, expected);
        }
    }
}
