//! In which form somebody wants the metrics.

use axum::http::{HeaderMap, header};

/// The forms that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// OpenMetrics.
    Text,
    /// Messages of Prometheus, each with its length before it.
    Protobuf,
}

impl Form {
    /// What the header `Accept` likes best. Only who names the messages gets them; who likes both as much gets the first.
    pub(super) fn asked(headers: &HeaderMap) -> Form {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges = values.flat_map(|value| value.split(',')).map(range);
        let mut best = (Form::Text, 0.0);
        for (form, quality) in ranges {
            if quality > best.1 {
                best = (form, quality);
            }
        }
        best.0
    }
}

/// The form that a media range means, and how much it is wanted: from 0 to 1.
fn range(text: &str) -> (Form, f64) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let (mut is_family, mut is_delimited, mut quality) = (false, false, 1.0);
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        match name.to_ascii_lowercase().as_str() {
            "proto" => is_family = value == "io.prometheus.client.MetricFamily",
            "encoding" => is_delimited = value.eq_ignore_ascii_case("delimited"),
            // What is no number is no wish.
            "q" => quality = value.parse().unwrap_or(0.0),
            _ => {}
        }
    }
    if !kind.eq_ignore_ascii_case("application/vnd.google.protobuf") {
        (Form::Text, quality)
    } else if is_family && is_delimited {
        (Form::Protobuf, quality)
    } else {
        (Form::Text, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const FAMILY: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

    fn asked(values: &[&str]) -> Form {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = value.replace("FAMILY", FAMILY);
            headers.append(header::ACCEPT, HeaderValue::try_from(value).expect("a header"));
        }
        Form::asked(&headers)
    }

    #[test]
    fn who_likes_messages_best_gets_them() {
        for accept in [
            "FAMILY",
            // Prometheus 2.42 with native histograms, and Prometheus 3.
            "FAMILY,application/openmetrics-text;version=1.0.0;q=0.8,\
             application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "FAMILY;q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.2",
            "text/plain;q=0.3, FAMILY; q=0.4",
            "FAMILY;q=1, text/plain;q=1",
            "Application/Vnd.Google.Protobuf; Encoding=\"delimited\"; \
             proto=\"io.prometheus.client.MetricFamily\", */*;q=0.9",
        ] {
            assert_eq!(asked(&[accept]), Form::Protobuf, "{accept}");
        }
        assert_eq!(asked(&["text/plain;q=0.5", "FAMILY"]), Form::Protobuf, "in two headers");
    }

    #[test]
    fn everybody_else_gets_text() {
        assert_eq!(asked(&[]), Form::Text);
        for accept in [
            "",
            "*/*",
            "application/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/openmetrics-text;version=1.0.0,FAMILY;q=0.7",
            "*/*, FAMILY",
            "FAMILY;q=0",
            "FAMILY;q=much",
            "application/vnd.google.protobuf",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
            "application/vnd.google.protobuf;proto=other.Message;encoding=delimited",
        ] {
            assert_eq!(asked(&[accept]), Form::Text, "{accept}");
        }
    }
}
