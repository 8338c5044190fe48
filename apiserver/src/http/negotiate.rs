//! In which form a client wants its answer.

use super::Query;
use crate::quote::quoted;
use crate::status::ApiError;
use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// On one line.
    Json,
    /// For people.
    PrettyJson,
    /// YAML.
    Yaml,
}

/// What an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The objects.
    Objects,
    /// Only their metadata.
    Partial,
    /// Only the metadata of the objects of a list.
    PartialList,
    /// Rows with columns.
    Table,
}

/// What the rows of a table show beside their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The metadata of their objects.
    Metadata,
    /// Their objects.
    Objects,
    /// Nothing.
    Nothing,
}

/// In which form a client wants its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// How it is written.
    pub encoding: Encoding,
    /// What it shows.
    pub shape: Shape,
    /// What the rows of a table show beside their cells.
    pub rows: Rows,
    /// Whether tables and metadata are asked for in version v1beta1.
    pub beta: bool,
}

impl Form {
    /// What is taken where a client accepts anything.
    pub const DEFAULT: Self = Self {
        encoding: Encoding::Json,
        shape: Shape::Objects,
        rows: Rows::Metadata,
        beta: false,
    };

    /// The first form of the client's that can be had.
    ///
    /// # Errors
    ///
    /// 406 when there is none: protobuf alone, for example.
    pub fn negotiate(headers: &HeaderMap, pretty: bool, watches: bool) -> Result<Self, ApiError> {
        let browser = headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok())
            .is_some_and(|agent| {
                ["curl", "Wget", "Mozilla/5.0"]
                    .iter()
                    .any(|name| agent.starts_with(name))
            });
        let pretty = (pretty || browser) && !watches;
        let accept: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        let accept = accept.join(",");
        let mut clauses: Vec<(f32, &str)> = accept
            .split(',')
            .map(str::trim)
            .filter(|clause| !clause.is_empty())
            .map(|clause| (quality(clause), clause))
            .collect();
        clauses.sort_by(|a, b| b.0.total_cmp(&a.0));
        if clauses.is_empty() {
            clauses.push((1.0, "*/*"));
        }
        let form = clauses.iter().find_map(|(_, clause)| Self::of(clause, pretty));
        form.ok_or_else(|| {
            // The media type would do, but what is asked for in it is not known.
            if clauses.iter().any(|(_, clause)| encoding(clause).is_some()) {
                let message = "only the following media types are accepted: application/json, application/yaml, \
                    application/vnd.kubernetes.protobuf";
                return ApiError::new(406, "NotAcceptable", message);
            }
            let message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
                application/vnd.kubernetes.protobuf";
            ApiError::generic(406, "NotAcceptable", message)
        })
    }

    fn of(clause: &str, pretty: bool) -> Option<Self> {
        let encoding = match encoding(clause)? {
            Encoding::Json if pretty => Encoding::PrettyJson,
            encoding => encoding,
        };
        let parts = clause.split(';').skip(1).map(str::trim);
        let (mut kind, mut group, mut version) = ("", "", "");
        for part in parts {
            match part.split_once('=') {
                Some(("as", value)) => kind = value,
                Some(("g", value)) => group = value,
                Some(("v", value)) => version = value,
                _ => {}
            }
        }
        let shape = match (kind, group, version) {
            ("", ..) => Shape::Objects,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") => Shape::Table,
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Shape::Partial,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => Shape::PartialList,
            _ => return None,
        };
        Some(Self {
            encoding,
            shape,
            beta: shape != Shape::Objects && version == "v1beta1",
            ..Self::DEFAULT
        })
    }

    /// Reads what the rows of a table shall show.
    pub(super) fn with_rows(self, query: &Query) -> Result<Self, ApiError> {
        if self.shape != Shape::Table {
            return Ok(self);
        }
        let rows = match query.get("includeObject") {
            "" | "Metadata" => Rows::Metadata,
            "Object" => Rows::Objects,
            "None" => Rows::Nothing,
            other => {
                return Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', \
                     or empty",
                    quoted(other)
                )));
            }
        };
        Ok(Self { rows, ..self })
    }
}

/// The encoding that a clause takes, if it is one of ours.
fn encoding(clause: &str) -> Option<Encoding> {
    let media_type = clause.split(';').next()?.trim();
    match media_type.to_lowercase().as_str() {
        "application/json" | "*/*" => Some(Encoding::Json),
        "application/yaml" => Some(Encoding::Yaml),
        _ => None,
    }
}

fn quality(clause: &str) -> f32 {
    let mut quality = clause
        .split(';')
        .filter_map(|part| part.trim().strip_prefix("q="));
    quality
        .next_back()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(accept: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        Form::negotiate(&headers, false, false).ok()
    }

    #[test]
    fn takes_the_first_that_can_be_had() {
        let shape = |accept| form(accept).map(|form| form.shape);
        assert_eq!(form("*/*"), Some(Form::DEFAULT));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(shape(table), Some(Shape::Table));
        assert_eq!(
            shape("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Some(Shape::Objects)
        );
        assert_eq!(
            shape(
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.5"
            ),
            Some(Shape::Objects)
        );
        assert_eq!(form("application/vnd.kubernetes.protobuf"), None);
        assert_eq!(form("application/yaml").unwrap().encoding, Encoding::Yaml);
    }
}
