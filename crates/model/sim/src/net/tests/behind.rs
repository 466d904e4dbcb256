//! Outages, the policer and the port behind the queue.

use super::reference::{assert_conserved, data, packets, run};
use crate::net::{Link, LinkSettings, PolicerSettings, PortLimitSettings};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// 1000 bytes last 1 us.
fn settings() -> LinkSettings {
    let mut settings = LinkSettings::new(Rate::gbit(8), Span::us(100), Bytes::mib(100));
    settings.train_limit = 64;
    settings
}

fn us(n: i64) -> SimTime {
    SimTime::START + Span::us(n)
}

#[test]
fn packet_that_ends_within_an_outage_is_lost() {
    for size in [1, 10, 40] {
        let mut settings = settings();
        settings.outages = vec![(us(5), us(8)), (us(30), us(31))];
        let mut link = Link::new(&settings);
        let trains = (0..40 / size).map(|i| data(0, u64::from(i * size), size, 1000, i64::from(i), 0));
        let numbers: Vec<u64> = packets(&run(&mut link, trains)).into_iter().map(|p| p.1).collect();
        // Packet i ends at i + 1 us; the end of an outage no longer belongs to it.
        let expected: Vec<u64> = (0..40).filter(|i| ![4, 5, 6, 29].contains(i)).collect();
        assert_eq!(numbers, expected);
        let s = link.statistics(us(200));
        assert_eq!((s.lost_packets, s.delivered_packets, s.sent_packets), (4, 36, 40));
    }
}

#[test]
fn a_policer_drops_before_the_queue() {
    for size in [1, 20] {
        let mut settings = settings();
        settings.policer = Some(PolicerSettings { rate: Rate::gbit(4), burst: Bytes::new(10_000) });
        let mut link = Link::new(&settings);
        // At the link's rate, twice the policer's: the burst lasts for 20 packets, then every second passes.
        let trains = (0..200 / size)
            .map(|i| data(0, u64::from(i * size), size, 1000, i64::from(i * size) * 1_000_000, 1_000_000));
        let numbers: Vec<u64> = packets(&run(&mut link, trains)).into_iter().map(|p| p.1).collect();
        assert!(numbers.len().abs_diff(110) <= 1, "{}", numbers.len());
        assert_eq!(numbers[..19], (0..19).collect::<Vec<u64>>());
        let s = link.statistics(us(1000));
        assert_conserved(200, &s);
        assert_eq!((s.overflow_packets, s.overlimits), (200 - numbers.len() as u64, s.overflow_packets));
    }
}

/// onl-wiki: a port of 1 Gbit/s carries 970 Mbit/s and drops the rest behind its queue; at 960 Mbit/s it does not.
#[test]
fn a_port_drops_what_it_cannot_carry_unseen_by_its_queue() {
    for (mbit, lossy) in [(1000, true), (960, false)] {
        let mut settings = settings();
        settings.rate = Rate::mbit(mbit);
        settings.port_limit = Some(PortLimitSettings { rate: Rate::mbit(970), burst: Bytes::new(30_000) });
        let mut link = Link::new(&settings);
        let service = settings.rate.serialisation(Bytes::new(1514)).picoseconds();
        let trains = (0..1000).map(|i| data(0, i * 64, 64, 1514, i as i64 * 64 * service, service));
        let out = run(&mut link, trains);
        let end = us(2_000_000);
        let s = link.statistics(end);
        assert_conserved(64_000, &s);
        assert_eq!((s.overflow_packets, s.sent_packets), (0, 64_000), "nothing is to be seen at the queue");
        assert_eq!(s.delivered_packets, packets(&out).len() as u64);
        if lossy {
            // 3 of 100, but for the 20 packets of the burst.
            assert!(s.lost_packets.abs_diff(1920 - 20) <= 2, "{s:?}");
        } else {
            assert_eq!(s.lost_packets, 0);
        }
    }
}
