//! What Linux has changed about how a sender finds losses, repairs them and counts its window as used.

use wirespeed_scenario::run::KernelVersion;

/// The rules of a sender's kernel. Versions between two changes have one rule of the old and one of the new, as those
/// kernels had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Era {
    /// In recovery the window goes down by one for two ACKs and is never above what is in flight (rate halving,
    /// `tcp_cwnd_down`); dubious ACKs leave room for three packets only (`tcp_moderate_cwnd`). Since commit
    /// a262f0cdf1f2, 3.2, it follows what is delivered (proportional rate reduction, RFC 6937).
    pub halves: bool,
    /// Lost is what lies more than `tcp_reordering` below the highest packet selectively acknowledged (FACK). Since
    /// commit 4f41b1c58a32, 4.4, what left long enough before one that arrived (RACK).
    pub forward_acks: bool,
    /// A tail loss probe is sent (commit 6ba8a3b19e76, 3.10).
    pub probes: bool,
    /// The window may grow if what was in flight filled it when the ACK came. Since commit e114a710aa50, 3.16, if sending
    /// was stopped by it in the round trip before; slow start may be twice as far.
    pub grows_when_filled: bool,
    /// What a socket may have in its host's queues, in bytes (default of `tcp_limit_output_bytes`): 16 pieces of 64 KiB, four
    /// until 4.20, two until 4.0 (commits c73e5807e4f6, 5.0, and c39c4c6abb89, 4.1).
    pub output_limit: u64,
    /// That counts for flows that pace themselves, too (until the former of these commits).
    pub limits_paced_output: bool,
    /// The last packet of a GSO packet has PSH set (commit 051ba67447de, 5.4).
    pub pushes: bool,
}

impl Era {
    /// That of the kernel of today.
    pub const TODAY: Era = Era {
        halves: false,
        forward_acks: false,
        probes: true,
        grows_when_filled: false,
        output_limit: 16 << 16,
        limits_paced_output: false,
        pushes: true,
    };

    /// That of a kernel.
    pub fn of(kernel: KernelVersion) -> Era {
        let before = |major, minor| kernel < KernelVersion::new(major, minor, 0);
        Era {
            halves: before(3, 2),
            forward_acks: before(4, 4),
            probes: !before(3, 10),
            grows_when_filled: before(3, 16),
            output_limit: match () {
                () if before(4, 1) => 2 << 16,
                () if before(5, 0) => 4 << 16,
                () => 16 << 16,
            },
            limits_paced_output: before(5, 0),
            pushes: !before(5, 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn todays_kernel_has_todays_rules() {
        assert_eq!(Era::of(KernelVersion::TODAY), Era::TODAY);
    }

    #[test]
    fn between_two_changes_there_is_some_of_both() {
        let era = Era::of(KernelVersion::new(3, 13, 0));
        assert!(!era.halves && era.forward_acks && era.probes && era.grows_when_filled);
        let era = Era::of(KernelVersion::new(2, 6, 24));
        assert!(era.halves && era.forward_acks && !era.probes && era.grows_when_filled);
    }
}
