//! The substrates.

use crate::words;

words! {
    /// The system that a run runs on.
    SubstrateKind {
        /// Packet captures that `wirespeed trace` read.
        Capture = "capture",
        /// The program flent, whose data file was imported.
        Flent = "flent",
        /// Real hosts.
        Hosts = "hosts",
        /// The program iperf3, whose JSON was imported.
        Iperf3 = "iperf3",
        /// A Linux kernel in virtual time.
        Kernel = "kernel",
        /// The discrete-event model.
        Model = "model",
        /// Network namespaces of the running kernel.
        Netns = "netns",
        /// perfSONAR's pScheduler, whose result was imported.
        Pscheduler = "pscheduler",
        /// The program ss, whose log was imported.
        Ss = "ss",
    }
}

#[expect(clippy::derivable_impls, reason = "the macro makes the enum")]
impl Default for SubstrateKind {
    fn default() -> SubstrateKind {
        SubstrateKind::Model
    }
}
