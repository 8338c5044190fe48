//! Errors of apply requests.

use super::field_set::FieldSet;
use super::managed_fields::Manager;
use std::collections::BTreeMap;

/// An error of an apply request, with the status that the real server returns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// 400, `BadRequest`.
    #[error("{0}")]
    BadRequest(String),
    /// 409, `Conflict`: other managers own fields that the apply would change.
    #[error("{message}")]
    Conflict {
        /// The message of the status.
        message: String,
        /// The causes in its details, all with the reason `FieldManagerConflict`.
        causes: Vec<ConflictCause>,
    },
    /// 500, with an empty reason.
    #[error("{0}")]
    Internal(String),
}

/// A field that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictCause {
    /// `conflict with "kubectl" using apps/v1`
    pub message: String,
    /// `.spec.replicas`
    pub field: String,
}

impl ApplyError {
    /// The status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Conflict { .. } => 409,
            Self::Internal(_) => 500,
        }
    }

    /// The status reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequest",
            Self::Conflict { .. } => "Conflict",
            Self::Internal(_) => "",
        }
    }

    /// Builds the error from the conflicting fields of at least one manager, ordered by manager.
    pub(super) fn conflicts(conflicts: &BTreeMap<Manager, FieldSet>) -> Self {
        let shown = |path: &[super::path_element::PathElement]| {
            path.iter().map(ToString::to_string).collect::<String>()
        };
        let by_manager: Vec<(String, Vec<String>)> = conflicts
            .iter()
            .map(|(manager, set)| {
                (
                    manager.to_string(),
                    set.paths().iter().map(|path| shown(path)).collect(),
                )
            })
            .collect();
        let causes = by_manager.iter().flat_map(|(manager, fields)| {
            fields.iter().map(move |field| ConflictCause {
                message: format!("conflict with {manager}"),
                field: field.clone(),
            })
        });
        let causes: Vec<ConflictCause> = causes.collect();
        let message = if let [only] = &causes[..] {
            format!("Apply failed with 1 conflict: {}: {}", only.message, only.field)
        } else {
            let lines: Vec<String> = by_manager
                .iter()
                .map(|(manager, fields)| format!("conflicts with {manager}:\n- {}", fields.join("\n- ")))
                .collect();
            format!(
                "Apply failed with {} conflicts: {}",
                causes.len(),
                lines.join("\n")
            )
        };
        Self::Conflict { message, causes }
    }
}
