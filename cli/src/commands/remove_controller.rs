//! `kubewright remove controller`: removes a kind's controller with its test and its registration. The kind stays.

use super::{
    kind_target::KindTarget, leftover_names, registered_type::CONTROLLER, removal::Removal, source_edits,
};
use crate::{
    Context, Error,
    args::RemoveController,
    error::KindError,
    plan::Plan,
    project::Project,
    source::{self, ProjectItems},
};

/// Removes the controller, unless something else needs it.
pub fn run(args: &RemoveController, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let target = KindTarget::find(&args.kind, &sources)?;
    let (kind, module) = (&*target.kind, &*target.module());
    let (name, path) = (CONTROLLER.name(kind), CONTROLLER.path(module));
    match source::defined_type(&sources, &name) {
        None => return context.message(format_args!("{kind} has no controller, nothing to do")),
        Some((found, line)) if found != path => {
            return Err(KindError::Elsewhere {
                what: format!("the controller of {kind}"),
                path: found.to_owned(),
                line,
                expected: path,
            }
            .into());
        }
        Some(_) => {}
    }
    let crate_name = &source_edits::crate_name(&project)?;
    let removal = Removal {
        kind,
        module,
        items: ProjectItems::of(crate_name),
        project: &project,
        sources: &sources,
        context,
    };
    let mut plan = Plan::default();
    removal.remove_type(&mut plan, &CONTROLLER)?;
    let places = removal.uses(&plan, None)?;
    if !places.is_empty() {
        return Err(KindError::InUse { kind: name, places }.into());
    }
    leftover_names::print_type(&name, &project, &plan, context)?;
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
        return Ok(());
    }
    if target.has_informer() {
        context.message(format_args!(
            "note: where nothing else registers {kind}, `kubewright generate` deletes its CRD: add a controller with `kubewright add \
             controller {kind}`, or remove the kind with `kubewright remove kind {kind}`"
        ))?;
    }
    let packages = leftover_names::package_steps(&project)?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # removes the permissions of the controller\n{}",
        packages.trim_end()
    ))
}
