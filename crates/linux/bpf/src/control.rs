//! The congestion controls and their loading.

use crate::kernel::{BPF, NET_ADMIN, Owner, PERFMON, Reason, available, has_module, kernel, permitted};
use crate::messages::{Listening, listen};
use crate::registered::registered;
use libbpf_rs::{Link, MapCore, MapType, Object, ObjectBuilder};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A congestion control that can be loaded into the running kernel.
#[derive(Debug)]
pub struct Control {
    /// The name by which sockets choose it, as in scenarios.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// Where it is described.
    pub reference: &'static str,
    /// What it needs beyond what all need; empty if nothing.
    pub needs: &'static str,
    object: &'static [u8],
}

macro_rules! control {
    ($name:literal, $about:literal, $reference:literal, $needs:literal) => {
        Control {
            name: $name,
            about: $about,
            reference: $reference,
            needs: $needs,
            object: include_bytes!(concat!("../../../../bpf/objects/", $name, ".bpf.o")),
        }
    };
}

/// Every control, in the order in which lists show them.
pub fn controls() -> &'static [Control] {
    static CONTROLS: [Control; 11] = [
        control!(
            "bic",
            "binary search between the last windows with and without loss",
            "Xu, Harfoush, Rhee, INFOCOM 2004",
            ""
        ),
        control!(
            "htcp",
            "increase grows with the time since the last loss, decrease with the delay's range",
            "Leith, Shorten, PFLDnet 2004",
            ""
        ),
        control!("highspeed", "Reno whose increase and decrease depend on the window's size", "RFC 3649", ""),
        control!(
            "scalable",
            "increase in proportion to the window, decrease by an eighth",
            "Kelly, CCR 2003",
            ""
        ),
        control!(
            "vegas",
            "keeps a few packets of its own in the queue, seen as delay",
            "Brakmo, Peterson, JSAC 1995",
            ""
        ),
        control!(
            "westwood",
            "Reno that sets the window after a loss from a bandwidth estimate (Westwood+)",
            "Mascolo et al., MobiCom 2001",
            ""
        ),
        control!(
            "illinois",
            "Reno whose increase and decrease follow the queueing delay",
            "Liu, Basar, Srikant, VALUETOOLS 2006",
            ""
        ),
        control!(
            "yeah",
            "Scalable while the queue is short, Reno with early retreat when it is not",
            "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
            ""
        ),
        control!(
            "hybla",
            "makes flows with a long round-trip time grow as those with a short one",
            "Caini, Firrincieli, IJSC 2004",
            "pacing (fq, or the socket's own): it bursts in slow start"
        ),
        control!(
            "fast",
            "moves the window each round trip towards 200 own packets in the queue",
            "Wei, Jin, Low, Hegde, ToN 2006",
            ""
        ),
        control!(
            "lola",
            "keeps the queueing delay slightly above 5 ms at any round-trip time, fairly",
            "Hock et al., LCN 2017",
            ""
        ),
    ];
    &CONTROLS
}

/// The control of that name.
pub fn control(name: &str) -> Option<&'static Control> {
    controls().iter().find(|control| control.name == name)
}

/// What comes before a control's name where the kernel has one of the same name; and before the name of its map.
pub const PREFIX: &str = "ws_";

/// Under which name a control is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// Its own, which must be free.
    Plain,
    /// With [`PREFIX`], beside the kernel's.
    Beside,
}

/// Why a control was not loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It cannot be, here.
    #[error("{name} cannot be loaded: {reason}")]
    Cannot {
        /// The control.
        name: String,
        /// Why.
        reason: Reason,
    },
    /// The kernel refused it, though it has what is needed.
    #[error("Linux {release} refused {name}: {source:#}\n{log}")]
    Refused {
        /// The control.
        name: String,
        /// `uname -r`.
        release: String,
        /// What libbpf makes of it.
        source: libbpf_rs::Error,
        /// The last lines of what libbpf and the kernel's verifier said.
        log: String,
    },
    /// It is not gone after its removal.
    #[error("{name} is still registered; see `wirespeed cc status` for the process that uses it")]
    Remains {
        /// The control.
        name: String,
    },
}

impl Control {
    /// The name under which it is registered.
    pub fn registered_name(&self, naming: Naming) -> String {
        match naming {
            Naming::Plain => self.name.to_owned(),
            Naming::Beside => format!("{PREFIX}{}", self.name),
        }
    }

    /// Whether it can be loaded here under its own name, as far as can be told without doing it.
    ///
    /// # Errors
    /// What stands in the way, and what to change.
    pub fn can_load(&self) -> Result<(), Reason> {
        self.can_load_as(Naming::Plain)
    }

    /// The same for either name.
    ///
    /// # Errors
    /// What stands in the way, and what to change.
    pub fn can_load_as(&self, naming: Naming) -> Result<(), Reason> {
        // A name that is taken is the best news there is: the control can be used.
        if let Some(owner) = self.owner(naming) {
            return Err(Reason::NameTaken { name: self.registered_name(naming), owner });
        }
        kernel().takes_controls()?;
        permitted(&[BPF, PERFMON, NET_ADMIN])
    }

    fn owner(&self, naming: Naming) -> Option<Owner> {
        let name = self.registered_name(naming);
        if !available().contains(&name) {
            return (naming == Naming::Plain && has_module(self.name)).then_some(Owner::Module(name));
        }
        // Who may not look sees no registrations, and takes ours for the kernel's.
        let ours = registered().unwrap_or_default().into_iter().find(|found| found.name == name);
        Some(match ours {
            Some(found) => found.holder.map_or(Owner::Leftover(name), Owner::Process),
            None => Owner::Kernel,
        })
    }

    /// Loads it under its own name, for every namespace of this kernel.
    ///
    /// # Errors
    /// If it cannot be loaded here, or the kernel refuses it.
    pub fn load(&self) -> Result<Loaded, LoadError> {
        self.load_as(Naming::Plain)
    }

    /// Loads it under either name.
    ///
    /// # Errors
    /// If it cannot be loaded here, or the kernel refuses it.
    pub fn load_as(&self, naming: Naming) -> Result<Loaded, LoadError> {
        let links = kernel().types.is_some_and(|types| types.links);
        self.load_held_by(naming, if links { Held::ByLink } else { Held::ByMap })
    }

    /// Loads it as kernels before 6.4 do, where a registration outlives its process: for tests of what is left behind.
    ///
    /// # Errors
    /// If it cannot be loaded here, or the kernel refuses it.
    #[doc(hidden)]
    pub fn load_without_link(&self) -> Result<Loaded, LoadError> {
        self.load_held_by(Naming::Plain, Held::ByMap)
    }

    fn load_held_by(&self, naming: Naming, held: Held) -> Result<Loaded, LoadError> {
        let name = self.registered_name(naming);
        self.can_load_as(naming).map_err(|reason| LoadError::Cannot { name: name.clone(), reason })?;
        let listening = listen();
        self.register(&name, held).map_err(|source| self.refused(source, &listening))
    }

    fn register(&self, name: &str, held: Held) -> Result<Loaded, libbpf_rs::Error> {
        let mut open = ObjectBuilder::default().open_memory(self.object)?;
        for mut map in open.maps_mut().filter(|map| map.map_type() == MapType::StructOps) {
            if held == Held::ByLink {
                map.set_map_flags(libbpf_sys::BPF_F_LINK)?;
            }
            let Some(image) = map.initial_value_mut() else { continue };
            if name != self.name {
                rename(image, self.name, name);
            }
            if !kernel().types.is_some_and(|types| types.start_hook) {
                // The last pointer is of a hook that this kernel has not, and would refuse.
                let end = image.len().saturating_sub(size_of::<u64>());
                image[end..].fill(0);
            }
        }
        let mut object = open.load()?;
        let mut map = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps)
            .expect("every object of ours has one registration");
        let link = map.attach_struct_ops()?;
        Ok(Loaded {
            name: name.to_owned(),
            vanishes: held == Held::ByLink,
            link: Some(link),
            _object: object,
        })
    }

    fn refused(&self, source: libbpf_rs::Error, listening: &Listening) -> LoadError {
        let release = kernel().release.clone();
        LoadError::Refused { name: self.name.to_owned(), release, source, log: listening.heard() }
    }
}

/// What keeps a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// A link, which this process holds (since 6.4).
    ByLink,
    /// The map itself, until its element is deleted.
    ByMap,
}

/// Writes another name into the image of `struct tcp_congestion_ops`, whose pointers are still zero.
fn rename(image: &mut [u8], from: &str, to: &str) {
    const LENGTH: usize = 16; // TCP_CA_NAME_MAX
    let field = |name: &str| {
        let mut field = [0; LENGTH];
        field[..name.len()].copy_from_slice(name.as_bytes());
        field
    };
    let old = field(from);
    let place = image.windows(LENGTH).position(|window| window == old);
    let place = place.expect("an object has its control's name");
    image[place..place + LENGTH].copy_from_slice(&field(to));
}

/// A control that is registered, until this is dropped.
///
/// Sockets that have chosen it keep it until they are closed. If the process is killed the registration goes with it,
/// provided [`Loaded::vanishes`].
#[derive(Debug)]
pub struct Loaded {
    name: String,
    vanishes: bool,
    /// Dropped first: this unregisters.
    link: Option<Link>,
    _object: Object,
}

impl Loaded {
    /// The name that sockets choose (`TCP_CONGESTION`).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it goes with this process even if that is killed: on Linux 6.4 and newer. Before, it stays, and
    /// [`unload`](crate::unload()) removes it.
    pub fn vanishes(&self) -> bool {
        self.vanishes
    }

    /// Lets go of a registration without a link, which then stays: for tests of what is left behind.
    #[doc(hidden)]
    pub fn abandon(mut self) {
        if let Some(link) = &mut self.link {
            link.disconnect();
        }
    }

    /// Removes it now, and makes sure of it.
    ///
    /// # Errors
    /// If sockets can still choose it.
    pub fn remove(mut self) -> Result<(), LoadError> {
        self.link = None;
        let deadline = Instant::now() + Duration::from_secs(2);
        while available().contains(&self.name) {
            if Instant::now() > deadline {
                return Err(LoadError::Remains { name: self.name.clone() });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_with_their_prefix() {
        for (index, control) in controls().iter().enumerate() {
            assert!(
                controls()[..index].iter().all(|other| other.name != control.name),
                "{} twice",
                control.name
            );
            // TCP_CA_NAME_MAX and BPF_OBJ_NAME_LEN are 16 with their final zero.
            assert!(control.registered_name(Naming::Beside).len() < 16, "{}", control.name);
            assert!(!control.about.is_empty() && !control.reference.is_empty(), "{}", control.name);
        }
    }

    #[test]
    fn another_name_replaces_the_whole_field() {
        let mut image = [0_u8; 64];
        image[48..51].copy_from_slice(b"bic");
        rename(&mut image, "bic", "ws_bic");
        assert_eq!(&image[48..], b"ws_bic\0\0\0\0\0\0\0\0\0\0");
        assert!(image[..48].iter().all(|byte| *byte == 0));
    }
}
