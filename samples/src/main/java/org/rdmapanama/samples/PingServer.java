package org.rdmapanama.samples;

import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.rdmapanama.memory.RemoteMemory;

/** The server side of ping: reads the client's data, and writes it back. */
final class PingServer {
    private final PingLink link;
    private final boolean validate;
    private final Consumer<String> show;
    private int pings;

    /** Creates the server. The consumer receives the text of each ping; it may be null. */
    PingServer(PingLink link, boolean validate, Consumer<String> show) {
        this.link = link;
        this.validate = validate;
        this.show = show;
    }

    /**
     * Serves until the client ends the connection.
     *
     * @return the number of pings
     */
    int serve() throws InterruptedException {
        for (RemoteMemory from = link.message(); from != null; from = link.message()) {
            if (from.length() < 1 || from.length() > PingData.MAX_BYTES) {
                throw new Failure("the client " + link.remoteAddress() + " offers " + from.length()
                        + " bytes; ping takes 1 to " + PingData.MAX_BYTES);
            }
            long size = from.length();
            link.read(from, size);
            MemorySegment data = link.source().asSlice(0, size);
            int wrong = validate ? PingData.firstWrongByte(data, pings) : -1;
            if (wrong >= 0) {
                throw new Failure(
                        "ping " + pings + " of " + link.remoteAddress() + " is corrupted from byte " + wrong + " on");
            }
            if (show != null) {
                show.accept(PingData.text(data));
            }
            link.goAhead();

            RemoteMemory into = link.message();
            if (into == null) {
                throw new Failure("the client disconnected in the middle of ping " + pings);
            }
            // Up to the zero that ends the text, as rping does.
            long length = Math.min(PingData.length(data) + 1L, size);
            if (into.length() < length) {
                throw new Failure("the client " + link.remoteAddress() + " offers a buffer that is too small for the"
                        + " data it sent");
            }
            link.write(into, length);
            link.goAhead();
            pings++;
        }
        return pings;
    }
}
