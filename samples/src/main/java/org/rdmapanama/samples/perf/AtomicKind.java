package org.rdmapanama.samples.perf;

/** The two atomic operations, spelled as in perftest. */
enum AtomicKind {
    CMP_AND_SWAP,
    FETCH_AND_ADD,
}
