//! One look at the world: every controller says what is to be done.

use std::time::Duration;

use tokio::time::Instant;

use crate::action::Action;
use crate::world::World;
use crate::{Timing, daemon_sets, deployments, housekeeping, jobs, pods, replica_sets, stateful_sets};

/// What is to be done, and when to look again although nothing changed.
#[derive(Debug, Default)]
pub(crate) struct Next {
    pub(crate) actions: Vec<Action>,
    pub(crate) wait: Option<Duration>,
}

impl Next {
    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn look_again(&mut self, wait: Duration) {
        self.wait = Some(self.wait.map_or(wait, |known| known.min(wait)));
    }
}

/// Owners before what they own, so that a change passes through in as few steps as there are levels.
pub(crate) fn step(world: &mut World, timing: Timing, now: Instant) -> Next {
    let mut next = Next::default();
    world.sweep();
    housekeeping::step(world, &mut next);
    deployments::step(world, &mut next);
    replica_sets::step(world, &mut next);
    stateful_sets::step(world, &mut next);
    daemon_sets::step(world, &mut next);
    jobs::step(world, &mut next);
    pods::step(world, timing, now, &mut next);
    next
}
