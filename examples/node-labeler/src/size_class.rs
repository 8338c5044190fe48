//! The rule: which size class a Node has.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Returns the size class of a CPU capacity; none if the quantity is not one of CPUs.
pub fn size_class(cpu: &Quantity) -> Option<&'static str> {
    // CPUs are whole numbers or thousandths: `16` or `3920m`.
    let millis: u64 = match cpu.0.strip_suffix('m') {
        Some(millis) => millis.parse().ok()?,
        None => cpu.0.parse::<u64>().ok()?.checked_mul(1000)?,
    };
    Some(match millis {
        0..4_000 => "small",
        4_000..16_000 => "medium",
        _ => "large",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_have_size_classes() {
        let cases = [
            ("1", Some("small")),
            ("3999m", Some("small")),
            ("4", Some("medium")),
            ("15999m", Some("medium")),
            ("16", Some("large")),
            ("four", None),
            ("", None),
            ("99999999999999999999", None),
        ];
        for (cpu, class) in cases {
            assert_eq!(size_class(&Quantity(cpu.to_owned())), class, "{cpu}");
        }
    }
}
