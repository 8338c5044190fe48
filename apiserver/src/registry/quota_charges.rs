//! Charging of writes to resource quotas.

use super::retry::RetryDeadline;
use super::{Registry, Target};
use crate::admission::{
    AdmissionPlugin, Attributes, QuotaCharge, is_charged, quota_charges, resource_quotas,
};
use crate::meta;
use crate::status::ApiError;
use serde_json::Value;

impl Registry {
    /// Charges a write to the quotas of its namespace, or refuses it. A dry run is checked and not charged.
    ///
    /// Only one write is charged at a time, so that two writes that fit into a quota only alone are not both accepted. Quotas that clients change
    /// at the same time are charged again.
    pub(super) fn charge_quotas(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        dry_run: bool,
    ) -> Result<(), ApiError> {
        let is_on = self.admission.contains(&AdmissionPlugin::ResourceQuota);
        if !is_on || !is_charged(attributes, object) || resource_quotas(attributes).is_empty() {
            return Ok(());
        }
        let _charging = self.quota_charging.lock();
        let mut quotas = resource_quotas(attributes);
        let deadline = RetryDeadline::start();
        loop {
            let charges = quota_charges(attributes, object, &quotas)?;
            if dry_run {
                return Ok(());
            }
            let mut changed = vec![];
            for charge in &charges {
                match self.charge(attributes.namespace, charge) {
                    Err(error) if matches!(error.code, 404 | 409) => {
                        changed.push(meta::name(charge.quota.value()));
                    }
                    outcome => outcome?,
                }
            }
            if changed.is_empty() {
                return Ok(());
            }
            // The other quotas are charged already.
            quotas = resource_quotas(attributes);
            quotas.retain(|quota| changed.contains(&meta::name(quota.value())));
            deadline.check()?;
        }
    }

    /// Writes the new usage into the status of a quota, unless the quota was changed or deleted.
    fn charge(&self, namespace: &str, charge: &QuotaCharge) -> Result<(), ApiError> {
        let quota = charge.quota.value();
        let kind = self.resource("", "resourcequotas")?;
        let target = Target::new(&kind, namespace, meta::name(quota));
        let charged = self.update_as_manager(&target, "status", "kube-apiserver", |object| {
            object.clone_from(quota);
            meta::entry_mut(object, "status").insert("used".to_owned(), charge.used.clone().into());
            Ok(())
        });
        charged.map(drop)
    }
}
