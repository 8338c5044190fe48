//! CEL expressions: their syntax, and those about admission requests. kube-cel parses and evaluates them; the rules of custom resources
//! are in [`crate::schema`]. Selectors of devices are only checked: the scheduler evaluates them.
//!
//! Reading order: `expression` with `limits`, `signs` and `literals`, and `lowering` (an expression, compiled), `functions`, `comprehensions`, `list_types`, `type_values`, `library` and
//! `authorizer` (what it calls), `activation` (its variables, and its evaluation) with `budget`, `patches` (results that change objects), `declarations`,
//! `macros`, `positions`, `value_type`, `signatures`, `fields` and `schema_types` (what is declared), `unification`, `checker` and
//! `constants` (which expressions are valid), `cost` (which rules are too expensive).

mod access;
#[cfg(feature = "cel")]
mod activation;
#[cfg(not(feature = "cel"))]
#[path = "activation_disabled.rs"]
mod activation;
#[cfg(feature = "cel")]
mod authorizer;
mod budget;
#[cfg(feature = "cel")]
mod checker;
#[cfg(feature = "cel")]
mod comprehensions;
#[cfg(feature = "cel")]
mod constants;
#[cfg(feature = "cel")]
mod cost;
#[cfg(feature = "cel")]
mod declarations;
#[cfg(not(feature = "cel"))]
#[path = "declarations_disabled.rs"]
mod declarations;
#[cfg(feature = "cel")]
mod expression;
#[cfg(not(feature = "cel"))]
#[path = "expression_disabled.rs"]
mod expression;
#[cfg(feature = "cel")]
mod fields;
#[cfg(feature = "cel")]
mod functions;
#[cfg(feature = "cel")]
mod library;
#[cfg(feature = "cel")]
mod limits;
#[cfg(feature = "cel")]
mod list_types;
#[cfg(feature = "cel")]
mod literals;
#[cfg(feature = "cel")]
mod lowering;
#[cfg(feature = "cel")]
mod macros;
#[cfg(feature = "cel")]
mod messages;
mod outcome;
#[cfg(feature = "cel")]
mod patches;
#[cfg(feature = "cel")]
mod positions;
#[cfg(feature = "cel")]
mod schema_types;
#[cfg(feature = "cel")]
mod signatures;
#[cfg(feature = "cel")]
mod signs;
#[cfg(feature = "cel")]
mod syntax;
#[cfg(not(feature = "cel"))]
#[path = "syntax_disabled.rs"]
mod syntax;
#[cfg(feature = "cel")]
mod type_values;
#[cfg(feature = "cel")]
mod unification;
#[cfg(feature = "cel")]
mod value_type;

pub use access::{AccessCheck, Authorize};
pub use activation::{Activation, Variable};
#[cfg(feature = "cel")]
pub(crate) use activation::{OVER_COST, StepCounter, number_to_cel, register_functions};
pub use budget::{Budget, OVER_BUDGET};
pub(crate) use declarations::{
    ANY_TYPE, Declarations, VariableTypes, check_device_selector, check_expression, check_rule, has_rule_type,
};
pub use expression::Expression;
#[cfg(feature = "cel")]
pub(crate) use expression::compile_rule;
#[cfg(feature = "cel")]
pub(crate) use library::register as register_library;
#[cfg(feature = "cel")]
pub(crate) use limits::{Depth, with_stack};
#[cfg(feature = "cel")]
pub(crate) use messages::translate;
pub use outcome::Outcome;
#[cfg(feature = "cel")]
pub(crate) use schema_types::escaped;
pub(crate) use syntax::{NO_CEL, reads_variable};

/// The names that CEL reserves.
pub(crate) const RESERVED_WORDS: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];
