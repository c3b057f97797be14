//! Code for other programs: types that build and parse the names of keys, and read and write what is in them.
//!
//! Each language has a runtime, which is the same for every set of keys, and declarations that use it. The code needs no
//! library: it makes names, texts and bytes, which any Redis client takes and gives.
//!
//! In reading order: `model` says what there is to generate, `names` what it is called, `automaton` turns patterns into
//! tables, and each language has a module that prints the model, with `print` for what several share.

mod automaton;
mod model;
mod names;
mod print;

mod go;
mod python;
mod rust;
mod typescript;

use crate::family::Family;
use crate::key::Layout;
use model::Model;

/// A language that code can be generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, with nothing but its standard library.
    Rust,
    /// TypeScript, for Node and browsers.
    TypeScript,
    /// Python from 3.11.
    Python,
    /// Go from 1.18.
    Go,
}

/// A file of generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Its name.
    pub file: String,
    /// What is in it.
    pub text: String,
}

/// Code for these families and channels; the second file, if there is one, has the tests. The same declarations give
/// the same text.
///
/// `name` is that of the module and its file.
pub fn generate(
    language: Language,
    name: &str,
    families: &[&'static Family],
    layout: Layout,
) -> Vec<Generated> {
    let model = Model::new(name, families, layout);
    match language {
        Language::Rust => rust::files(&model),
        Language::TypeScript => typescript::files(&model),
        Language::Python => python::files(&model),
        Language::Go => go::files(&model),
    }
}

/// A name for a module with the keys of this document.
pub fn module_name(document: &str) -> String {
    names::snake(document)
}

#[cfg(test)]
mod tests;
