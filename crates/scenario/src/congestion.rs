//! The congestion controls a scenario may name: those of mainline Linux, by their kernel names.
//!
//! One row each. Parameters are the kernel's module parameters with their names and defaults in Linux 6.12
//! (`net/ipv4/tcp_*.c`); a name used in the literature may stand as an alias.

/// A congestion control as `net.ipv4.tcp_available_congestion_control` lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionControl {
    /// The kernel's name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Where it is described.
    pub reference: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
}

/// A parameter of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The kernel's name, as under `/sys/module/tcp_*/parameters`.
    pub name: &'static str,
    /// A name from the literature, empty if there is none.
    pub alias: &'static str,
    /// What it sets, with its unit or scale.
    pub about: &'static str,
    /// The kernel's default.
    pub default: i64,
    /// Smallest value accepted here.
    pub min: i64,
    /// Largest value accepted here.
    pub max: i64,
    /// When the kernel reads it.
    pub set: When,
}

/// When a parameter can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At any time, through sysfs.
    Running,
    /// Only while loading, that is on the kernel's command line where the control is built in.
    Loading,
}

impl CongestionControl {
    /// The parameter of that name or alias.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.name == name || (!p.alias.is_empty() && p.alias == name))
    }
}

/// Every congestion control there is, in the order in which lists show them.
pub fn congestion_controls() -> &'static [CongestionControl] {
    CONTROLS
}

/// The one of that name.
pub fn congestion_control(name: &str) -> Option<&'static CongestionControl> {
    CONTROLS.iter().find(|c| c.name == name)
}

const LARGEST: i64 = i32::MAX as i64;

const fn p(name: &'static str, default: i64, min: i64, max: i64, about: &'static str) -> Parameter {
    Parameter { name, alias: "", about, default, min, max, set: When::Running }
}

const fn known_as(alias: &'static str, parameter: Parameter) -> Parameter {
    Parameter { alias, ..parameter }
}

const fn at_loading(parameter: Parameter) -> Parameter {
    Parameter { set: When::Loading, ..parameter }
}

const CONTROLS: &[CongestionControl] = &[
    CongestionControl {
        name: "reno",
        about: "Additive increase by one segment a round trip, halving on loss",
        reference: "RFC 5681, RFC 6582",
        parameters: &[],
    },
    CongestionControl {
        name: "cubic",
        about: "Window as a cubic function of the time since the last loss; the default of Linux",
        reference: "RFC 9438",
        parameters: &[
            p("fast_convergence", 1, 0, 1, "release bandwidth faster while the peak window shrinks"),
            p("beta", 717, 1, 1023, "window kept after a loss, in 1/1024"),
            p("initial_ssthresh", 0, 0, LARGEST, "slow start threshold at the beginning, packets; 0: none"),
            at_loading(p("bic_scale", 41, 1, 1024, "scale of the cubic term, in 1/1024")),
            p("tcp_friendliness", 1, 0, 1, "grow at least as Reno would"),
            p("hystart", 1, 0, 1, "leave slow start before loss"),
            p("hystart_detect", 3, 0, 3, "HyStart's signs: 1 ACK train, 2 delay, 3 both"),
            p("hystart_low_window", 16, 0, LARGEST, "no HyStart below this window, packets"),
            p("hystart_ack_delta_us", 2000, 0, LARGEST, "ACKs closer than this form a train, microseconds"),
        ],
    },
    CongestionControl {
        name: "bic",
        about: "Binary search between the last windows with and without loss",
        reference: "Xu, Harfoush, Rhee, INFOCOM 2004",
        parameters: &[
            p("fast_convergence", 1, 0, 1, "release bandwidth faster while the peak window shrinks"),
            known_as("smax", p("max_increment", 16, 1, LARGEST, "largest increase a round trip, packets")),
            p("low_window", 14, 0, LARGEST, "behave as Reno below this window, packets"),
            p("beta", 819, 1, 1023, "window kept after a loss, in 1/1024"),
            p("initial_ssthresh", 0, 0, LARGEST, "slow start threshold at the beginning, packets; 0: none"),
            p("smooth_part", 20, 1, LARGEST, "round trips from the peak window less B to the peak window"),
        ],
    },
    CongestionControl {
        name: "westwood",
        about: "Reno that sets the window after a loss from a bandwidth estimate (Westwood+)",
        reference: "Mascolo et al., MobiCom 2001; Grieco, Mascolo, CCR 2004",
        parameters: &[],
    },
    CongestionControl {
        name: "htcp",
        about: "Increase grows with the time since the last loss, decrease with the delay's range",
        reference: "Leith, Shorten, PFLDnet 2004; draft-leith-tcp-htcp-06",
        parameters: &[
            p("use_rtt_scaling", 1, 0, 1, "scale the increase with the round-trip time"),
            p("use_bandwidth_switch", 1, 0, 1, "halve when the throughput changed by more than a fifth"),
        ],
    },
    CongestionControl {
        name: "highspeed",
        about: "Reno whose increase and decrease depend on the window's size",
        reference: "RFC 3649",
        parameters: &[],
    },
    CongestionControl {
        name: "hybla",
        about: "Makes flows with a long round-trip time grow as those with a short reference one",
        reference: "Caini, Firrincieli, Int. J. Satellite Communications 2004",
        parameters: &[p("rtt0", 25, 1, LARGEST, "reference round-trip time, ms")],
    },
    CongestionControl {
        name: "vegas",
        about: "Keeps a few packets of its own in the queue, seen as delay",
        reference: "Brakmo, Peterson, JSAC 1995",
        parameters: &[
            p("alpha", 2, 0, LARGEST, "grow while fewer packets than this are queued"),
            p("beta", 4, 0, LARGEST, "shrink while more packets than this are queued"),
            p("gamma", 1, 0, LARGEST, "leave slow start when more packets than this are queued"),
        ],
    },
    CongestionControl {
        name: "nv",
        about: "Vegas for data centres: compares measured and expected rate, filters noise (TCP-NV)",
        reference: "Brakmo, Linux Plumbers Conference 2010; net/ipv4/tcp_nv.c",
        parameters: &[
            p("nv_pad", 10, 0, LARGEST, "packets it may queue"),
            p("nv_reset_period", 5, 1, LARGEST, "forget the least round-trip time after this, s"),
            p("nv_min_cwnd", 2, 1, LARGEST, "window below which it does not shrink, packets"),
        ],
    },
    CongestionControl {
        name: "scalable",
        about: "Increase in proportion to the window, decrease by an eighth",
        reference: "Kelly, CCR 2003",
        parameters: &[],
    },
    CongestionControl {
        name: "lp",
        about: "Low priority: yields to other traffic when one-way delay rises",
        reference: "Kuzmanovic, Knightly, INFOCOM 2003",
        parameters: &[],
    },
    CongestionControl {
        name: "veno",
        about: "Reno that tells random loss from congestion by Vegas' queue estimate",
        reference: "Fu, Liew, JSAC 2003",
        parameters: &[],
    },
    CongestionControl {
        name: "yeah",
        about: "Scalable while the queue is short, Reno with early retreat when it is not",
        reference: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
        parameters: &[],
    },
    CongestionControl {
        name: "illinois",
        about: "Reno whose increase and decrease follow the queueing delay",
        reference: "Liu, Basar, Srikant, VALUETOOLS 2006",
        parameters: &[
            at_loading(p("win_thresh", 15, 0, LARGEST, "behave as Reno below this window, packets")),
            at_loading(p("theta", 5, 0, LARGEST, "round trips of low delay before full growth")),
        ],
    },
    CongestionControl {
        name: "dctcp",
        about: "Decrease in proportion to the share of ECN marks",
        reference: "RFC 8257",
        parameters: &[
            p("dctcp_shift_g", 4, 0, 10, "weight of the newest share of marks is 1/2^this"),
            p("dctcp_alpha_on_init", 1024, 0, 1024, "share of marks assumed at the beginning, in 1/1024"),
        ],
    },
    CongestionControl {
        name: "cdg",
        about: "Backs off with a probability that follows the delay's gradient",
        reference: "Hayes, Armitage, Networking 2011",
        parameters: &[
            at_loading(p("window", 8, 1, 256, "gradients averaged, a power of two")),
            p("backoff_beta", 724, 0, 1024, "window kept after a back-off, in 1/1024"),
            p("backoff_factor", 42, 0, LARGEST, "scale of the back-off probability"),
            p("hystart_detect", 3, 0, 3, "HyStart's signs: 1 ACK train, 2 delay, 3 both"),
            p("use_ineff", 5, 0, LARGEST, "ineffectual back-offs tolerated; 0: any number"),
            p("use_shadow", 1, 0, 1, "keep the window loss would have left"),
            p("use_tolerance", 0, 0, 1, "ignore loss that no delay announced"),
        ],
    },
    CongestionControl {
        name: "bbr",
        about: "Paces at the measured bandwidth, keeps twice the bandwidth-delay product in flight (version 1)",
        reference: "Cardwell et al., ACM Queue 2016",
        parameters: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_defaults_lie_in_their_range() {
        for (i, control) in CONTROLS.iter().enumerate() {
            assert!(CONTROLS[..i].iter().all(|c| c.name != control.name), "{} twice", control.name);
            for (j, parameter) in control.parameters.iter().enumerate() {
                let (name, alias) = (parameter.name, parameter.alias);
                assert!(
                    (parameter.min..=parameter.max).contains(&parameter.default),
                    "{name} of {}",
                    control.name
                );
                for other in &control.parameters[..j] {
                    assert!(
                        other.name != name
                            && other.name != alias
                            && (alias.is_empty() || other.alias != alias)
                    );
                }
            }
        }
    }

    #[test]
    fn a_parameter_is_found_by_its_alias() {
        assert_eq!(congestion_control("bic").unwrap().parameter("smax").unwrap().name, "max_increment");
        assert_eq!(congestion_control("reno").unwrap().parameter("smax"), None);
        assert_eq!(congestion_control("cubic").unwrap().parameter(""), None);
    }
}
