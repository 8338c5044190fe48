//! The checks of permissions that expressions ask the variable `authorizer` for.

/// A check of a permission. A `path` is that of a request for no resource; the other fields but the verb and the user are then empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessCheck {
    /// The verb.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource; may be empty.
    pub subresource: String,
    /// The namespace; empty for all.
    pub namespace: String,
    /// The name; empty for all.
    pub name: String,
    /// The path of a request for no resource.
    pub path: Option<String>,
    /// The namespace and the name of a service account; None for the user of the request.
    pub service_account: Option<(String, String)>,
}

/// Returns why a check is allowed: None if it is not, empty if there is nothing to explain.
pub type Authorize<'a> = &'a dyn Fn(&AccessCheck) -> Option<String>;
