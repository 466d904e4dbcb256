//! From memory to the interface: what leaves is fetched over the link between the nodes, if it lies on another one, and
//! over the bus, which what comes may share.

use super::Host;
use super::cost::{part, times};
use crate::net::{Body, Train};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

impl Host {
    /// The interface fetches a train that is handed to it.
    pub(super) fn fetch(&mut self, train: &mut Train) {
        self.fetch_over_the_link(train);
        self.fetch_over_the_bus(train);
    }

    /// The writer's copy lies on the node it was made on: Linux takes pages for it from there (`skb_page_frag_refill`,
    /// `alloc_pages`), so that writing is never remote. An interface on another node reads it across.
    fn fetch_over_the_link(&mut self, train: &mut Train) {
        let Some((home, rate)) = self.far_home(train) else { return };
        let nic = self.settings.nic.node as usize;
        let free = self.interlink[home][nic];
        let each = rate.serialisation(Bytes::new(train.frame.into()));
        // Charged at once, although the packets may be handed over only later: until then others would find the link
        // taken that is idle.
        self.cross(home, nic, train.bytes(), self.now);
        train.at = train.at.max(free);
        if train.packets > 1 {
            train.gap = train.gap.max(each);
        }
    }

    /// The node on which a train's payload lies and the rate at which it comes from there, if that is not the interface's.
    fn far_home(&self, train: &Train) -> Option<(usize, Rate)> {
        let (Body::Data(_) | Body::Datagram { .. }) = &train.body else { return None };
        let rate = self.settings.machine.interlink?;
        let home = self.cores[self.threads[self.sockets.get(&train.flow)?.thread].core].node;
        (home != self.settings.nic.node as usize).then_some((home, rate))
    }

    /// How fast a train is fetched over a bus of its own is part of the interface's rate (`egress_rate`); where what comes
    /// takes half of the bus, packets are there later and further apart.
    fn fetch_over_the_bus(&mut self, train: &mut Train) {
        let nic = &self.settings.nic;
        let Some(rate) = nic.bus.filter(|_| nic.bus_shared) else { return };
        let each = rate.serialisation(Bytes::new(train.frame.into()));
        let begins = self.bus_out_free.max(self.now);
        let work = times(each, train.packets.into());
        let shared = share(begins, work, &mut self.bus_free);
        train.at = train.at.max(self.bus_out_free);
        if shared > Span::ZERO && train.packets > 1 {
            train.gap = train.gap.max(each + part(shared, train.packets));
        }
        self.bus_out_each = each + part(shared, train.packets);
        self.bus_out_free = begins + work + shared;
    }

    /// So many packets of a train are not sent, the queue having refused them or others before them: nothing fetches them.
    pub fn refuse(&mut self, train: &Train, packets: u64) {
        let back = |each| Span::ps(-times(each, packets).picoseconds());
        // Packets of one burst differ little in what they take of a bus.
        self.bus_out_free = self.bus_out_free + back(self.bus_out_each);
        if let Some((home, rate)) = self.far_home(train) {
            let free = &mut self.interlink[home][self.settings.nic.node as usize];
            *free = *free + back(rate.serialisation(Bytes::new(train.frame.into())));
        }
    }

    /// How much longer what comes takes on the bus from `begins` on for `work` of its own, because of what leaves.
    pub(super) fn share_bus(&mut self, begins: SimTime, work: Span) -> Span {
        if self.settings.nic.bus_shared { share(begins, work, &mut self.bus_out_free) } else { Span::ZERO }
    }
}

/// One way asks for `work` from `begins` on while the other has the bus busy until `other`: they take turns until one
/// has done, so that each is put off by what the other does meanwhile. Returns by how much.
fn share(begins: SimTime, work: Span, other: &mut SimTime) -> Span {
    let left = if *other > begins { *other - begins } else { Span::ZERO };
    let meanwhile = work.min(left);
    if meanwhile > Span::ZERO {
        *other = *other + meanwhile;
    }
    meanwhile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_take_turns_until_one_has_done() {
        let at = |nanoseconds| SimTime::START + Span::ns(nanoseconds);
        // 100 ns of work beside 300 ns: done after 200, and the other 100 later.
        let mut other = at(1_300);
        assert_eq!((share(at(1_000), Span::ns(100), &mut other), other), (Span::ns(100), at(1_400)));
        // Beside the 50 ns that are left of it: done after 150, the other after 100.
        assert_eq!((share(at(1_350), Span::ns(100), &mut other), other), (Span::ns(50), at(1_450)));
        assert_eq!((share(at(1_450), Span::ns(100), &mut other), other), (Span::ZERO, at(1_450)));
    }
}
