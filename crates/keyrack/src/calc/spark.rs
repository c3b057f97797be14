//! Series as rows of bars.

/// The height of a row of bars.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The values as bars from the least to the most; a point stands for none.
pub(super) fn line(values: &[Option<f64>]) -> String {
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let least = known().fold(f64::INFINITY, f64::min);
    let most = known().fold(f64::NEG_INFINITY, f64::max);
    let bar = |value: &Option<f64>| match value {
        None => '·',
        Some(_) if most <= least => BARS[3],
        Some(value) => {
            let height = (value - least) / (most - least) * 7.0;
            BARS[(height.round() as usize).min(7)]
        }
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn bars_go_from_the_least_to_the_most() {
        assert_eq!(line(&[Some(-1.0), None, Some(0.0), Some(6.0)]), "▁·▂█");
        assert_eq!(line(&[Some(5.0), Some(5.0)]), "▄▄");
        assert_eq!(line(&[]), "");
    }
}
