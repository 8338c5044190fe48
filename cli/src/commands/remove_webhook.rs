//! `kubewright remove webhook`: removes webhooks of a kind. With the last one go the file, the test and the registration.

use std::path::{Path, PathBuf};

use super::{
    kind_target::KindTarget, leftover_names, registered_type::WEBHOOK, removal::Removal, source_edits, uses,
    webhook_files::WebhookFiles,
};
use crate::{
    Context, Error,
    args::RemoveWebhook,
    error::KindError,
    manifests::webhooks,
    plan::{Plan, slashed},
    project::Project,
    source::{self, ProjectItems, RegisteredWebhook, SourceFile, WebhookType},
    yaml,
};

/// Removes the webhooks, unless something else needs them.
pub fn run(args: &RemoveWebhook, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let sources = source_edits::read_sources(&project)?;
    let target = KindTarget::find(&args.kind, &sources)?;
    let (kind, module) = (&*target.kind, &*target.module());
    let is_selected = |webhook| match webhook {
        WebhookType::Validating => args.validating || !args.defaulting,
        WebhookType::Defaulting => args.defaulting || !args.validating,
    };
    let registered = source::registered_webhooks(&sources);
    let of_kind = registered.iter().filter(|found| found.kind == *kind);
    let (removed, kept): (Vec<&RegisteredWebhook>, Vec<_>) =
        of_kind.partition(|found| is_selected(found.webhook));
    if removed.is_empty() {
        return context.message(format_args!("{kind} has no such webhook, nothing to do"));
    }
    let (name, path) = (WEBHOOK.name(kind), WEBHOOK.path(module));
    if let Some(other) = removed.iter().find(|found| found.path != path) {
        return Err(KindError::Elsewhere {
            what: format!("the {} of {kind}", other.webhook.method()),
            path: other.path.clone(),
            line: other.line,
            expected: path,
        }
        .into());
    }
    let crate_name = &source_edits::crate_name(&project)?;
    let removal = WebhookRemoval {
        removal: Removal {
            kind,
            module,
            items: ProjectItems::of(crate_name),
            project: &project,
            sources: &sources,
            context,
        },
        target: &target,
        removed: &types(&removed),
        kept: &types(&kept),
    };
    let (plan, places) = removal.plan()?;
    if !places.is_empty() {
        return Err(KindError::InUse { kind: name, places }.into());
    }
    let test = WEBHOOK.test_path(module);
    let is_test_stale = !kept.is_empty() && removal.is_users_test(&plan, &test)?;
    if kept.is_empty() {
        leftover_names::print_type(&name, &project, &plan, context)?;
    }
    if !source_edits::rewrite(&plan, &project, args.write, context)? {
        return Ok(());
    }
    if is_test_stale {
        context.message(format_args!(
            "note: {} is yours and was not changed: remove what tests the webhook there",
            slashed(&test)
        ))?;
    }
    let rest: Vec<_> = registered
        .iter()
        .filter(|found| !removed.contains(found))
        .collect();
    print_steps(&project, &removed, &rest, context)
}

/// Prints the next steps after the removal of webhooks. `rest` are those that are still registered.
fn print_steps(
    project: &Project,
    removed: &[&RegisteredWebhook],
    rest: &[&RegisteredWebhook],
    context: &mut Context<'_>,
) -> Result<(), Error> {
    let packages = leftover_names::package_steps(project)?;
    context.message(format_args!(
        "\nnext:\n  kubewright generate  # removes the webhooks from manifests/webhooks, and their permissions\n{}",
        packages.trim_end()
    ))?;
    let is_last = |found: &&&RegisteredWebhook| rest.iter().all(|other| other.webhook != found.webhook);
    let steps: String = removed
        .iter()
        .filter(is_last)
        .filter_map(|found| delete_step(project, found.webhook))
        .collect();
    if steps.is_empty() {
        return Ok(());
    }
    context.message(format_args!(
        "\nclusters keep the configuration and call the webhooks: delete it before the new operator runs\n{}",
        steps.trim_end()
    ))
}

fn types(found: &[&RegisteredWebhook]) -> Vec<WebhookType> {
    let mut all = WebhookType::ALL.to_vec();
    all.retain(|webhook| found.iter().any(|found| found.webhook == *webhook));
    all
}

/// The webhooks to remove, and those that stay.
struct WebhookRemoval<'a, 'c> {
    removal: Removal<'a, 'c>,
    target: &'a KindTarget,
    removed: &'a [WebhookType],
    kept: &'a [WebhookType],
}

impl WebhookRemoval<'_, '_> {
    /// Plans the removal. Also returns the places that need the webhooks.
    fn plan(&self) -> Result<(Plan, Vec<String>), Error> {
        let Removal { kind, module, .. } = self.removal;
        let mut plan = Plan::default();
        if self.kept.is_empty() {
            self.removal.remove_type(&mut plan, &WEBHOOK)?;
        } else {
            let name = WEBHOOK.name(kind);
            self.removal.edit(&mut plan, &[WEBHOOK.path(module)], &|text| {
                self.removed.iter().try_fold(text.to_owned(), |text, webhook| {
                    source::remove_webhook(&text, &name, kind, *webhook)
                })
            })?;
            self.plan_test(&mut plan)?;
        }
        let mut places = self.removal.uses(&plan, None)?;
        places.extend(uses::in_code(self.removal.project, &plan, &|path, text| {
            self.calls(path, text)
        })?);
        Ok((plan, places))
    }

    /// Plans the test without the removed webhooks, if it is as `add webhook` wrote it.
    fn plan_test(&self, plan: &mut Plan) -> Result<(), Error> {
        let path = WEBHOOK.test_path(self.removal.module);
        let Some(text) = self.removal.project.read(&path)? else {
            return Ok(());
        };
        let mut before = WebhookType::ALL.to_vec();
        before.retain(|webhook| self.kept.contains(webhook) || self.removed.contains(webhook));
        if self.rendered_test(&before)?.is_some_and(|found| found == text)
            && let Some(after) = self.rendered_test(self.kept)?
        {
            plan.write(path, Some(text), after);
        }
        Ok(())
    }

    /// Whether the test may test the removed webhooks after the plan.
    fn is_users_test(&self, plan: &Plan, path: &Path) -> Result<bool, Error> {
        let text = plan.text_after(&self.removal.project.root, path)?;
        Ok(text.is_some() && text != self.rendered_test(self.kept)?)
    }

    /// Returns the test that `add webhook` writes for such webhooks, if the kind has an example.
    fn rendered_test(&self, webhooks: &[WebhookType]) -> Result<Option<String>, Error> {
        let Removal {
            items,
            project,
            context,
            ..
        } = self.removal;
        let files = WebhookFiles {
            target: self.target,
            crate_name: items.crate_name,
            group: &project.settings.group,
            webhooks,
        };
        let Some((example, in_cluster)) = self.target.example(project)? else {
            return Ok(None);
        };
        let rendered = files.render((&example, in_cluster), context)?;
        let mut tests = rendered
            .into_iter()
            .filter(|(path, _)| *path == files.test_path());
        Ok(tests.next().map(|(_, text)| text))
    }

    /// Returns the lines of a file that register a removed webhook.
    fn calls(&self, path: &Path, text: &str) -> Vec<usize> {
        let file = syn::parse_file(text).ok().map(|syntax| SourceFile {
            path: PathBuf::from(path),
            syntax,
        });
        let found = source::registered_webhooks(file.as_slice());
        let removed = found
            .iter()
            .filter(|found| found.kind == self.removal.kind && self.removed.contains(&found.webhook));
        removed.map(|found| found.line).collect()
    }
}

/// Returns the step that deletes the configuration in a cluster, if the manifests have one.
fn delete_step(project: &Project, webhook: WebhookType) -> Option<String> {
    let (file, resource) = match webhook {
        WebhookType::Validating => ("validating", "validatingwebhookconfigurations"),
        WebhookType::Defaulting => ("mutating", "mutatingwebhookconfigurations"),
    };
    let text = project.read(format!("{}/{file}.yaml", webhooks::FOLDER)).ok()??;
    let documents = yaml::read_all(&text).ok()?;
    let name = documents.first()?["metadata"]["name"].as_str()?;
    Some(format!("  kubectl delete {resource} {name}\n"))
}
