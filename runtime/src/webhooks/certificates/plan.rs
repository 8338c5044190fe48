//! Decides what to change in the Secret. Pure: the state and the time in, the changes out.
//!
//! The order of a CA's rotation: the new CA enters the bundle; when every configuration has that bundle, the next serving certificate is
//! signed by the new CA; when no certificate of the old CA is valid any more, the old CA leaves the bundle. A replica that was cut off from
//! the API server serves an old certificate, which is trusted as long as it is valid.

use jiff::{SignedDuration, Timestamp};

use super::{
    leaf::LEAF_PERIOD,
    validity::{Validity, add},
};

/// A renewed certificate must live this much longer than the old one. A CA near its end can only sign certificates that end with it.
const MIN_GAIN: SignedDuration = SignedDuration::from_hours(24);

/// What the plan depends on. CAs are ordered by age, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) authorities: Vec<AuthorityState>,
    /// None if there is no serving certificate that can be used.
    pub(super) leaf: Option<LeafState>,
    /// Earlier serving certificates, which replicas may still serve.
    pub(super) retired: Vec<RetiredState>,
}

/// A CA of the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AuthorityState {
    pub(super) validity: Validity,
    pub(super) has_key: bool,
}

/// The serving certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeafState {
    /// The index of the CA that signed it.
    pub(super) authority: usize,
    pub(super) validity: Validity,
    /// A name of the server that it lacks.
    pub(super) missing_name: Option<String>,
}

/// A serving certificate that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RetiredState {
    /// The index of the CA that signed it.
    pub(super) authority: usize,
    pub(super) not_after: Timestamp,
}

/// The CA that signs the next serving certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signer {
    /// The CA with this index.
    Existing(usize),
    /// The CA that the same plan adds.
    New,
}

/// The changes to make, in this order. Nothing to do is the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Why to add a CA.
    pub(super) new_authority: Option<String>,
    /// Who signs a new serving certificate, and why. Keys of older CAs are dropped, and the old certificate is retired.
    pub(super) new_leaf: Option<(Signer, String)>,
    /// The CAs to remove, and why. Retired certificates of theirs go with them.
    pub(super) removed_authorities: Vec<(usize, &'static str)>,
}

impl Plan {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the changes to make. `is_published` says whether every configuration has had the present bundle for long enough that every API
/// server uses it.
pub(super) fn plan(state: &State, now: Timestamp, is_published: bool) -> Plan {
    let mut plan = Plan::default();
    match usable_leaf(state, now) {
        Ok(leaf) => keep(&mut plan, state, leaf, now, is_published),
        Err(problem) => {
            // The CA that is published longest.
            let signer = (0..state.authorities.len()).find(|&index| can_sign(state, index, now));
            if signer.is_none() {
                plan.new_authority = Some("no CA can sign".to_owned());
            }
            plan.new_leaf = Some((signer.map_or(Signer::New, Signer::Existing), problem));
        }
    }
    plan.removed_authorities = obsolete_authorities(state, &plan, now);
    plan
}

/// Returns the serving certificate if clients accept it, else the problem.
pub(super) fn usable_leaf(state: &State, now: Timestamp) -> Result<&LeafState, String> {
    let Some(leaf) = &state.leaf else {
        return Err("there is no serving certificate".to_owned());
    };
    if let Some(name) = &leaf.missing_name {
        return Err(format!("the serving certificate is not for {name}"));
    }
    if leaf.validity.has_ended(now) {
        return Err(format!(
            "the serving certificate expired at {}",
            leaf.validity.not_after
        ));
    }
    if leaf.validity.is_far_ahead(now) {
        return Err(format!(
            "the serving certificate is not valid before {}",
            leaf.validity.not_before
        ));
    }
    match state.authorities.get(leaf.authority) {
        Some(authority) if authority.validity.has_ended(now) => Err(format!(
            "the CA of the serving certificate expired at {}",
            authority.validity.not_after
        )),
        Some(authority) if authority.validity.is_far_ahead(now) => Err(format!(
            "the CA of the serving certificate is not valid before {}",
            authority.validity.not_before
        )),
        Some(_) => Ok(leaf),
        None => Err("the CA of the serving certificate is missing".to_owned()),
    }
}

/// Plans rotation and renewal while the serving certificate can be used.
fn keep(plan: &mut Plan, state: &State, leaf: &LeafState, now: Timestamp, is_published: bool) {
    let authority = &state.authorities[leaf.authority];
    let successor = (leaf.authority + 1..state.authorities.len())
        .rev()
        .find(|&index| can_sign(state, index, now));
    match successor {
        Some(successor) if is_published => {
            let why = "the new CA is published".to_owned();
            plan.new_leaf = Some((Signer::Existing(successor), why));
            return;
        }
        None if !authority.has_key => {
            plan.new_authority = Some("the key of the CA is missing".to_owned());
        }
        None if authority.validity.renewal() <= now => {
            plan.new_authority = Some(format!("the CA expires at {}", authority.validity.not_after));
        }
        Some(_) | None => {}
    }
    let next_end = add(now, LEAF_PERIOD).min(authority.validity.not_after);
    let is_worth_it = next_end > add(leaf.validity.not_after, MIN_GAIN);
    if leaf.validity.renewal() <= now && authority.has_key && is_worth_it {
        let why = format!("the serving certificate expires at {}", leaf.validity.not_after);
        plan.new_leaf = Some((Signer::Existing(leaf.authority), why));
    }
}

fn can_sign(state: &State, index: usize, now: Timestamp) -> bool {
    let authority = &state.authorities[index];
    authority.has_key && !authority.validity.has_ended(now) && !authority.validity.is_far_ahead(now)
}

/// Returns the CAs that sign no more, and whose certificates nobody can serve any more.
fn obsolete_authorities(state: &State, plan: &Plan, now: Timestamp) -> Vec<(usize, &'static str)> {
    let signer = plan.new_leaf.as_ref().map(|(signer, _)| *signer);
    let obsolete = state
        .authorities
        .iter()
        .enumerate()
        .filter_map(|(index, authority)| {
            if authority.validity.has_ended(now) {
                return Some((index, "it expired"));
            }
            let keeps_key = match signer {
                None => authority.has_key,
                Some(Signer::Existing(signer)) => authority.has_key && index >= signer,
                Some(Signer::New) => false,
            };
            // The present certificate counts after it was replaced, too: then it is retired.
            let leaf = state
                .leaf
                .iter()
                .map(|leaf| (leaf.authority, leaf.validity.not_after));
            let retired = state.retired.iter().map(|leaf| (leaf.authority, leaf.not_after));
            let mut served = leaf.chain(retired);
            let is_served = served.any(|(signer, not_after)| signer == index && not_after > now);
            (!keeps_key && !is_served).then_some((index, "no valid serving certificate is its"))
        });
    obsolete.collect()
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
