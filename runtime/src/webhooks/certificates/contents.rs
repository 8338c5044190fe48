//! The data of the Secret as certificates and keys.
//!
//! | key | contents, in PEM |
//! |---|---|
//! | `tls.crt`, `tls.key` | the serving certificate and its key |
//! | `ca.crt` | the bundle: the CAs that clients trust, the oldest first; `caBundle` is this |
//! | `ca.key` | the keys of the CAs that still sign |
//! | `retired.crt` | earlier serving certificates of other CAs, until they expire: as long as one is valid, its CA stays in the bundle |
//!
//! The CA's key is in the same Secret: the API server trusts this CA only for the operator's webhooks, so whoever reads `tls.key` can do
//! as much; and all entries change together, by one resource version.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, pem::PemObject as _};

use super::{
    authority::Authority,
    leaf::Leaf,
    plan::{AuthorityState, LeafState, Plan, RetiredState, Signer, State},
    server_names::ServerNames,
    validity::Validity,
};

/// The data of a Secret.
pub(super) type SecretData = BTreeMap<String, ByteString>;

pub(super) const CERTIFICATE: &str = "tls.crt";
pub(super) const KEY: &str = "tls.key";
pub(super) const BUNDLE: &str = "ca.crt";
pub(super) const AUTHORITY_KEYS: &str = "ca.key";
pub(super) const RETIRED: &str = "retired.crt";

/// The certificates and keys of a Secret. No `Debug`, because of the keys.
#[derive(Clone, Default)]
pub(super) struct Contents {
    authorities: Vec<Authority>,
    /// The serving certificate, and the index of its CA.
    leaf: Option<(Leaf, usize)>,
    retired: Vec<Retired>,
}

/// A serving certificate that was replaced.
#[derive(Clone)]
struct Retired {
    certificate: CertificateDer<'static>,
    not_after: Timestamp,
    authority: usize,
}

impl Contents {
    /// Reads the data. What cannot be used is left out, and returned as messages, which name the entry and quote no key.
    pub(super) fn read(data: &SecretData) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let mut contents = Self::default();
        for certificate in certificates(data, BUNDLE, &mut problems) {
            match Authority::read(certificate) {
                Some(authority) => contents.authorities.push(authority),
                None => problems.push(format!("{BUNDLE}: it has a certificate that cannot be read")),
            }
        }
        contents.read_authority_keys(data, &mut problems);
        contents.read_leaf(data, &mut problems);
        for certificate in certificates(data, RETIRED, &mut problems) {
            let authority = contents.signer_of(&certificate);
            let not_after = Validity::read(&certificate).map(|validity| validity.not_after);
            if let (Some(authority), Some(not_after)) = (authority, not_after) {
                contents.retired.push(Retired {
                    certificate,
                    not_after,
                    authority,
                });
            }
        }
        (contents, problems)
    }

    fn read_authority_keys(&mut self, data: &SecretData, problems: &mut Vec<String>) {
        let text = data.get(AUTHORITY_KEYS).map_or(&[][..], |value| &value.0);
        let keys = PrivatePkcs8KeyDer::pem_slice_iter(text);
        let mut is_empty = true;
        for key in keys {
            is_empty = false;
            let key = key
                .map_err(|error| error.to_string())
                .and_then(|key| KeyPair::try_from(&key).map_err(|error| error.to_string()));
            let key = match key {
                Ok(key) => key,
                Err(error) => {
                    problems.push(format!("{AUTHORITY_KEYS}: a key cannot be read: {error}"));
                    continue;
                }
            };
            match self.authorities.iter_mut().find(|authority| authority.fits(&key)) {
                Some(authority) => authority.key = Some(Arc::new(key)),
                None => problems.push(format!(
                    "{AUTHORITY_KEYS}: a key belongs to no CA in {BUNDLE} that this operator made"
                )),
            }
        }
        if is_empty && !text.is_empty() {
            problems.push(format!("{AUTHORITY_KEYS}: it has no PEM block PRIVATE KEY"));
        }
    }

    fn read_leaf(&mut self, data: &SecretData, problems: &mut Vec<String>) {
        let text = |key: &str| {
            data.get(key)
                .map(|value| String::from_utf8_lossy(&value.0).into_owned())
        };
        let (certificate, key) = match (text(CERTIFICATE), text(KEY)) {
            (None, None) => return,
            (certificate, key) => (certificate.unwrap_or_default(), key.unwrap_or_default()),
        };
        match Leaf::read(&certificate, &key) {
            Ok(leaf) => match leaf.certificate().and_then(|leaf| self.signer_of(leaf)) {
                Some(authority) => self.leaf = Some((leaf, authority)),
                None => problems.push(format!("{CERTIFICATE}: no CA in {BUNDLE} signed it")),
            },
            Err(problem) => problems.push(format!("{CERTIFICATE}, {KEY}: {problem}")),
        }
    }

    /// The index of the CA that signed it.
    fn signer_of(&self, certificate: &CertificateDer<'_>) -> Option<usize> {
        self.authorities
            .iter()
            .position(|authority| authority.has_signed(certificate))
    }

    /// Returns the data to store.
    pub(super) fn to_data(&self) -> SecretData {
        let mut data = SecretData::new();
        let mut insert = |key: &str, text: String| {
            if !text.is_empty() {
                data.insert(key.to_owned(), ByteString(text.into_bytes()));
            }
        };
        if let Some((leaf, _)) = &self.leaf {
            insert(CERTIFICATE, leaf.certificate_pem.clone());
            insert(KEY, leaf.key_pem.clone());
        }
        insert(BUNDLE, self.bundle());
        let keys = self
            .authorities
            .iter()
            .filter_map(|authority| authority.key.as_ref());
        insert(AUTHORITY_KEYS, keys.map(|key| key.serialize_pem()).collect());
        let retired = self.retired.iter();
        insert(
            RETIRED,
            retired
                .map(|retired| certificate_pem(&retired.certificate))
                .collect(),
        );
        data
    }

    /// Returns the CA bundle; empty if there is no CA.
    pub(super) fn bundle(&self) -> String {
        let authorities = self.authorities.iter();
        authorities
            .map(|authority| certificate_pem(&authority.certificate))
            .collect()
    }

    /// The serving certificate.
    pub(super) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref().map(|(leaf, _)| leaf)
    }

    /// Returns what the plan depends on.
    pub(super) fn state(&self, names: &ServerNames) -> State {
        State {
            authorities: self
                .authorities
                .iter()
                .map(|authority| AuthorityState {
                    validity: authority.validity,
                    has_key: authority.key.is_some(),
                })
                .collect(),
            leaf: self.leaf.as_ref().map(|(leaf, authority)| LeafState {
                authority: *authority,
                validity: leaf.validity,
                missing_name: leaf
                    .certificate()
                    .and_then(|certificate| names.missing_from(certificate))
                    .map(str::to_owned),
            }),
            retired: self
                .retired
                .iter()
                .map(|retired| RetiredState {
                    authority: retired.authority,
                    not_after: retired.not_after,
                })
                .collect(),
        }
    }

    /// Makes the changes of a plan.
    pub(super) fn apply(&mut self, plan: &Plan, names: &ServerNames, now: Timestamp) -> Result<(), String> {
        if plan.new_authority.is_some() {
            self.authorities.push(Authority::generate(now)?);
        }
        if let Some((signer, _)) = &plan.new_leaf {
            let signer = match *signer {
                Signer::Existing(index) => index,
                Signer::New => self.authorities.len() - 1,
            };
            let leaf = Leaf::issue(&self.authorities[signer], names, now)?;
            if let Some((old, authority)) = self.leaf.replace((leaf, signer))
                && authority != signer
                && let Some(certificate) = old.certificate()
            {
                self.retired.push(Retired {
                    certificate: certificate.clone(),
                    not_after: old.validity.not_after,
                    authority,
                });
            }
            for authority in &mut self.authorities[..signer] {
                authority.key = None;
            }
        }
        for &(index, _) in plan.removed_authorities.iter().rev() {
            self.remove_authority(index);
        }
        self.retired.retain(|retired| retired.not_after > now);
        Ok(())
    }

    fn remove_authority(&mut self, removed: usize) {
        self.authorities.remove(removed);
        self.retired.retain(|retired| retired.authority != removed);
        self.leaf.take_if(|(_, authority)| *authority == removed);
        let retired = self.retired.iter_mut().map(|retired| &mut retired.authority);
        for authority in retired.chain(self.leaf.as_mut().map(|(_, authority)| authority)) {
            if *authority > removed {
                *authority -= 1;
            }
        }
    }
}

/// Reads all certificates of an entry.
fn certificates(data: &SecretData, entry: &str, problems: &mut Vec<String>) -> Vec<CertificateDer<'static>> {
    let text = data.get(entry).map_or(&[][..], |value| &value.0);
    let mut certificates = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(text) {
        match certificate {
            Ok(certificate) => certificates.push(certificate),
            Err(error) => {
                problems.push(format!("{entry}: it is no valid PEM: {error}"));
                return certificates;
            }
        }
    }
    if certificates.is_empty() && !text.is_empty() {
        problems.push(format!("{entry}: it has no PEM block CERTIFICATE"));
    }
    certificates
}

/// Writes a certificate in PEM.
fn certificate_pem(certificate: &CertificateDer<'_>) -> String {
    const LINE_LENGTH: usize = 64;
    let base64 = match serde_json::to_value(ByteString(certificate.to_vec())) {
        Ok(serde_json::Value::String(base64)) => base64,
        _ => String::new(),
    };
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    for line in base64.as_bytes().chunks(LINE_LENGTH) {
        text.extend([&*String::from_utf8_lossy(line), "\n"]);
    }
    text + "-----END CERTIFICATE-----\n"
}

#[cfg(test)]
#[path = "contents_tests.rs"]
mod tests;
