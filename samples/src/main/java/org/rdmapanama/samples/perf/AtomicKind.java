package org.rdmapanama.samples.perf;

/** The two atomic operations, in perftest's spelling. */
enum AtomicKind {
    CMP_AND_SWAP,
    FETCH_AND_ADD,
}
