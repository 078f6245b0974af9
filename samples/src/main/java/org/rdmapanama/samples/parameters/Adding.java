package org.rdmapanama.samples.parameters;

import java.util.Locale;

/** Who adds to the weights of a server. It is one or the other: a device and a processor need not see each other's steps. */
public enum Adding {
    /** The device of the server, for clients that use RDMA fetch-and-add: one for each weight. */
    ATOMICS,
    /** The processor of the server, for clients that send what is to be added. */
    SENT;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
