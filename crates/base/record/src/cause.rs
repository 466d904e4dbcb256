//! Why a link or a queue dropped or lost packets: the one place where each cause has its name and its advice.

use crate::words;

words! {
    /// Why packets of a link or of a host's queue were dropped or lost, in the order in which a link decides.
    Cause {
        /// A policer had no token for them.
        Policer = "policer",
        /// They found the queue full.
        QueueFull = "queue_full",
        /// Random early detection.
        Red = "red",
        /// CoDel, alone or for each flow of FQ-CoDel.
        CoDel = "codel",
        /// The controller of DualPI2.
        Pi2 = "pi2",
        /// The port carries less than the rate at which the queue sends.
        PortLimit = "port_limit",
        /// Random loss, independent of load and of other packets.
        RandomLoss = "random_loss",
        /// Bits were wrong.
        BitErrors = "bit_errors",
        /// Losses in bursts (Gilbert-Elliott).
        BurstLoss = "burst_loss",
        /// The link was down.
        Outage = "outage",
    }
}

impl Cause {
    /// In words: `queue full`.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Policer => "policer",
            Cause::QueueFull => "queue full",
            Cause::Red => "RED",
            Cause::CoDel => "CoDel",
            Cause::Pi2 => "DualPI2",
            Cause::PortLimit => "port limit",
            Cause::RandomLoss => "random loss",
            Cause::BitErrors => "bit errors",
            Cause::BurstLoss => "burst loss",
            Cause::Outage => "outage",
        }
    }

    /// What it means and what to do, as a clause.
    pub const fn advice(self) -> &'static str {
        match self {
            Cause::Policer => "the policer limits, so shape or pace the senders to its rate",
            Cause::QueueFull => "the senders fill this buffer",
            Cause::Red => "RED drops before the buffer is full, so a larger buffer alone does not help",
            Cause::CoDel => "CoDel drops to keep the delay short, so a larger buffer does not help",
            Cause::Pi2 => "DualPI2 drops to keep the delay short, so a larger buffer does not help",
            Cause::PortLimit => "the port carries less than its link's rate, so shape to what it carries",
            Cause::RandomLoss | Cause::BurstLoss => "the link loses packets at any load, so check the medium",
            Cause::BitErrors => "the link corrupts frames, so check cables and optics",
            Cause::Outage => "the link was down",
        }
    }

    /// Whether it is met behind the queue: the packets have taken their time of the transmitter.
    pub const fn is_behind_queue(self) -> bool {
        match self {
            Cause::Policer | Cause::QueueFull | Cause::Red | Cause::CoDel | Cause::Pi2 => false,
            Cause::PortLimit | Cause::RandomLoss | Cause::BitErrors | Cause::BurstLoss | Cause::Outage => {
                true
            }
        }
    }

    /// A place with the cause of its losses, where it is known: `bottleneck/forward: queue full`.
    pub fn at(place: &str, cause: Option<Cause>) -> String {
        cause.map_or_else(|| place.to_owned(), |cause| format!("{place}: {}", cause.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_differ_in_name_and_word_and_advice_is_a_clause() {
        for (index, cause) in Cause::ALL.iter().enumerate() {
            for other in &Cause::ALL[..index] {
                assert!(cause.name() != other.name() && cause.word() != other.word());
            }
            assert!(cause.advice().split(' ').count() <= 20 && !cause.advice().ends_with('.'));
        }
    }

    #[test]
    fn a_place_has_the_name_of_its_cause() {
        assert_eq!(Cause::at("a/forward", Some(Cause::CoDel)), "a/forward: CoDel");
        assert_eq!(Cause::at("receiver", None), "receiver");
    }
}
