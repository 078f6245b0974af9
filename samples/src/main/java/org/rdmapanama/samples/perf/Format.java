package org.rdmapanama.samples.perf;

/** How results are printed, in the spelling of the command line. */
enum Format {
    text,
    json,
    csv
}
