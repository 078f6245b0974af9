package org.rdmapanama.samples;

import java.io.IOException;
import org.rdmapanama.VerbsArena;

/** A way for the two sides of a transfer to find each other: by address, or over TCP. Threads: one. */
interface Meeting {
    /** Connects to the server, and retries while none is listening, so that both sides may be started at once. */
    TransferConnection connect(VerbsArena arena, TransferLink link) throws IOException, InterruptedException;

    /** Starts to listen, and prints that. */
    Entrance listen(TransferServer server) throws IOException;
}
