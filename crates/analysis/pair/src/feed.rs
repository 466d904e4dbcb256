//! The packets of a file, one at a time.

use crate::survey::Survey;
use wirespeed_capture::{CaptureError, Input, Observer, Packet, Reader, Settings, Tracker};

/// A capture that is read packet by packet.
pub(crate) struct Feed {
    reader: Reader,
    tracker: Option<Tracker>,
    next: Option<Packet>,
}

impl Feed {
    pub(crate) fn open(input: Input<'_>, settings: &Settings) -> Result<Feed, CaptureError> {
        let mut reader = Reader::open(input, settings.tunnels.clone())?;
        let next = reader.next_packet();
        Ok(Feed { reader, tracker: Some(Tracker::new(settings.limits.clone())), next })
    }

    /// Number in the file of the next packet.
    pub(crate) fn next(&self) -> Option<u64> {
        self.next.as_ref().map(|packet| packet.ordinal)
    }

    /// Gives the next packet to `observer`, and returns its time. `None` at the end, after all connections ended.
    pub(crate) fn step(&mut self, observer: &mut impl Observer) -> Option<i64> {
        let Some(packet) = self.next.take() else {
            if let Some(tracker) = self.tracker.take() {
                tracker.finish(observer);
            }
            return None;
        };
        if let Some(tracker) = &mut self.tracker {
            tracker.packet(&packet, observer);
        }
        self.next = self.reader.next_packet();
        Some(packet.time_ns)
    }
}

/// Two observers of the first pass, and one of the caller.
pub(crate) struct FirstPass<'a> {
    pub analyzer: wirespeed_trace::Analyzer,
    pub survey: Survey,
    pub extra: &'a mut dyn Observer,
}

impl Observer for FirstPass<'_> {
    fn packet(&mut self, captured: &wirespeed_capture::Captured, connection: &wirespeed_capture::Connection) {
        self.analyzer.packet(captured, connection);
        self.survey.packet(captured, connection);
        self.extra.packet(captured, connection);
    }

    fn ended(&mut self, connection: &wirespeed_capture::Connection, reason: wirespeed_capture::EndReason) {
        self.analyzer.ended(connection, reason);
        self.survey.ended(connection, reason);
        self.extra.ended(connection, reason);
    }
}
