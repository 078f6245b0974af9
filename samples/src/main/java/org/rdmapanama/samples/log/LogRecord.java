package org.rdmapanama.samples.log;

import java.nio.charset.StandardCharsets;

/**
 * A record of the log.
 *
 * @param index its number, from 1
 * @param term the term of the primary that appended it
 * @param payload the bytes; a primary that takes over appends a record of no bytes, which consumers may skip
 */
record LogRecord(long index, long term, byte[] payload) {
    String text() {
        return new String(payload, StandardCharsets.UTF_8);
    }
}
