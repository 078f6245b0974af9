package org.rdmapanama.internal;

import java.nio.ByteOrder;

/** Conversion between the byte order of this machine and that of the network; both directions are the same. */
public final class NetworkOrder {
    private static final boolean SAME = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;

    private NetworkOrder() {}

    public static int convert(int value) {
        return SAME ? value : Integer.reverseBytes(value);
    }

    public static short convert(short value) {
        return SAME ? value : Short.reverseBytes(value);
    }
}
