//! Any bytes as the output of an agent, in any pieces: nothing panics, and what is understood depends neither
//! on the pieces nor on whether secrets were looked for that are not there.
//!
//! The first byte says how the rest is cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use waypost_agent::{
    Adapter,
    protocol::Scanner,
    stream::{Placed, Reader},
};
use waypost_redact::{Form, Searcher, Sieve};

fuzz_target!(|data: &[u8]| {
    let Some((cut, bytes)) = data.split_first() else { return };
    let cut = usize::from(*cut).max(1);
    let mut whole = Scanner::new();
    let mut want = whole.push(bytes);
    want.extend(whole.finish());
    let mut scanner = Scanner::new();
    let mut got: Vec<_> = bytes.chunks(cut).flat_map(|piece| scanner.push(piece)).collect();
    got.extend(scanner.finish());
    assert_eq!(got, want);
    for adapter in Adapter::all() {
        assert_eq!(said(adapter, bytes, cut), said(adapter, bytes, usize::MAX), "{adapter}");
    }
    for form in [Form::Text, Form::Lines] {
        let searcher = Arc::new(Searcher::of(["canary-4711", "\"quoted\\value"]));
        let clean = sieved(&searcher, form, bytes, cut);
        assert_eq!(clean, sieved(&searcher, form, bytes, usize::MAX));
        let text = String::from_utf8_lossy(&clean);
        assert!(!text.contains("canary-4711"), "{text}");
    }
});

fn said(adapter: Adapter, bytes: &[u8], cut: usize) -> Vec<Placed> {
    let mut reader = Reader::new(adapter);
    let mut said: Vec<_> = bytes.chunks(cut).flat_map(|piece| reader.read_placed(piece)).collect();
    said.extend(reader.finish_placed());
    said
}

fn sieved(searcher: &Arc<Searcher>, form: Form, bytes: &[u8], cut: usize) -> Vec<u8> {
    let mut sieve = Sieve::new(Arc::clone(searcher), form);
    let mut clean = Vec::new();
    for piece in bytes.chunks(cut) {
        sieve.push(piece, |bytes| clean.extend_from_slice(bytes));
    }
    sieve.finish(|bytes| clean.extend_from_slice(bytes));
    clean
}
