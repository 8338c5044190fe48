//! CEL expressions: their syntax, and conditions about admission requests. kube-cel parses and evaluates them; the rules of custom
//! resources are in [`crate::schema`].

#[cfg(feature = "cel")]
mod evaluation;
#[cfg(not(feature = "cel"))]
#[path = "evaluation_disabled.rs"]
mod evaluation;
mod match_conditions;
#[cfg(feature = "cel")]
mod messages;
#[cfg(feature = "cel")]
mod syntax;
#[cfg(not(feature = "cel"))]
#[path = "syntax_disabled.rs"]
mod syntax;

pub use evaluation::{Condition, Variables};
pub(crate) use match_conditions::condition_error;
#[cfg(feature = "cel")]
pub(crate) use messages::rule_message;
pub(crate) use syntax::syntax_error;
