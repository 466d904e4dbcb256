//! What the counters of each driver mean, on recorded or listed names: which of them are to be counted as losses.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use wirespeed_host::drivers::{driver, drivers};
use wirespeed_host::{Meaning, Origin, Reading, Root, Snapshot, Way, source, take_of};
use wirespeed_record::Stage;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The interface's own and the driver's statistics of a fixture.
fn read(folder: &Path) -> Snapshot {
    let of = ["link", "ethtool"].map(|name| source(name).unwrap());
    let (snapshot, unavailable) = take_of(&mut Root::recorded(folder), &of);
    assert!(unavailable.is_empty(), "{}: {unavailable:?}", folder.display());
    assert!(!snapshot.readings.is_empty(), "{}: nothing was read", folder.display());
    snapshot
}

/// Counters of the driver that count losses of their own at a stage.
fn counts(snapshot: &Snapshot, stage: Stage, way: Way) -> Vec<&str> {
    let counted = |r: &&Reading| {
        r.source == "ethtool"
            && r.is_the_count_of_a_loss()
            && r.sense.stage == Some(stage)
            && r.sense.way == Some(way)
    };
    snapshot.readings.iter().filter(counted).map(|r| &*r.counter).collect()
}

#[test]
fn each_drivers_losses_of_the_receive_ring_are_counted_once() {
    let expected: &[(&str, &[&str])] = &[
        (
            "mlx5_core-6.12",
            &[
                "rx_wqe_err",
                "rx_oversize_pkts_sw_drop",
                "rx_out_of_buffer",
                "dev_internal_queue_oob",
                "rx_oversize_pkts_buffer",
                "rx_discards_phy",
                "rx_xsk_wqe_err",
                "rx_xsk_oversize_pkts_sw_drop",
            ],
        ),
        ("mlx4_en-6.12", &["rx_dropped", "rx_fifo_errors"]),
        ("ice-6.12", &["rx_dropped.nic"]),
        ("i40e-6.12", &["rx_dropped", "rx_missed_errors", "port.rx_discards"]),
        ("ixgbe-6.12", &["rx_missed_errors", "rx_no_dma_resources", "rx_fcoe_dropped"]),
        ("igb-6.12", &["rx_missed_errors", "rx_queue_0_drops", "rx_queue_1_drops"]),
        ("e1000e-6.12", &["rx_missed_errors"]),
        ("e1000-6.1", &["rx_missed_errors"]),
        (
            "bnxt_en-6.12",
            &[
                "[0]: rx_errors",
                "[1]: rx_errors",
                "rx_total_oom_discards",
                "rx_total_netpoll_discards",
                "rx_total_ring_discards",
                "rx_stat_discard",
            ],
        ),
        ("ena-6.12", &["queue_0_rx_skb_alloc_fail", "queue_1_rx_skb_alloc_fail"]),
        (
            "gve-6.12",
            &[
                "rx_dropped",
                "rx_queue_drop_cnt[0]",
                "rx_drops_packet_over_mru[0]",
                "rx_queue_drop_cnt[1]",
                "rx_drops_packet_over_mru[1]",
            ],
        ),
        ("virtio_net-6.1", &["rx_queue_0_drops", "rx_queue_1_drops"]),
        ("virtio_net-6.18", &["rx_drops"]),
        ("vmxnet3-6.12", &["pkts rx OOB", "drv dropped rx total", "pkts rx OOB", "drv dropped rx total"]),
        ("veth-6.18-sender", &["rx_queue_0_drops", "rx_queue_1_drops"]),
        ("unknown-be2net", &["rxpp_fifo_overflow_drop", "rx_input_fifo_overflow_drop"]),
    ];
    for (fixture, counters) in expected {
        let snapshot = read(&fixtures().join(fixture));
        assert_eq!(counts(&snapshot, Stage::RxRing, Way::Rx), *counters, "{fixture}");
    }
}

#[test]
fn each_drivers_losses_of_the_transmit_ring_are_counted_once() {
    let expected: &[(&str, &[&str])] = &[
        ("mlx5_core-6.12", &["tx_queue_dropped", "tx_discards_phy", "tx_errors_phy"]),
        ("mlx4_en-6.12", &["tx_errors", "tx_dropped"]),
        ("ice-6.12", &["tx_errors"]),
        ("i40e-6.12", &["tx_errors", "tx_dropped"]),
        ("ixgbe-6.12", &["tx_errors"]),
        ("igb-6.12", &["tx_carrier_errors", "tx_errors", "tx_fifo_errors"]),
        ("e1000e-6.12", &["tx_errors", "tx_carrier_errors", "tx_fifo_errors", "tx_dma_failed"]),
        (
            "bnxt_en-6.12",
            &[
                "[0]: tx_errors",
                "[1]: tx_errors",
                "tx_total_ring_discards",
                "tx_err",
                "tx_fifo_underruns",
                "tx_stat_discard",
            ],
        ),
        ("gve-6.12", &["tx_dropped", "tx_xdp_xmit_errors[0]", "tx_xdp_xmit_errors[1]"]),
        ("virtio_net-6.18", &["tx_xdp_tx_drops"]),
        (
            "vmxnet3-6.12",
            &["pkts tx err", "pkts tx discard", "drv dropped tx total", "xdp xmit err"].repeat(2),
        ),
    ];
    for (fixture, counters) in expected {
        let snapshot = read(&fixtures().join(fixture));
        assert_eq!(counts(&snapshot, Stage::TxRing, Way::Tx), *counters, "{fixture}");
    }
}

#[test]
fn pause_is_a_hint_on_every_driver_of_a_link_that_has_it() {
    // Received: the neighbour stops our transmit ring. Sent: our receive side was too slow.
    let expected = [
        ("mlx5_core-6.12", "rx_pause_ctrl_phy", "tx_prio3_pause"),
        ("mlx4_en-6.12", "rx_pause", "tx_pause_prio_3"),
        ("ice-6.12", "link_xoff_rx.nic", "tx_priority_3_xoff.nic"),
        ("i40e-6.12", "port.link_xoff_rx", "port.tx_priority_3_xoff_tx"),
        ("ixgbe-6.12", "rx_flow_control_xoff", "tx_pb_3_pxoff"),
        ("igb-6.12", "rx_flow_control_xoff", "tx_flow_control_xoff"),
        ("e1000e-6.12", "rx_flow_control_xoff", "tx_flow_control_xoff"),
        ("bnxt_en-6.12", "rx_pause_frames", "tx_pfc_ena_frames_pri3"),
    ];
    for (fixture, received, sent) in expected {
        let snapshot = read(&fixtures().join(fixture));
        for (counter, stage, way) in [(received, Stage::TxRing, Way::Rx), (sent, Stage::RxRing, Way::Tx)] {
            let found = snapshot.readings.iter().find(|r| r.counter == counter);
            let sense = found.unwrap_or_else(|| panic!("{fixture} has no {counter}")).sense;
            assert_eq!(
                (sense.meaning, sense.stage, sense.way, sense.origin),
                (Meaning::Hint, Some(stage), Some(way), Origin::Hardware),
                "{fixture}: {counter}"
            );
        }
    }
}

/// A name that speaks of trouble and has no row would be a loss that nobody sees.
#[test]
fn no_counter_that_speaks_of_loss_is_left_out() {
    const TROUBLE: &[&str] =
        &["drop", "discard", "miss", "err", "fail", "full", "pause", "xoff", "oob", "out_of", "no_buf"];
    /// Looked at, and of no use: XDP and TLS offload of other paths, and words inside other words.
    const HARMLESS: &[&str] = &[
        "xdp_tx",
        "xsk_err",
        "xsk_full",
        "ptp_cq",
        "xdp_redirect",
        "xdp_err",
        "xdp_full",
        "xdp_alloc",
        "tls_",
        "arfs",
        "ipsec",
        "pp_recycle",
        "tx_xdp",
        "hwtstamp",
        "cache_full",
        "timestamps",
        "deferred",
        "interrupt",
    ];
    let mut left_out = BTreeSet::new();
    let folders = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        for reading in read(&folder).readings {
            let name = &reading.counter;
            let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
            if reading.sense.meaning == Meaning::Unknown && has(TROUBLE) && !has(HARMLESS) {
                left_out.insert(format!("{}: {name}", folder.file_name().unwrap().to_string_lossy()));
            }
        }
    }
    left_out.retain(|name| !name.starts_with("unknown-"));
    assert!(left_out.is_empty(), "no row for\n{}", left_out.into_iter().collect::<Vec<_>>().join("\n"));
}

/// The interface's own statistics repeat those of the driver, where its table says so; without the driver's they count.
#[test]
fn the_interfaces_statistics_count_only_where_the_drivers_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("sys/class/net/eth0/statistics/rx_missed_errors", "7\n");
    write("ethtool/eth0/driver", "driver: mlx5_core\n");
    write("ethtool/eth0/statistics", "     rx_out_of_buffer: 7\n");
    let missed = |snapshot: &Snapshot| {
        let found = snapshot.readings.iter().find(|r| r.counter == "rx_missed_errors").unwrap();
        (found.value, found.duplicate_of.as_deref().map(str::to_owned))
    };
    assert_eq!(missed(&read(folder.path())), (7, Some("ethtool/rx_out_of_buffer".to_owned())));
    // EOPNOTSUPP.
    fs::remove_file(folder.path().join("ethtool/eth0/statistics")).unwrap();
    write("ethtool/eth0/statistics.errno", "95\n");
    assert_eq!(missed(&read(folder.path())), (7, None));
}

#[test]
fn every_driver_has_a_fixture_and_its_rows_are_used() {
    for driver in drivers() {
        let prefix = format!("{}-", driver.name);
        let folders = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
        let of_it = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(&prefix);
        assert!(folders.into_iter().any(|path| of_it(&path)), "no fixture of {}", driver.name);
    }
    let link: BTreeSet<_> = source("link").unwrap().rows().iter().map(|row| row.pattern).collect();
    for driver in drivers() {
        for row in driver.link {
            assert!(link.contains(row.pattern), "{}: rtnetlink has no {}", driver.name, row.pattern);
        }
    }
    assert!(driver("nobody's").is_none());
}

/// What a row says it repeats must be a counter that some row gives.
#[test]
fn duplicated_counters_exist() {
    let all = drivers().iter().flat_map(|driver| driver.rows.iter().chain(driver.link));
    let of_sources = wirespeed_host::sources().iter().flat_map(|source| source.rows());
    for row in all.clone().chain(of_sources) {
        for name in row.duplicate_of {
            let (source_name, pattern) = name
                .split_once('/')
                .unwrap_or_else(|| panic!("{}: `{name}` is not SOURCE/PATTERN", row.pattern));
            let known = if source_name == "ethtool" {
                all.clone().any(|row| row.pattern == pattern)
            } else {
                source(source_name).is_some_and(|s| s.rows().iter().any(|row| row.pattern == pattern))
            };
            assert!(known, "{}: there is no {name}", row.pattern);
        }
    }
}
