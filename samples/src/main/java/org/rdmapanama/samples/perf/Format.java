package org.rdmapanama.samples.perf;

/** The output formats, spelled as on the command line. */
enum Format {
    text,
    json,
    csv
}
