//! keyrack over HTTP: health, metrics and the pages.
