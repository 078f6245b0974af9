package org.rdmapanama.samples;

import java.io.IOException;
import java.io.PrintWriter;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.VerbsException;
import org.rdmapanama.memory.AccessFlag;

/** The side of a transfer that lends its memory and checks what arrives. Threads: that of the link. */
final class TransferServer {
    private final TransferLink link;
    private final PrintWriter out;

    TransferServer(TransferLink link, PrintWriter out) {
        this.link = link;
        this.out = out;
    }

    void run(long limit) throws IOException, InterruptedException {
        link.answerGreeting();
        long size = link.receive(ControlMessage.Type.HELLO).size();
        if (size < 1 || size > limit) {
            throw refuse(ByteSize.format(size) + " requested, " + ByteSize.format(limit) + " allowed (--limit)", null);
        }
        MemoryRegion region = lend(size);
        say("own memory:     %s at 0x%x, rkey 0x%x".formatted(ByteSize.format(size), region.address(), region.rkey()));
        link.send(ControlMessage.ready(region.remote()));

        int announced = link.receive(ControlMessage.Type.WRITTEN).checksum();
        int found = Checksum.of(region.memory(), link::pause);
        link.send(ControlMessage.verified(size, found));
        if (found != announced) {
            throw new Failure("the data written by the peer is corrupted: CRC32C " + Checksum.format(found)
                    + " instead of " + Checksum.format(announced));
        }
        say("checksum:       CRC32C " + Checksum.format(found) + ", correct");

        link.receive(ControlMessage.Type.DONE);
        link.sendLast(ControlMessage.done());
        say("done:           the peer wrote and read " + ByteSize.format(size));
    }

    private MemoryRegion lend(long size) throws IOException, InterruptedException {
        try {
            return link.register(size, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ);
        } catch (VerbsException | OutOfMemoryError e) {
            throw refuse("no memory for " + ByteSize.format(size) + ": " + e.getMessage(), e);
        }
    }

    private Failure refuse(String why, Throwable cause) throws IOException, InterruptedException {
        link.sendLast(ControlMessage.refused(why));
        return new Failure("refused the client: " + why, cause);
    }

    private void say(String line) {
        out.println("  " + line);
        out.flush();
    }
}
