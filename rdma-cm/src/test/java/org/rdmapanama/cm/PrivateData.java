package org.rdmapanama.cm;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Texts as private data of connections. */
final class PrivateData {
    private PrivateData() {}

    /** What a text looks like that came as private data: the connection manager pads it with zeros. */
    static String text(byte[] privateData) {
        int end = 0;
        while (end < privateData.length && privateData[end] != 0) {
            end++;
        }
        return new String(Arrays.copyOf(privateData, end), StandardCharsets.UTF_8);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
