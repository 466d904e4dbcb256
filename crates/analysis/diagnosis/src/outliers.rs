//! Hosts that lose far more than others.

use crate::finding::{Evidence, Finding, Subject};
use crate::id::Id;
use crate::share::share;
use crate::thresholds::{LEAST_LOSS, STANDS_OUT};

/// Whether a loss stands out from the median of all others.
pub fn stands_out(loss: f64, others: f64) -> bool {
    loss >= LEAST_LOSS.value && loss >= STANDS_OUT.value * others
}

/// The finding about a host of which most paths lose this part, and all others that. `as_what` is `sends` or `receives`.
pub fn lossy_host(host: &str, as_what: &str, loss: f64, others: f64) -> Finding {
    let text = format!("{host} loses {} of what it {as_what}, other paths {}", share(loss), share(others));
    let subject = Subject::Host { host: host.to_owned() };
    let evidence = vec![
        Evidence::beyond("loss_ratio", loss, "ratio", LEAST_LOSS),
        Evidence::new("loss_of_others_ratio", others, "ratio"),
    ];
    Finding::new(Id::MeshHost, subject, text, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_stands_out_by_ten_times_the_loss_of_others() {
        assert!(stands_out(1e-3, 1e-4));
        assert!(!stands_out(0.9e-3, 1e-4));
        assert!(stands_out(1e-6, 0.0));
        assert!(!stands_out(0.9e-6, 0.0), "too little to report");
    }

    #[test]
    fn lossy_host_is_the_subject_of_its_finding() {
        let finding = lossy_host("c", "receives", 0.02, 0.001);
        assert_eq!(finding.text, "c loses 2.0 % of what it receives, other paths 0.10 %");
        assert_eq!(finding.subject, Subject::Host { host: "c".into() });
    }
}
