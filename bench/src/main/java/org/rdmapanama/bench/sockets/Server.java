package org.rdmapanama.bench.sockets;

import java.io.Closeable;

/** The other end: each connection to one port echoes, and each one to the other port takes chunks. */
interface Server extends Closeable {
    int echoPort();

    int chunkPort();
}
