//! `kubewright add webhook`: adds webhooks of a kind, with their test.

use super::{
    kind_target::KindTarget,
    registered_type::WEBHOOK,
    source_edits::{self, crate_name},
    webhook_files::WebhookFiles,
};
use crate::{
    Context, Error,
    args::AddWebhook,
    error::KindError,
    plan::{Plan, slashed},
    project::Project,
    source::{self, InsertError, NewWebhook, SourceFile, WebhookType},
};

/// Types that the files of a webhook import.
const TYPES: &[&str] = &[
    "AdmissionError",
    "AdmissionRequest",
    "CustomKind",
    "Defaulter",
    "Operation",
    "Validation",
    "Validator",
];

/// Adds the webhooks. Existing files and lines are kept.
pub fn run(args: &AddWebhook, context: &mut Context<'_>) -> Result<(), Error> {
    let project = Project::find(&context.cwd)?;
    let selected = [
        (args.validating, WebhookType::Validating),
        (args.defaulting, WebhookType::Defaulting),
    ];
    let selected = selected.into_iter().filter(|(is_selected, _)| *is_selected);
    let webhooks: Vec<_> = selected.map(|(_, webhook)| webhook).collect();
    if webhooks.is_empty() {
        return Err(KindError::NoType.into());
    }
    let sources = source_edits::read_sources(&project)?;
    let target = KindTarget::find(&args.kind, &sources)?;
    target.check_name(TYPES, "kubewright::webhooks")?;
    target.check_reviewed()?;
    let crate_name = crate_name(&project)?;
    let files = WebhookFiles {
        target: &target,
        crate_name: &crate_name,
        group: &project.settings.group,
        webhooks: &webhooks,
    };
    let plan = plan(&files, &project, &sources, context)?;
    if plan.is_empty() && !args.write.dry_run {
        let kind = &target.kind;
        return context.message(format_args!(
            "the webhooks of {kind} already exist, nothing to do"
        ));
    }
    if !source_edits::apply(&plan, &project, args.write, context)? {
        return Ok(());
    }
    if !plan.changes().any(|change| change.path == files.test_path()) {
        let path = files.test_path();
        context.message(format_args!(
            "note: {} is yours and was not changed: add a test there",
            slashed(&path)
        ))?;
    }
    context.message(
        "\nnext:\n  cargo test           # the tests call the webhooks, also through an in-process API server\n  \
         kubewright generate  # writes manifests/webhooks and the permissions\n  \
         kubewright dev       # the in-memory API server calls the webhooks",
    )
}

/// Plans the files and lines that the webhooks still lack.
fn plan(
    files: &WebhookFiles<'_>,
    project: &Project,
    sources: &[SourceFile],
    context: &Context<'_>,
) -> Result<Plan, Error> {
    let (name, module, module_path) = (files.name(), files.target.module(), files.module_path());
    let kind = &files.target.kind;
    let mut missing = Vec::new();
    let registered = source::registered_webhooks(sources);
    for webhook in files.webhooks {
        let mut same = registered
            .iter()
            .filter(|found| found.kind == *kind && found.webhook == *webhook);
        if let Some(other) = same.clone().find(|found| found.path != module_path) {
            return Err(KindError::Registered {
                method: webhook.method(),
                kind: kind.clone(),
                path: other.path.clone(),
                line: other.line,
            }
            .into());
        }
        if same.next().is_none() {
            missing.push(*webhook);
        }
    }

    let mut plan = Plan::default();
    if let Some(text) = project.read(&module_path)? {
        if !defines(sources, files) {
            return Err(KindError::FileExists {
                path: module_path,
                name,
            }
            .into());
        }
        let mut changed = text.clone();
        for webhook in missing {
            let code = files.code(webhook, context)?;
            let new = NewWebhook {
                name: &name,
                kind,
                webhook,
                imports: files.imports(webhook),
                code: &code,
            };
            changed = source::add_webhook(&changed, &new).map_err(|error| InsertError::In {
                path: slashed(&module_path),
                error: Box::new(error),
            })?;
        }
        plan.write(module_path, Some(text), changed);
    } else {
        let path = files.test_path();
        if project.read(&path)?.is_some() {
            return Err(KindError::FileExists { path, name }.into());
        }
        let example = files.target.example(project)?;
        let (example, in_cluster) = example.ok_or_else(|| KindError::NoSample(kind.clone()))?;
        for (path, text) in files.render((&example, in_cluster), context)? {
            plan.write(path, None, text);
        }
    }
    source_edits::declare(&mut plan, project, WEBHOOK.folder)?;
    source_edits::register(&mut plan, project, &WEBHOOK, (kind, &module))?;
    Ok(plan)
}

/// Whether the webhooks' file defines their type, or does not parse: then the edit says where.
fn defines(sources: &[SourceFile], files: &WebhookFiles<'_>) -> bool {
    let path = files.module_path();
    let file = sources.iter().find(|file| file.path == path);
    file.is_none_or(|file| {
        let name = files.name();
        let mut items = file.syntax.items.iter();
        items.any(|item| matches!(item, syn::Item::Struct(item) if item.ident == name))
    })
}
