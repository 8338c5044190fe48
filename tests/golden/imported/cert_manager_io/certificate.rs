//! The kind Certificate of cert-manager.io/v1, which another project defines.
//!
//! `kubewright import` made this file from the definition `certificates.cert-manager.io`. After a change of the definition, the same command merges the
//! change into this file. Your changes stay.
#![allow(
    nonstandard_style,
    missing_docs,
    clippy::all,
    clippy::pedantic,
    rustdoc::all
)]

use serde::{Deserialize, Serialize};

/// A Certificate resource should be created to ensure an up to date and signed
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Certificate {
    /// The metadata of the object.
    #[serde(default)]
    pub metadata: kube::core::ObjectMeta,
    /// Specification of the desired state of the Certificate resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<CertificateSpec>,
    /// Status of the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<CertificateStatus>,
}

impl kube::Resource for Certificate {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind((): &()) -> std::borrow::Cow<'static, str> {
        "Certificate".into()
    }

    fn group((): &()) -> std::borrow::Cow<'static, str> {
        "cert-manager.io".into()
    }

    fn version((): &()) -> std::borrow::Cow<'static, str> {
        "v1".into()
    }

    fn plural((): &()) -> std::borrow::Cow<'static, str> {
        "certificates".into()
    }

    fn meta(&self) -> &kube::core::ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
        &mut self.metadata
    }
}

impl serde::Serialize for Certificate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("apiVersion", "cert-manager.io/v1")?;
        map.serialize_entry("kind", "Certificate")?;
        map.serialize_entry("metadata", &self.metadata)?;
        if let Some(value) = &self.spec {
            map.serialize_entry("spec", value)?;
        }
        if let Some(value) = &self.status {
            map.serialize_entry("status", value)?;
        }
        map.end()
    }
}

impl kubewright::WithStatus for Certificate {}

/// Specification of the desired state of the Certificate resource.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// Defines extra output formats of the private key and signed certificate chain
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_output_formats: Option<Vec<CertificateSpecAdditionalOutputFormats>>,
    /// Requested common name X509 certificate subject attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_name: Option<String>,
    /// Requested DNS subject alternative names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_names: Option<Vec<String>>,
    /// Requested 'duration' (i.e.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
    /// Requested email subject alternative names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_addresses: Option<Vec<String>>,
    /// Whether the KeyUsage and ExtKeyUsage extensions should be set in the encoded CSR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encode_usages_in_request: Option<bool>,
    /// Requested IP address subject alternative names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_addresses: Option<Vec<String>>,
    /// Requested basic constraints isCA value.
    #[serde(rename = "isCA", skip_serializing_if = "Option::is_none")]
    pub is_ca: Option<bool>,
    /// Reference to the issuer responsible for issuing the certificate.
    pub issuer_ref: CertificateSpecIssuerRef,
    /// Additional keystore output formats to be stored in the Certificate's Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystores: Option<CertificateSpecKeystores>,
    /// Requested X.509 certificate subject, represented using the LDAP "String
    #[serde(skip_serializing_if = "Option::is_none")]
    pub literal_subject: Option<String>,
    /// x.509 certificate NameConstraint extension which MUST NOT be used in a non-CA certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_constraints: Option<CertificateSpecNameConstraints>,
    /// `otherNames` is an escape hatch for SAN that allows any type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_names: Option<Vec<CertificateSpecOtherNames>>,
    /// Private key options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key: Option<CertificateSpecPrivateKey>,
    /// How long before the currently issued certificate's expiry cert-manager should
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_before: Option<String>,
    /// `renewBeforePercentage` is like `renewBefore`, except it is a relative percentage
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_before_percentage: Option<i32>,
    /// `renewal` allows configuration of how your certificate is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal: Option<CertificateSpecRenewal>,
    /// The maximum number of CertificateRequest revisions that are maintained in
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// Name of the Secret resource that will be automatically created and
    pub secret_name: String,
    /// Defines annotations and labels to be copied to the Certificate's Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_template: Option<CertificateSpecSecretTemplate>,
    /// Signature algorithm to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_algorithm: Option<CertificateSpecSignatureAlgorithm>,
    /// Requested set of X509 certificate subject attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<CertificateSpecSubject>,
    /// Requested URI subject alternative names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uris: Option<Vec<String>>,
    /// Requested key usages and extended key usages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usages: Option<Vec<CertificateSpecUsages>>,
}

/// CertificateAdditionalOutputFormat defines an additional output format of a
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecAdditionalOutputFormats {
    /// Type is the name of the format type that should be written to the
    pub r#type: CertificateSpecAdditionalOutputFormatsType,
}

/// Reference to the issuer responsible for issuing the certificate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecIssuerRef {
    /// Group of the issuer being referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind of the issuer being referred to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the issuer being referred to.
    pub name: String,
}

/// Additional keystore output formats to be stored in the Certificate's Secret.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecKeystores {
    /// JKS configures options for storing a JKS keystore in the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jks: Option<CertificateSpecKeystoresJks>,
    /// PKCS12 configures options for storing a PKCS12 keystore in the
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pkcs12: Option<CertificateSpecKeystoresPkcs12>,
}

/// JKS configures options for storing a JKS keystore in the
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecKeystoresJks {
    /// Alias specifies the alias of the key in the keystore, required by the JKS format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Create enables JKS keystore creation for the Certificate.
    pub create: bool,
    /// Password provides a literal password used to encrypt the JKS keystore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// PasswordSecretRef is a reference to a non-empty key in a Secret resource
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<CertificateSpecKeystoresJksPasswordSecretRef>,
}

/// PasswordSecretRef is a reference to a non-empty key in a Secret resource
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecKeystoresJksPasswordSecretRef {
    /// The key of the entry in the Secret resource's `data` field to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name of the resource being referred to.
    pub name: String,
}

/// PKCS12 configures options for storing a PKCS12 keystore in the
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecKeystoresPkcs12 {
    /// Create enables PKCS12 keystore creation for the Certificate.
    pub create: bool,
    /// Password provides a literal password used to encrypt the PKCS#12 keystore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// PasswordSecretRef is a reference to a non-empty key in a Secret resource
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password_secret_ref: Option<CertificateSpecKeystoresPkcs12PasswordSecretRef>,
    /// Profile specifies the key and certificate encryption algorithms and the HMAC algorithm
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<CertificateSpecKeystoresPkcs12Profile>,
}

/// PasswordSecretRef is a reference to a non-empty key in a Secret resource
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecKeystoresPkcs12PasswordSecretRef {
    /// The key of the entry in the Secret resource's `data` field to be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name of the resource being referred to.
    pub name: String,
}

/// x.509 certificate NameConstraint extension which MUST NOT be used in a non-CA certificate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecNameConstraints {
    /// if true then the name constraints are marked critical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical: Option<bool>,
    /// Excluded contains the constraints which must be disallowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excluded: Option<CertificateSpecNameConstraintsExcluded>,
    /// Permitted contains the constraints in which the names must be located.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permitted: Option<CertificateSpecNameConstraintsPermitted>,
}

/// Excluded contains the constraints which must be disallowed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecNameConstraintsExcluded {
    /// DNSDomains is a list of DNS domains that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_domains: Option<Vec<String>>,
    /// EmailAddresses is a list of Email Addresses that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_addresses: Option<Vec<String>>,
    /// IPRanges is a list of IP Ranges that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_ranges: Option<Vec<String>>,
    /// URIDomains is a list of URI domains that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_domains: Option<Vec<String>>,
}

/// Permitted contains the constraints in which the names must be located.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecNameConstraintsPermitted {
    /// DNSDomains is a list of DNS domains that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_domains: Option<Vec<String>>,
    /// EmailAddresses is a list of Email Addresses that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_addresses: Option<Vec<String>>,
    /// IPRanges is a list of IP Ranges that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_ranges: Option<Vec<String>>,
    /// URIDomains is a list of URI domains that are permitted or excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_domains: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecOtherNames {
    /// OID is the object identifier for the otherName SAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oid: Option<String>,
    /// utf8Value is the string value of the otherName SAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub utf8_value: Option<String>,
}

/// Private key options.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecPrivateKey {
    /// Algorithm is the private key algorithm of the corresponding private key
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<CertificateSpecPrivateKeyAlgorithm>,
    /// The private key cryptography standards (PKCS) encoding for this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<CertificateSpecPrivateKeyEncoding>,
    /// RotationPolicy controls how private keys should be regenerated when a
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotation_policy: Option<CertificateSpecPrivateKeyRotationPolicy>,
    /// Size is the key bit size of the corresponding private key for this certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
}

/// `renewal` allows configuration of how your certificate is renewed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecRenewal {
    /// `policy` must be one of `Disabled`, `RenewBefore`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<CertificateSpecRenewalPolicy>,
    /// `windows` mentions the behavior of when the renewal must happen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<CertificateSpecRenewalWindows>>,
}

/// CertificateRenewalWindows is the definition for renewal windows
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecRenewalWindows {
    /// `cron` is a cron compliant string to allow when the renewal should be allowed.
    pub cron: String,
    /// `timezone` is IANA compliant timezone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// `windowDuration` is how long the cron definition is active for.
    pub window_duration: String,
}

/// Defines annotations and labels to be copied to the Certificate's Secret.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecSecretTemplate {
    /// Annotations is a key value map to be copied to the target Kubernetes Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<std::collections::BTreeMap<String, String>>,
    /// Labels is a key value map to be copied to the target Kubernetes Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
}

/// Requested set of X509 certificate subject attributes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpecSubject {
    /// Countries to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub countries: Option<Vec<String>>,
    /// Cities to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub localities: Option<Vec<String>>,
    /// Organizational Units to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organizational_units: Option<Vec<String>>,
    /// Organizations to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organizations: Option<Vec<String>>,
    /// Postal codes to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_codes: Option<Vec<String>>,
    /// State/Provinces to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provinces: Option<Vec<String>>,
    /// Serial number to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial_number: Option<String>,
    /// Street addresses to be used on the Certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street_addresses: Option<Vec<String>>,
}

/// Status of the Certificate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatus {
    /// ACME stores information that is fetched from the ACME CA server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acme: Option<CertificateStatusAcme>,
    /// List of status conditions to indicate the status of certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<CertificateStatusConditions>>,
    /// The number of continuous failed issuance attempts up till now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_issuance_attempts: Option<i64>,
    /// LastFailureTime is set only if the latest issuance for this
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure_time: Option<String>,
    /// The name of the Secret resource containing the private key to be used
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_private_key_secret_name: Option<String>,
    /// The expiration time of the certificate stored in the secret named
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// The time after which the certificate stored in the secret named
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// RenewalTime is the time at which the certificate will be next
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal_time: Option<String>,
    /// The current 'revision' of the certificate as issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}

/// ACME stores information that is fetched from the ACME CA server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatusAcme {
    /// ARI stores the ACME Renewal Information that is fetched from the ACME server
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ari: Option<CertificateStatusAcmeAri>,
}

/// ARI stores the ACME Renewal Information that is fetched from the ACME server
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatusAcmeAri {
    /// ExplanationURL is a human-readable URL that may explain why the suggested window
    #[serde(rename = "explanationURL", skip_serializing_if = "Option::is_none")]
    pub explanation_url: Option<String>,
    /// LastChecked is the time at which the ACME server was last checked for renewal information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_checked: Option<String>,
    /// LastError is the last error encountered when checking the ACME server for renewal information, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// NextCheck is the time at which the ACME server will next be checked for renewal information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_check: Option<String>,
    /// SuggestedWindow is the suggested renewal window as returned by the ACME server in accordance with RFC 9773.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggested_window: Option<CertificateStatusAcmeAriSuggestedWindow>,
}

/// SuggestedWindow is the suggested renewal window as returned by the ACME server in accordance with RFC 9773.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatusAcmeAriSuggestedWindow {
    /// End is the end of the suggested renewal window.
    pub end: String,
    /// Start is the start of the suggested renewal window.
    pub start: String,
}

/// CertificateCondition contains condition information for a Certificate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CertificateStatusConditions {
    /// LastTransitionTime is the timestamp corresponding to the last status
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// Message is a human readable description of the details of the last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// If set, this represents the .metadata.generation that the condition was
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Reason is a brief machine readable explanation for the condition's last
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Status of the condition, one of (`True`, `False`, `Unknown`).
    pub status: CertificateStatusConditionsStatus,
    /// Type of the condition, known values are (`Ready`, `Issuing`).
    pub r#type: String,
}

/// Type is the name of the format type that should be written to the
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecAdditionalOutputFormatsType {
    DER,
    CombinedPEM,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Profile specifies the key and certificate encryption algorithms and the HMAC algorithm
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecKeystoresPkcs12Profile {
    LegacyRC2,
    LegacyDES,
    Modern2023,
    Modern2026,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Algorithm is the private key algorithm of the corresponding private key
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecPrivateKeyAlgorithm {
    RSA,
    ECDSA,
    Ed25519,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// The private key cryptography standards (PKCS) encoding for this
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecPrivateKeyEncoding {
    PKCS1,
    PKCS8,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// RotationPolicy controls how private keys should be regenerated when a
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecPrivateKeyRotationPolicy {
    Never,
    Always,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// `policy` must be one of `Disabled`, `RenewBefore`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecRenewalPolicy {
    RenewBefore,
    Disabled,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Signature algorithm to use.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecSignatureAlgorithm {
    SHA256WithRSA,
    SHA384WithRSA,
    SHA512WithRSA,
    ECDSAWithSHA256,
    ECDSAWithSHA384,
    ECDSAWithSHA512,
    PureEd25519,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// KeyUsage specifies valid usage contexts for keys.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateSpecUsages {
    #[serde(rename = "signing")]
    Signing,
    #[serde(rename = "digital signature")]
    DigitalSignature,
    #[serde(rename = "content commitment")]
    ContentCommitment,
    #[serde(rename = "key encipherment")]
    KeyEncipherment,
    #[serde(rename = "key agreement")]
    KeyAgreement,
    #[serde(rename = "data encipherment")]
    DataEncipherment,
    #[serde(rename = "cert sign")]
    CertSign,
    #[serde(rename = "crl sign")]
    CrlSign,
    #[serde(rename = "encipher only")]
    EncipherOnly,
    #[serde(rename = "decipher only")]
    DecipherOnly,
    #[serde(rename = "any")]
    Any,
    #[serde(rename = "server auth")]
    ServerAuth,
    #[serde(rename = "client auth")]
    ClientAuth,
    #[serde(rename = "code signing")]
    CodeSigning,
    #[serde(rename = "email protection")]
    EmailProtection,
    #[serde(rename = "s/mime")]
    SMime,
    #[serde(rename = "ipsec end system")]
    IpsecEndSystem,
    #[serde(rename = "ipsec tunnel")]
    IpsecTunnel,
    #[serde(rename = "ipsec user")]
    IpsecUser,
    #[serde(rename = "timestamping")]
    Timestamping,
    #[serde(rename = "ocsp signing")]
    OcspSigning,
    #[serde(rename = "microsoft sgc")]
    MicrosoftSgc,
    #[serde(rename = "netscape sgc")]
    NetscapeSgc,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown(String),
}

/// Status of the condition, one of (`True`, `False`, `Unknown`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum CertificateStatusConditionsStatus {
    True,
    False,
    Unknown,
    /// A value that the definition did not have when it was imported.
    #[serde(untagged)]
    Unknown2(String),
}
