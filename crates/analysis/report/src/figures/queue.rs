//! Length of the queues.

use super::Draw;
use crate::figure::{Dash, Figure, From, Ink, Layer, Level};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::QueueSample;

pub(crate) struct Queue;

impl Draw for Queue {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let links = &source.recording.info.links;
        let mut layers = Vec::new();
        let mut largest = 0;
        let times = source.view.queue_samples.times();
        let backlog = source.view.queue_samples.column(QueueSample::backlog_bytes);
        for (place, (name, samples)) in source.queues().into_iter().enumerate() {
            let most = backlog[samples.clone()].iter().copied().fold(0.0, f64::max) as u64;
            // Queues that never held anything would only lengthen the legend; those of links are what one looks for.
            if most == 0 && !links.iter().any(|l| l.forward_queue == name) {
                continue;
            }
            largest = largest.max(most);
            let points = samples.clone().map(|i| (source.time.at(times[i]), backlog[i])).collect();
            layers.push(Layer::line(name, Ink::Place(place), Dash::Solid, points));
        }
        if largest == 0 && !layers.is_empty() {
            let note = "No queue held anything at any sample: neither the link nor a host made packets wait.";
            return Some(Figure::statement("queue", "Queues", note));
        }
        let buffers: Vec<u64> = links.iter().map(|l| l.buffer_bytes).filter(|b| *b > 0).collect();
        let mut note = "Bytes that wait.".to_string();
        let mut levels = Vec::new();
        for buffer in buffers {
            let text = Quantity::Bytes.text(buffer as f64);
            // A buffer far above the queue would press it flat against the axis.
            if buffer <= largest.saturating_mul(4) {
                levels.push(Level { at: buffer as f64, label: format!("buffer {text}") });
            } else {
                let beyond = format!(" The buffer holds {text}, beyond this axis.");
                // Links of one make have buffers of one size.
                if !note.contains(&beyond) {
                    note.push_str(&beyond);
                }
            }
        }
        let figure = Figure::over_time(
            "queue",
            "Queues",
            "Backlog",
            &Quantity::Bytes,
            From::Zero,
            &source.time,
            layers,
            levels,
        )?;
        Some(figure.with_note(note))
    }
}
