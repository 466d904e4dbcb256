//! One setting of the path, and the scenario that simulates it.

use crate::experiment::Length;
use crate::host;
use crate::question::Question;
use serde::Serialize;
use wirespeed_scenario::{Scenario, Table};
use wirespeed_units::{Bytes, Span};

/// Flows that are left when a path is scaled down.
const LEAST_SCALED_FLOWS: u32 = 4;

/// Round trips within which all flows start, for each repetition. A shift by less than a round trip decides which flow meets a full
/// buffer.
const STARTS: [f64; 3] = [0.37, 0.61, 0.83];

/// One setting of the path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Congestion control.
    pub congestion: String,
    /// Number of flows.
    pub flows: u32,
    /// Probability that the path loses a packet.
    pub loss: f64,
    /// Round-trip time without queues.
    pub rtt: Span,
    /// Buffer before the slowest link.
    pub buffer: Bytes,
    /// Largest IP packet.
    pub mtu: Bytes,
    /// Cores of each host that serve flows and interrupts; `None`: those that its preset has for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
}

impl Point {
    /// The path of the question.
    pub fn of(question: &Question, congestion: &str, flows: u32) -> Point {
        Point {
            congestion: congestion.into(),
            flows,
            loss: question.loss,
            rtt: question.rtt,
            buffer: question.buffer,
            mtu: question.mtu,
            cores: None,
        }
    }

    /// How many times smaller the simulated path is: rate, buffer and number of flows are divided by it, and goodput is multiplied.
    /// A share of the flows on the same share of the path behaves like all of them (Pan, Prabhakar and Psounis, "SHRiNK",
    /// IEEE/ACM Transactions on Networking 13(5), 2005). Hosts with a machine are not scaled.
    pub fn scale(&self, question: &Question) -> u32 {
        if question.host.is_some() {
            return 1;
        }
        let most = (self.flows / LEAST_SCALED_FLOWS).max(1);
        (1..=most).rev().find(|scale| self.flows.is_multiple_of(*scale)).unwrap_or(1)
    }

    /// Name of its files: the settings, with nothing that a file system or a shell minds.
    pub fn name(&self) -> String {
        let Point { congestion, flows, loss, rtt, buffer, mtu, cores } = self;
        let cores = cores.map_or_else(String::new, |count| format!("-cores{count}"));
        let us = rtt.nanoseconds() as f64 / 1e3;
        format!("{congestion}-{flows}-loss{loss:e}-rtt{us}us-buffer{}-mtu{}{cores}", buffer.get(), mtu.get())
    }

    /// The scenario of repetition `repeat`.
    pub fn scenario(&self, question: &Question, length: Length, repeat: u32) -> Scenario {
        let scale = self.scale(question);
        let flows = self.flows / scale;
        let share = u64::from(scale);
        let rate = wirespeed_units::Rate::bps(question.rate.get() / share);
        let path = Table::new()
            .set("rate", rate)
            .set("rtt", self.rtt)
            .set("loss", self.loss)
            .set("buffer", Bytes::new((self.buffer.get() / share).max(1)));
        let limit = self.cores.zip(host::hardware(question));
        let host = || {
            let preset = question.host.as_deref().unwrap_or("tuned");
            let host = Table::new().set("preset", preset).set("mtu", self.mtu);
            match &limit {
                Some((count, hardware)) => host::limited(host, hardware, *count),
                None => host,
            }
        };
        let starts = STARTS[repeat as usize % STARTS.len()] / f64::from(flows);
        let stagger = Span::ps((self.rtt.picoseconds() as f64 * starts) as i64).max(Span::ns(1));
        let flow = Table::new()
            .set("congestion", self.congestion.as_str())
            .set("count", flows)
            .set("stagger", stagger);
        let run = Table::new()
            .set("duration", length.duration)
            .set("omit", length.omit)
            .set("sample", length.sample())
            .set("seed", repeat + 1);
        let scaled = if scale > 1 {
            format!(" Scaled down: {flows} of {} flows, on 1/{scale} of rate and buffer.", self.flows)
        } else {
            String::new()
        };
        Scenario::new("plan")
            .about(&format!("{} of a plan.{scaled}", self.name()))
            .comment("Written by wirespeed plan.")
            .path(path)
            .host("sender", host())
            .host("receiver", host())
            .flow(flow)
            .run(run)
    }
}
