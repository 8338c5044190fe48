//! What is known of the parts of an expression: types, paths and sizes.

use super::estimator::{Estimator, Local};
use super::path::Path;
use super::size::{EntrySize, Size};
use crate::cel::checker::Type;
use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue};

impl<'e> Estimator<'e> {
    pub(super) fn local(&self, name: &str) -> Option<&Local<'e>> {
        self.locals.iter().rfind(|local| local.name == name)
    }

    pub(super) fn ty(&self, expression: &IdedExpr) -> &'e Type {
        match self.types.get(&expression.id) {
            Some(Type::Any) | None => &Type::Dyn,
            Some(ty) => ty,
        }
    }

    pub(super) fn path(&self, expression: &IdedExpr) -> Path {
        if let Expr::Ident(name) = &expression.expr
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&expression.id).cloned().unwrap_or_default()
    }

    /// Returns the size of a value: as computed, of a literal, as the schema bounds it, of its type, or of what its variable is bound to.
    pub(super) fn size(&mut self, expression: &IdedExpr) -> Option<Size> {
        if let Some(size) = self.sizes.get(&expression.id) {
            return Some(*size);
        }
        if let Some(size) = literal_size(expression) {
            return Some(Size::fixed(size));
        }
        if let Some(size) = self.bounds.size_at(&self.path(expression)) {
            self.sizes.insert(expression.id, size);
            return Some(size);
        }
        if self.ty(expression).is_scalar() {
            return Some(Size::fixed(1));
        }
        match &expression.expr {
            Expr::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    pub(super) fn entry(&self, expression: &IdedExpr) -> Option<EntrySize> {
        let of_variable = || match &expression.expr {
            Expr::Ident(name) => self.local(name)?.entry,
            _ => None,
        };
        self.entries.get(&expression.id).copied().or_else(of_variable)
    }

    pub(super) fn set_entry(&mut self, expression: &IdedExpr, entry: EntrySize) {
        self.entries.insert(expression.id, entry);
    }
}

/// The size of a value that the expression contains.
fn literal_size(expression: &IdedExpr) -> Option<u64> {
    let size = match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => text.inner().chars().count(),
        Expr::Literal(LiteralValue::Bytes(bytes)) => bytes.inner().len(),
        Expr::Literal(_) => 1,
        Expr::List(list) => list.elements.len(),
        Expr::Map(map) => map.entries.len(),
        _ => return None,
    };
    Some(size as u64)
}
