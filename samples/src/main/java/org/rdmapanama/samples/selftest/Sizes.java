package org.rdmapanama.samples.selftest;

import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.rdmapanama.samples.ByteSize;

/** The sizes of messages at whose boundaries devices behave differently. */
final class Sizes {
    /** The largest message, in bytes. */
    static final int MAX = 1 << 20;

    private static final int MEDIUM = 1 << 16;
    private static final int READABLE = 1 << 14;

    private Sizes() {}

    /** Returns the sizes for messages of one or more packets. */
    static List<Integer> ofMessages(int inlineLimit, int mtu) {
        return sorted(0, 1, inlineLimit, inlineLimit + 1, mtu - 1, mtu, mtu + 1, MEDIUM, MAX);
    }

    /** Returns the sizes for messages of one packet. */
    static List<Integer> ofDatagrams(int inlineLimit, int mtu) {
        return sorted(0, 1, inlineLimit, inlineLimit + 1, mtu - 1, mtu);
    }

    /** Returns the sizes for messages whose data is part of the request. */
    static List<Integer> ofInline(int inlineLimit) {
        return sorted(0, 1, inlineLimit - 1, inlineLimit);
    }

    private static List<Integer> sorted(Integer... sizes) {
        return List.copyOf(new TreeSet<>(List.of(sizes)));
    }

    static String text(List<Integer> sizes) {
        return sizes.stream()
                .map(size -> size < READABLE ? size.toString() : ByteSize.format(size))
                .collect(Collectors.joining(", "));
    }
}
