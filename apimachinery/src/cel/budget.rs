//! The limit of several evaluations together.

/// The error of the evaluation at which all evaluations of an activation cost too much, and of those after it.
pub const OVER_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The limit of all evaluations of an activation.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    /// Of match conditions: kube-apiserver limits their cost to 2,500,000.
    Conditions,
    /// Of a policy, or of the rules of an object: 10,000,000.
    Policy,
}

#[cfg(feature = "cel")]
impl Budget {
    /// The steps of comprehensions that it allows, each of which costs 5 or more.
    pub(crate) fn steps(self) -> usize {
        match self {
            Self::Conditions => 500_000,
            Self::Policy => 2_000_000,
        }
    }
}
