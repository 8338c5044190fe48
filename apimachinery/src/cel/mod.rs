//! CEL expressions: their syntax, and the names in expressions about admission requests. kube-cel parses them; [`crate::schema`] evaluates
//! the rules of custom resources.

mod match_conditions;
#[cfg(feature = "cel")]
mod syntax;
#[cfg(not(feature = "cel"))]
#[path = "syntax_disabled.rs"]
mod syntax;

pub(crate) use match_conditions::condition_error;
pub(crate) use syntax::syntax_error;
