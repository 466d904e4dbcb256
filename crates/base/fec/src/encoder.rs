//! Groups of packets.

/// Puts packets into groups. `G` gathers the packets of a group.
#[derive(Debug, Clone)]
pub struct Encoder<G> {
    data: u32,
    layers: Vec<Layer<G>>,
    /// Packets so far since the groups were last closed.
    packets: u64,
    /// Bins that have a packet.
    open: usize,
}

#[derive(Debug, Clone)]
struct Layer<G> {
    bins: Vec<Bin<G>>,
}

/// A group whose repair packet has not been sent.
#[derive(Debug, Clone, Default)]
struct Bin<G> {
    group: G,
    packets: u32,
    /// Packets with which it is full.
    room: u32,
}

impl<G: Default + Clone> Encoder<G> {
    /// An encoder whose full groups have `data` packets, with a layer for each interleave.
    ///
    /// # Panics
    /// If `data` or an interleave is 0.
    pub fn new(data: u32, interleave: &[u32]) -> Encoder<G> {
        assert!(data > 0 && interleave.iter().all(|i| *i > 0), "a group has a packet, and a layer a bin");
        let layers = interleave.iter().map(|bins| Layer::new(data, *bins)).collect();
        Encoder { data, layers, packets: 0, open: 0 }
    }

    /// Enters a packet into its group of each layer by `add`. A bin that was full begins a new group with it, and the full one goes
    /// to `full`: its repair packet leaves behind this packet. So a burst as long as the interleave cannot take both the last packet
    /// of a group and its repair packet.
    pub fn enter(&mut self, mut add: impl FnMut(&mut G), full: &mut Vec<G>) {
        for layer in &mut self.layers {
            let place = (self.packets % layer.bins.len() as u64) as usize;
            let bin = &mut layer.bins[place];
            if bin.packets >= bin.room {
                full.push(std::mem::take(&mut bin.group));
                (bin.packets, bin.room) = (0, self.data);
            } else {
                self.open += usize::from(bin.packets == 0);
            }
            add(&mut bin.group);
            bin.packets += 1;
        }
        self.packets += 1;
    }

    /// Closes all groups: those that have packets go to `open`. Packets that come later begin new ones.
    pub fn flush(&mut self, open: &mut Vec<G>) {
        for layer in &mut self.layers {
            for bin in layer.bins.iter_mut().filter(|bin| bin.packets > 0) {
                open.push(std::mem::take(&mut bin.group));
            }
            *layer = Layer::new(self.data, layer.bins.len() as u32);
        }
        (self.packets, self.open) = (0, 0);
    }

    /// Whether no group has a packet.
    pub fn is_empty(&self) -> bool {
        self.open == 0
    }
}

impl<G: Default + Clone> Layer<G> {
    /// Bins whose first groups are of different sizes. Otherwise all bins would be full one after the other, and their repair
    /// packets would leave in a burst.
    fn new(data: u32, bins: u32) -> Layer<G> {
        let bin = |number| Bin { group: G::default(), packets: 0, room: data - number % data };
        Layer { bins: (0..bins).map(bin).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The groups of `packets` packets, with the number of the packet behind which each repair packet leaves.
    fn groups(data: u32, interleave: &[u32], packets: u64) -> Vec<(u64, Vec<u64>)> {
        let mut encoder: Encoder<Vec<u64>> = Encoder::new(data, interleave);
        let (mut found, mut full) = (Vec::new(), Vec::new());
        for number in 0..packets {
            encoder.enter(|group| group.push(number), &mut full);
            found.extend(full.drain(..).map(|group| (number, group)));
        }
        found
    }

    #[test]
    fn a_layer_of_interleave_1_protects_packets_that_follow_each_other() {
        assert_eq!(groups(3, &[1], 7), [(3, vec![0, 1, 2]), (6, vec![3, 4, 5])]);
    }

    #[test]
    fn a_layer_of_interleave_4_protects_every_fourth_packet() {
        let all = groups(3, &[4], 36);
        for (_, group) in &all {
            assert!(group.windows(2).all(|pair| pair[1] - pair[0] == 4), "{group:?}");
        }
        assert!(all.iter().filter(|(_, group)| group.len() == 3).count() >= 8, "{all:?}");
    }

    #[test]
    fn every_layer_sends_a_repair_packet_for_every_data_packets_without_bursts() {
        for interleave in [1, 7, 8, 20, 40] {
            let all = groups(8, &[interleave], 80_000);
            // The first groups are smaller, and the last ones wait.
            let first_groups = i64::from(interleave);
            let (repairs, expected) = (all.len() as i64, 10_000);
            assert!((repairs - expected).abs() <= first_groups, "interleave {interleave}: {repairs}");
            // Of 80 packets in a row, each layer ends at most as many groups as 80 packets fill, and one turn of the bins.
            let most =
                (0..1000).map(|i| all.iter().filter(|(at, _)| at / 80 == i).count()).max().unwrap_or(0);
            assert!(most <= 10 + 3, "interleave {interleave}: {most}");
        }
    }

    #[test]
    fn a_flush_closes_all_groups_and_begins_anew() {
        let mut encoder: Encoder<Vec<u64>> = Encoder::new(8, &[1, 4]);
        let (mut full, mut open) = (Vec::new(), Vec::new());
        assert!(encoder.is_empty());
        (0..2).for_each(|number| encoder.enter(|group| group.push(number), &mut full));
        encoder.flush(&mut open);
        assert_eq!(open, [vec![0, 1], vec![0], vec![1]]);
        assert!(encoder.is_empty() && full.is_empty());
        encoder.flush(&mut open);
        assert_eq!(open.len(), 3);
    }
}
