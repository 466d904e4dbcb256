//! `-4` and `-6`: the version of IP of a test.

use crate::failure::Failure;
use clap::Args;
use wirespeed_scenario::run::{Family, Reach};

/// The version of IP that carries a test.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Choice {
    /// Test over IPv4 [default: the version of the given addresses, else IPv4 if all hosts have it].
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Path")]
    pub ipv4: bool,
    /// Test over IPv6.
    #[arg(short = '6', long, help_heading = "Path")]
    pub ipv6: bool,
}

impl Choice {
    /// The version that is asked for.
    pub fn family(self) -> Option<Family> {
        match self {
            Choice { ipv4: true, .. } => Some(Family::Ipv4),
            Choice { ipv6: true, .. } => Some(Family::Ipv6),
            Choice { .. } => None,
        }
    }

    /// A machine, which is to use that version.
    pub fn of(self, machine: &Reach) -> Reach {
        Reach { family: self.family(), ..machine.clone() }
    }

    /// Refuses machines that are asked for different versions, before any is reached.
    ///
    /// # Errors
    /// Which are, and what to type.
    pub fn check<'a>(self, machines: impl Iterator<Item = &'a Reach>) -> Result<(), Failure> {
        let refuse = |message: String, remedy: &str| Err(Failure::Usage { message, remedy: remedy.into() });
        let given: Vec<(&Reach, Family)> =
            machines.filter_map(|machine| Some((machine, machine.address.map(Family::of)?))).collect();
        let described = |(machine, family): &(&Reach, Family)| {
            let address = machine.address.map_or(String::new(), |address| address.to_string());
            format!("{}={address} ({family})", machine.ssh)
        };
        if let Some(family) = self.family()
            && let Some(other) = given.iter().find(|(_, found)| *found != family)
        {
            let option = if family == Family::Ipv4 { "-4" } else { "-6" };
            return refuse(
                format!("{option}: {} is not an {family} address", described(other)),
                &format!("give an {family} address, or leave {option} out"),
            );
        }
        let Some((first, rest)) = given.split_first() else { return Ok(()) };
        match rest.iter().find(|(_, family)| *family != first.1) {
            None => Ok(()),
            Some(other) => refuse(
                format!(
                    "{} and {} have addresses of different versions of IP",
                    described(first),
                    described(other)
                ),
                "give all machines addresses of one version; or no address, and -4 or -6",
            ),
        }
    }
}
