//! Values that published guides give for a setting, beside which a finding shows the formula's value.

use serde::Serialize;

/// The value of a guide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GuideValue {
    /// Id of the rule that judges the setting.
    #[serde(skip)]
    pub rule: &'static str,
    /// The guide.
    pub guide: &'static str,
    /// Its value, with its condition.
    pub value: &'static str,
    /// The largest buffer in bytes, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its document.
    pub source: &'static str,
}

const TUNED: &str = "TuneD 2.28, profiles/network-throughput/tuned.conf";
const FASTERDATA: &str = "osg-htc/networking, fasterdata-tuning.sh 1.3.10";
const PERFSONAR: &str = "perfSONAR toolkit, configure_sysctl";
const MELLANOX: &str = "Caltech, 40GE FAST Data Transfer Kit of SC11 (MLXNET parameters)";
const RHEL6: &str = "Red Hat Enterprise Linux 6, Performance Tuning Guide, section 8.2";
const KIT: &str = "kit-2019, tuning table";

macro_rules! values {
    ($($rule:literal, $guide:literal, $value:literal, $bytes:expr, $source:expr;)+) => {
        /// All values, by rule.
        pub const VALUES: &[GuideValue] = &[
            $(GuideValue { rule: $rule, guide: $guide, value: $value, bytes: $bytes, source: $source }),+
        ];
    };
}

values! {
    "tcp.rmem", "TuneD network-throughput", "4096 131072 16777216", Some(16_777_216), TUNED;
    "tcp.rmem", "fasterdata, 10 Gbit/s transfer host", "largest 33554432", Some(33_554_432), FASTERDATA;
    "tcp.rmem", "fasterdata, 100 Gbit/s or more", "4096 131072 1073741824", Some(1_073_741_824), FASTERDATA;
    "tcp.rmem", "perfSONAR, 40 Gbit/s or more", "largest 268435456", Some(268_435_456), PERFSONAR;
    "tcp.rmem", "Mellanox for ConnectX", "4096 87380 16777216", Some(16_777_216), MELLANOX;
    "tcp.rmem", "Red Hat", "leave the default until a problem is measured", None, RHEL6;
    "tcp.rmem", "kit-2019", "4096 87380 2147483648, above the kernel's limit", Some(2_147_483_647), KIT;
    "tcp.wmem", "TuneD network-throughput", "4096 16384 16777216", Some(16_777_216), TUNED;
    "tcp.wmem", "Mellanox for ConnectX", "4096 65536 16777216", Some(16_777_216), MELLANOX;
    "tcp.wmem", "kit-2019", "4096 87380 2147483648, above the kernel's limit", Some(2_147_483_647), KIT;
    "core.rmem-max", "fasterdata, 100 Gbit/s or more", "2147483647", Some(2_147_483_647), FASTERDATA;
    "core.rmem-max", "perfSONAR, 40 Gbit/s or more", "536870912", Some(536_870_912), PERFSONAR;
    "core.rmem-max", "Mellanox for ConnectX", "16777216", Some(16_777_216), MELLANOX;
    "core.rmem-max", "kit-2019", "2147483647", Some(2_147_483_647), KIT;
    "core.wmem-max", "Mellanox for ConnectX", "16777216", Some(16_777_216), MELLANOX;
    "core.wmem-max", "kit-2019", "2147483647", Some(2_147_483_647), KIT;
    "tcp.mem", "kit-2019", "2147483647 2147483647 2147483647, above the memory of the host", None, KIT;
    "queue.backlog", "kit-2019", "250000", None, KIT;
    "queue.backlog", "Mellanox for ConnectX", "250000", None, MELLANOX;
    "queue.backlog", "fasterdata, 100 Gbit/s or more", "500000 to 1000000", None, FASTERDATA;
    "tcp.timestamps", "Mellanox for ConnectX", "0, which loses PAWS", None, MELLANOX;
    "tcp.timestamps", "kit-2019", "1", None, KIT;
    "tcp.sack", "Mellanox for ConnectX", "0, which costs a round trip for each further loss of a window", None, MELLANOX;
    "ring.rx", "Mellanox for ConnectX", "8192 for long paths", None, MELLANOX;
    "ring.rx", "kit-2019", "the most that the device allows", None, KIT;
    "congestion.cubic", "fasterdata, 100 Gbit/s or more", "bbr", None, FASTERDATA;
    "congestion.cubic", "perfSONAR, 40 Gbit/s or more", "htcp", None, PERFSONAR;
    "tcp.slow-start-after-idle", "TuneD network-throughput", "0", None, TUNED;
    "queue.fq", "fasterdata", "fq as the root, which replaces a multi-queue root", None, FASTERDATA;
    "queue.fq", "kit-2019", "fq", None, KIT;
}

/// Values of the guides for the setting that a rule judges.
pub fn of_rule(rule: &str) -> Vec<GuideValue> {
    VALUES.iter().filter(|value| value.rule == rule).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_belongs_to_a_rule_and_has_a_source() {
        for value in VALUES {
            assert!(crate::audit::rule(value.rule).is_some(), "{}", value.rule);
            assert!(!value.source.is_empty() && !value.value.is_empty(), "{value:?}");
        }
    }
}
