//! The largest value of a sliding window, in three samples (Nichols' windowed filter, as Linux' `win_minmax`).

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sample {
    at: u64,
    value: u64,
}

/// Best, second best and third best of ever newer parts of a window.
#[derive(Debug, Clone, Default)]
pub struct WindowedMax {
    best: [Sample; 3],
}

impl WindowedMax {
    /// The largest value of the window.
    pub fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes in `value` at time `at` (in any unit that does not fall), with a window of `length`.
    pub fn update(&mut self, length: u64, at: u64, value: u64) {
        let new = Sample { at, value };
        let best = &mut self.best;
        if value >= best[0].value || at - best[2].at > length {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].value {
            best[2] = new;
        }
        let age = at - best[0].at;
        if age > length {
            // The best is too old; the next takes its place, and if that is too old as well, the one after.
            *best = [best[1], best[2], new];
            if at - best[0].at > length {
                *best = [best[1], best[2], new];
            }
        } else if best[1].at == best[0].at && age > length / 4 {
            // A quarter of the window has gone by without a second choice: take one from this quarter.
            best[1] = new;
            best[2] = new;
        } else if best[2].at == best[1].at && age > length / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_counts_for_the_window_and_then_the_next_best() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        for at in 1..=10 {
            filter.update(10, at, 50);
            assert_eq!(filter.get(), 100);
        }
        filter.update(10, 11, 40);
        assert_eq!(filter.get(), 50);
        filter.update(10, 12, 200);
        assert_eq!(filter.get(), 200);
    }

    #[test]
    fn a_long_silence_forgets_everything() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        filter.update(10, 50, 1);
        assert_eq!(filter.get(), 1);
    }
}
