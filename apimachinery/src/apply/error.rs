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

    /// Builds the error from the conflicting fields of at least one manager.
    pub(super) fn conflicts(conflicts: &BTreeMap<Manager, FieldSet>) -> Self {
        let mut by_manager: Vec<(&Manager, &FieldSet)> = conflicts.iter().collect();
        by_manager.sort_by_cached_key(|(manager, _)| manager.identifier());
        let causes = by_manager.into_iter().flat_map(|(manager, set)| {
            set.paths().into_iter().map(move |path| ConflictCause {
                message: format!("conflict with {manager}"),
                field: path.iter().map(ToString::to_string).collect(),
            })
        });
        Self::of_causes(causes.collect())
    }

    /// Builds the error from causes, with those of each manager in a row.
    pub(super) fn of_causes(causes: Vec<ConflictCause>) -> Self {
        let message = if let [only] = &causes[..] {
            format!("Apply failed with 1 conflict: {}: {}", only.message, only.field)
        } else {
            let by_manager = causes.chunk_by(|cause, next| cause.message == next.message);
            let lines: Vec<String> = by_manager
                .map(|causes| {
                    let message = causes.first().map_or("", |cause| cause.message.as_str());
                    let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
                    let message = message.replacen("conflict", "conflicts", 1);
                    format!("{message}:\n- {}", fields.join("\n- "))
                })
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
