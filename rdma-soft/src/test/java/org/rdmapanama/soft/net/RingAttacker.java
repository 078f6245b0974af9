package org.rdmapanama.soft.net;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import org.rdmapanama.soft.memory.Memory;
import org.rdmapanama.soft.memory.NativeBlock;

/**
 * The other end of a link in shared memory to a device of this process, which writes what a test wants. Callers must hold the
 * lock of the device.
 */
public final class RingAttacker implements AutoCloseable {
    private final RingFile file;
    private final RingWriter writer;
    private final RingReader reader;
    private final NativeBlock answer = new NativeBlock(RingReader.MOST_BYTES);
    private final RingLink link;

    /** Links a device to a socket, as if that belonged to another process that has agreed on it. */
    public RingAttacker(Wire wire, InetSocketAddress from, Path directory) throws IOException {
        RingFile.Key key = RingFile.Key.random();
        file = RingFile.create(directory, key);
        RingFile theirs = RingFile.open(directory, key);
        file.unlink();
        Memory.putInt(file.side(0) + RingFile.PAYLOAD, RingReader.MOST_PAYLOAD_BYTES);
        Memory.putIntRelease(file.side(0) + RingFile.STATE, RingFile.USED);
        writer = new RingWriter(file.ring(0), RingFile.RING_BYTES, file.side(1) + RingFile.POSITION);
        reader = new RingReader(file.ring(1), RingFile.RING_BYTES, file.side(0) + RingFile.POSITION);
        Peer peer = wire.peer(from);
        wire.links().add(theirs, key, 1, peer, 0);
        link = peer.link(0);
    }

    /** Sends a packet. Returns false if there is no room. */
    public boolean send(long packet, int bytes) {
        long begun = writer.begin();
        if (begun > 0) {
            Memory.copy(packet, begun, bytes);
            writer.send(bytes);
        }
        return begun > 0;
    }

    /** Takes the answers, so that there is room for more. */
    public void takeAnswers() {
        while (reader.take(answer.address()) > 0) {
            // They are of no interest.
        }
    }

    /** Returns whether the device uses the link. */
    public boolean isUsed() {
        return !link.isOver();
    }

    @Override
    public void close() {
        file.end(0);
        file.close();
        answer.free();
    }
}
