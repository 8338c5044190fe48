//! Content negotiation: the format of the response.

use crate::quote::quoted;
use crate::request::{AcceptedType, Query};
use crate::status::ApiError;
use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

pub(crate) const JSON: &str = "application/json";
pub(crate) const YAML: &str = "application/yaml";
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
/// The media types of most routes.
pub(crate) const MEDIA_TYPES: [&str; 3] = [JSON, YAML, PROTOBUF];

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// JSON on one line.
    Json,
    /// Indented JSON.
    PrettyJson,
    /// YAML.
    Yaml,
    /// Protobuf, which custom resources and Tables do not have.
    Protobuf,
}

/// How a response represents objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// The whole objects.
    Objects,
    /// PartialObjectMetadata of one object.
    PartialMetadata,
    /// PartialObjectMetadataList of a list.
    PartialMetadataList,
    /// A Table: rows with columns.
    Table,
}

/// The value of `includeObject`: what the rows of a Table contain besides their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    /// PartialObjectMetadata.
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// The negotiated format of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFormat {
    /// The encoding.
    pub encoding: Encoding,
    /// The representation of objects.
    pub representation: Representation,
    /// What the rows of a Table contain besides their cells.
    pub include_object: IncludeObject,
    /// Whether Tables and PartialObjectMetadata are requested in `meta.k8s.io/v1beta1`.
    pub v1beta1: bool,
}

impl ResponseFormat {
    /// The format if the client accepts anything.
    pub const DEFAULT: Self = Self {
        encoding: Encoding::Json,
        representation: Representation::Objects,
        include_object: IncludeObject::Metadata,
        v1beta1: false,
    };

    /// Returns the first format of the Accept header that is supported and allowed. A route may check the media types before.
    ///
    /// # Errors
    ///
    /// 406 if none is supported.
    pub fn negotiate(
        headers: &HeaderMap,
        pretty: bool,
        watches: bool,
        is_allowed: impl Fn(Self) -> bool,
    ) -> Result<Self, ApiError> {
        let pretty = !watches && (pretty || is_browser(headers));
        Self::select(headers, pretty, is_allowed)
    }

    /// Whether whole objects are requested as protobuf, which custom resources do not have.
    pub(crate) fn is_whole_protobuf(self) -> bool {
        self.encoding == Encoding::Protobuf && self.representation == Representation::Objects
    }

    /// As [`negotiate`](Self::negotiate), for documents: they have no other representations. Some handlers have no route that checks the
    /// media types before.
    pub(crate) fn of_document(headers: &HeaderMap, pretty: bool, has_route: bool) -> Result<Self, ApiError> {
        if has_route {
            check_route(headers, &MEDIA_TYPES)?;
        }
        let is_object = |format: Self| format.representation == Representation::Objects;
        Self::select(headers, pretty || is_browser(headers), is_object)
    }

    fn select(
        headers: &HeaderMap,
        pretty: bool,
        is_allowed: impl Fn(Self) -> bool,
    ) -> Result<Self, ApiError> {
        let accept = match accept_header(headers) {
            "" => "*/*",
            accept => accept,
        };
        let accepted = AcceptedType::parse_all(accept);
        let mut formats = accepted
            .iter()
            .filter_map(|accepted| Self::of_type(accepted, pretty));
        let format = formats.find(|format| is_allowed(*format));
        format.ok_or_else(Self::not_acceptable)
    }

    /// The 406 of a handler, which names the media types.
    pub(crate) fn not_acceptable() -> ApiError {
        let message = "only the following media types are accepted: application/json, application/yaml, \
            application/vnd.kubernetes.protobuf";
        ApiError::new(406, "NotAcceptable", message)
    }

    fn of_type(accepted: &AcceptedType<'_>, pretty: bool) -> Option<Self> {
        let encoding = if accepted.includes(JSON) {
            if pretty {
                Encoding::PrettyJson
            } else {
                Encoding::Json
            }
        } else if accepted.includes(YAML) {
            Encoding::Yaml
        } else if accepted.includes(PROTOBUF) {
            Encoding::Protobuf
        } else {
            return None;
        };
        let is_unknown = |name: &str, known: &str| {
            !matches!(accepted.parameter(name), "") && accepted.parameter(name) != known
        };
        if is_unknown("stream", "watch") || is_unknown("sv", "v1") {
            return None;
        }
        let [kind, group, version] = ["as", "g", "v"].map(|name| accepted.parameter(name));
        let representation = match (kind, group, version) {
            ("", "", "") => Representation::Objects,
            ("Table", "meta.k8s.io", "v1" | "v1beta1") if encoding != Encoding::Protobuf => {
                Representation::Table
            }
            ("PartialObjectMetadata", "meta.k8s.io", "v1" | "v1beta1") => Representation::PartialMetadata,
            ("PartialObjectMetadataList", "meta.k8s.io", "v1" | "v1beta1") => {
                Representation::PartialMetadataList
            }
            _ => return None,
        };
        Some(Self {
            encoding,
            representation,
            v1beta1: representation != Representation::Objects && version == "v1beta1",
            ..Self::DEFAULT
        })
    }

    /// Adds the value of `includeObject` to a Table.
    pub(crate) fn with_include_object(self, query: &Query) -> Result<Self, ApiError> {
        if self.representation != Representation::Table {
            return Ok(self);
        }
        let include_object = match query.get("includeObject") {
            "" | "Metadata" => IncludeObject::Metadata,
            "Object" => IncludeObject::Object,
            "None" => IncludeObject::None,
            other => {
                return Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', 'Object', 'None', \
                     or empty",
                    quoted(other)
                )));
            }
        };
        Ok(Self {
            include_object,
            ..self
        })
    }
}

/// True for clients that get indented JSON.
pub(crate) fn is_browser(headers: &HeaderMap) -> bool {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    agent.is_some_and(|agent| {
        ["curl", "Wget", "Mozilla/5.0"]
            .iter()
            .any(|name| agent.starts_with(name))
    })
}

/// Fails unless the client accepts one of the media types of a route. As in kube-apiserver, their order does not matter here, and patterns
/// other than `*/*` do not count.
pub(crate) fn check_route(headers: &HeaderMap, media_types: &[&str]) -> Result<(), ApiError> {
    let accept = accept_header(headers);
    let mut accepted = accept
        .split(',')
        .map(|clause| clause.split(';').next().unwrap_or_default().trim_matches(' '));
    if accept.is_empty() || accepted.any(|accepted| accepted == "*/*" || media_types.contains(&accepted)) {
        return Ok(());
    }
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: {}",
        media_types.join(", ")
    );
    Err(ApiError::generic(406, "NotAcceptable", message))
}

/// Returns the first Accept header; further ones are ignored.
pub(crate) fn accept_header(headers: &HeaderMap) -> &str {
    headers
        .get(ACCEPT)
        .and_then(|value| std::str::from_utf8(value.as_bytes()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(accept: &str) -> Option<ResponseFormat> {
        format_of(accept, false)
    }

    fn format_of(accept: &str, is_custom: bool) -> Option<ResponseFormat> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, accept.parse().unwrap());
        let is_allowed = |format: ResponseFormat| !(is_custom && format.is_whole_protobuf());
        ResponseFormat::negotiate(&headers, false, false, is_allowed).ok()
    }

    #[test]
    fn first_supported_media_type_is_chosen() {
        let representation = |accept| format(accept).map(|format| format.representation);
        assert_eq!(format("*/*"), Some(ResponseFormat::DEFAULT));
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(representation(table), Some(Representation::Table));
        assert_eq!(
            representation("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Some(Representation::Objects)
        );
        assert_eq!(format(PROTOBUF).unwrap().encoding, Encoding::Protobuf);
        assert_eq!(
            format("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1"),
            None
        );
        assert_eq!(format("application/yaml").unwrap().encoding, Encoding::Yaml);
    }

    #[test]
    fn only_metadata_of_custom_resources_is_encoded_as_protobuf() {
        let with_json = "application/vnd.kubernetes.protobuf,application/json;q=0.5";
        assert_eq!(format(with_json).unwrap().encoding, Encoding::Protobuf);
        assert_eq!(format_of(with_json, true), Some(ResponseFormat::DEFAULT));
        assert_eq!(format_of(PROTOBUF, true), None);
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(format_of(metadata, true), format(metadata));
        assert_eq!(format(metadata).unwrap().encoding, Encoding::Protobuf);
    }
}
