//! Which types may stand for which: assignments of types to variables.

use super::checker::Type;

const NULL: Type = Type::Simple("null_type");

/// What the variables of types stand for.
#[derive(Debug, Default)]
pub(super) struct Substitution {
    /// The types, by the numbers of the variables.
    types: Vec<Option<Type>>,
    /// The changes that may have to be undone: variables, and what they stood for.
    changes: Vec<(usize, Option<Type>)>,
}

impl Substitution {
    /// Returns a new variable.
    pub(super) fn new_variable(&mut self) -> Type {
        self.types.push(None);
        Type::Variable(self.types.len() - 1)
    }

    /// Whether a value of a type may be given where the other one is expected. If so, variables stand for what that needs; if not, they
    /// stay as they are.
    pub(super) fn assign(&mut self, ty: &Type, expected: &Type) -> bool {
        self.assign_all(&[(ty, expected)])
    }

    /// As [`Self::assign`], for all of these pairs or none.
    pub(super) fn assign_all(&mut self, pairs: &[(&Type, &Type)]) -> bool {
        self.changes.clear();
        let are_assigned = pairs.iter().all(|(ty, expected)| self.unify(ty, expected));
        if !are_assigned {
            for (variable, ty) in std::mem::take(&mut self.changes).into_iter().rev() {
                self.types[variable] = ty;
            }
        }
        are_assigned
    }

    /// Returns a type in which variables are replaced by what they stand for.
    pub(super) fn apply(&self, ty: &Type) -> Type {
        ty.replace_variables(&|variable| match &self.types[variable] {
            Some(ty) => self.apply(ty),
            None => Type::Variable(variable),
        })
    }

    fn unify(&mut self, ty: &Type, expected: &Type) -> bool {
        if let Type::Variable(variable) = expected {
            let is_bound = self.types[*variable].is_some();
            if self.stand_for(*variable, ty) {
                return true;
            }
            if is_bound {
                return false;
            }
        }
        if let Type::Variable(variable) = ty {
            return self.stand_for(*variable, expected);
        }
        let is_open = |ty: &Type| ty.is_dyn() || *ty == Type::Error;
        if is_open(ty) || is_open(expected) {
            return true;
        }
        match (ty, expected) {
            (null, other) | (other, null) if *null == NULL => other.is_nullable(),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(item), Type::List(other)) | (Type::Optional(item), Type::Optional(other)) => {
                self.unify(item, other)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.unify(key, other_key) && self.unify(value, other_value)
            }
            (one, other) => one == other,
        }
    }

    /// Makes a variable stand for a type; false if it stands for another one, or the type contains it.
    fn stand_for(&mut self, variable: usize, ty: &Type) -> bool {
        if *ty == Type::Variable(variable) {
            return true;
        }
        let Some(known) = self.types[variable].clone() else {
            return self.set(variable, ty.clone());
        };
        if *ty == known {
            return true;
        }
        if !self.unify(ty, &known) {
            return false;
        }
        let general = most_general(ty, &known).clone();
        let _stays_if_it_contains_itself = self.set(variable, general);
        true
    }

    fn set(&mut self, variable: usize, ty: Type) -> bool {
        let may_stand = !self.contains(&ty, variable);
        if may_stand {
            let before = self.types[variable].replace(ty);
            self.changes.push((variable, before));
        }
        may_stand
    }

    fn contains(&self, ty: &Type, variable: usize) -> bool {
        match ty {
            Type::Variable(other) => {
                let bound = self.types[*other].as_ref();
                *other == variable || bound.is_some_and(|ty| self.contains(ty, variable))
            }
            other => other.parameters().iter().any(|ty| self.contains(ty, variable)),
        }
    }
}

/// Of two types that may stand for each other, returns the one that says less.
pub(super) fn most_general<'t>(one: &'t Type, other: &'t Type) -> &'t Type {
    if is_more_general(one, other) { one } else { other }
}

fn is_more_general(one: &Type, other: &Type) -> bool {
    let is_open = |ty: &Type| ty.is_dyn() || matches!(ty, Type::Variable(_));
    match (one, other) {
        (one, _) if is_open(one) => true,
        (_, other) if is_open(other) => false,
        (Type::Meta(_), Type::Meta(_)) => true,
        (Type::List(_) | Type::Map(..) | Type::Optional(_), _) => {
            std::mem::discriminant(one) == std::mem::discriminant(other)
                && one
                    .parameters()
                    .iter()
                    .zip(other.parameters())
                    .all(|(one, other)| is_more_general(one, other))
        }
        _ => one == other,
    }
}
