//! Fewer points, same picture: the least and the largest value of every stretch stay, where they are.

/// A point of a line; a `y` that is not a number is a gap.
pub(crate) type Point = (f64, f64);

/// At most about `limit` points of `points`. Within each of `limit / 2` equal stretches the least and the largest value are
/// kept in their order, so a dip of one sample in ten seconds stays visible. A stretch of gaps stays a gap.
pub(crate) fn thin(points: Vec<Point>, limit: usize) -> Vec<Point> {
    let limit = limit.max(4);
    if points.len() <= limit {
        return points;
    }
    let stretches = limit / 2;
    let mut kept = Vec::with_capacity(limit + 2);
    for stretch in 0..stretches {
        let from = stretch * points.len() / stretches;
        let to = (stretch + 1) * points.len() / stretches;
        let (mut least, mut largest) = (None::<usize>, None::<usize>);
        for index in from..to {
            let y = points[index].1;
            if y.is_nan() {
                continue;
            }
            if least.is_none_or(|i| y < points[i].1) {
                least = Some(index);
            }
            if largest.is_none_or(|i| y > points[i].1) {
                largest = Some(index);
            }
        }
        match (least, largest) {
            (Some(a), Some(b)) if a == b => kept.push(points[a]),
            (Some(a), Some(b)) => kept.extend([points[a.min(b)], points[a.max(b)]]),
            _ => kept.push(points[from]),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dip_of_one_sample_survives() {
        let mut points: Vec<Point> = (0..60_000).map(|i| (i as f64, 100.0 + (i % 7) as f64)).collect();
        points[43_211].1 = 4.0;
        points[17].1 = 900.0;
        let thinned = thin(points, 2000);
        assert!(thinned.len() <= 2000, "{}", thinned.len());
        assert!(thinned.contains(&(43_211.0, 4.0)) && thinned.contains(&(17.0, 900.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn short_lines_stay_and_gaps_stay_gaps() {
        let short = vec![(0.0, 1.0), (1.0, 2.0)];
        assert_eq!(thin(short.clone(), 100), short);
        let gap: Vec<Point> =
            (0..1000).map(|i| (i as f64, if (300..700).contains(&i) { f64::NAN } else { 1.0 })).collect();
        let thinned = thin(gap, 100);
        assert!(thinned.iter().any(|p| p.1.is_nan()));
        assert!(thinned.iter().filter(|p| !p.1.is_nan()).all(|p| !(310.0..690.0).contains(&p.0)));
    }
}
