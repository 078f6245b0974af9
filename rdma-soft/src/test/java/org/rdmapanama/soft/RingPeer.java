package org.rdmapanama.soft;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.rdmapanama.CompletionChannel;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.ffm.Program;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;

/**
 * A process that sends back each message that it gets, on two connections, and lends its memory. It says where it is on its
 * output, and reads from a file where its peer is. It sleeps or polls, until it gets a message that begins with {@link
 * #LAST}.
 */
public final class RingPeer {
    static final int BYTES = 1 << 20;
    static final int GUARD = 1 << 16;
    static final int MESSAGE = 4096;
    static final int DEPTH = 8;
    static final int PAIRS = 2;
    static final byte LAST = 77;
    static final Duration LIMIT = Duration.ofSeconds(60);

    /** The second half of each side's numbers is for what it sends. */
    private static final int SENT = 1 << 16;

    /** One side. */
    static final class End implements AutoCloseable {
        final VerbsArena arena = VerbsArena.ofShared();
        final Context context = Context.open(arena, SoftDevice.NAME);
        final CompletionQueue queue;
        final WorkCompletions completions = new WorkCompletions(arena, 1);

        /** What is lent, between what is not. */
        final MemorySegment all = arena.allocate(BYTES + 2 * GUARD, 4096);

        final MemorySegment memory = all.asSlice(GUARD, BYTES);
        final MemoryRegion region;
        final QueuePair[] pairs = new QueuePair[PAIRS];
        private final Endpoint[] endpoints = new Endpoint[PAIRS];
        private final boolean sleeps;

        End(boolean sleeps, int timeout) {
            this.sleeps = sleeps;
            CompletionChannel channel = context.createCompletionChannel();
            queue = context.createCompletionQueue(8 * DEPTH * PAIRS, channel, 0);
            ProtectionDomain domain = context.allocateProtectionDomain();
            region = domain.register(
                    memory,
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_WRITE,
                    AccessFlag.REMOTE_ATOMIC);
            ConnectOptions options = new ConnectOptions()
                    .timeout(timeout)
                    .remoteAccess(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC)
                    .maxReadAtomic(8);
            for (int i = 0; i < PAIRS; i++) {
                pairs[i] = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                        .maxSendWorkRequests(4 * DEPTH)
                        .maxReceiveWorkRequests(4 * DEPTH));
                endpoints[i] = pairs[i].localEndpoint(options);
            }
        }

        /** Where it is: its endpoints, and its memory. */
        String place() {
            return endpoints[0] + " " + endpoints[1] + " " + region.address() + " " + region.rkey();
        }

        /** Tells a test where it is, waits until a file says where the peer is, and connects. Returns the place of the peer. */
        String meet(Path file) throws IOException, InterruptedException {
            System.out.println("place<" + place() + ">");
            while (!Files.exists(file)) {
                Thread.sleep(5);
            }
            String place = Files.readString(file);
            connect(place);
            return place;
        }

        void connect(String place) {
            for (int i = 0; i < PAIRS; i++) {
                pairs[i].connect(Endpoint.parse(place.split(" ", -1)[i]));
            }
        }

        SoftDevice device() {
            return SoftDevice.contextAt(context.nativeAddress()).device();
        }

        SendWorkRequest request() {
            return SendWorkRequest.allocate(arena, 1).signaled(true);
        }

        /** The next completion. */
        WorkCompletions next() throws InterruptedException {
            if (queue.await(completions, LIMIT, sleeps ? Duration.ZERO : LIMIT) != 1) {
                throw new AssertionError("no completion came");
            }
            return completions;
        }

        @Override
        public void close() {
            arena.close();
        }
    }

    private RingPeer() {}

    /** Waits until a process has told where it is. */
    static String placeOf(Program program) throws InterruptedException {
        program.await(">\n");
        return program.output().split("<", 2)[1].split(">\n", -1)[0];
    }

    /** The address of the memory at a place. */
    static long address(String place) {
        return Long.parseLong(place.split(" ", -1)[PAIRS]);
    }

    /** The key of the memory at a place. */
    static int key(String place) {
        return Integer.parseInt(place.split(" ", -1)[PAIRS + 1]);
    }

    /** Tells a process, which reads the file, where its peer is. */
    static void tell(Path file, String place) throws IOException {
        // Whole, or not at all.
        Path written = Files.writeString(file.resolveSibling(file.getFileName() + ".new"), place);
        Files.move(written, file);
    }

    /** With the file, and whether it sleeps. */
    public static void main(String... arguments) throws Exception {
        try (End end = new End(Boolean.parseBoolean(arguments[1]), 18)) {
            end.meet(Path.of(arguments[0]));
            ReceiveWorkRequest[] receives = new ReceiveWorkRequest[PAIRS * DEPTH];
            for (int i = 0; i < receives.length; i++) {
                receives[i] = ReceiveWorkRequest.allocate(end.arena, 1)
                        .id(i)
                        .add(end.region, BYTES - (i + 1L) * MESSAGE, MESSAGE);
                end.pairs[i / DEPTH].postReceive(receives[i]);
            }
            System.out.println("connected");
            serve(end, receives);
            System.out.println("served");
        }
    }

    private static void serve(End end, ReceiveWorkRequest... receives) throws InterruptedException {
        SendWorkRequest answer = end.request();
        boolean ends = false;
        int sending = 0;
        while (!ends || sending > 0) {
            WorkCompletions wc = end.next();
            int id = (int) wc.id(0);
            if (!wc.succeeded(0)) {
                // The test has seen to it.
                System.out.println("failed: " + wc.describe(0));
                sending -= id >= SENT ? 1 : 0;
                continue;
            }
            if (id >= SENT) {
                end.pairs[(id - SENT) / DEPTH].postReceive(receives[id - SENT]);
                sending--;
                continue;
            }
            long at = BYTES - (id + 1L) * MESSAGE;
            ends = end.memory.get(JAVA_BYTE, at) == LAST;
            end.pairs[id / DEPTH].postSend(answer.clear().id(SENT + id).send().add(end.region, at, wc.byteLength(0)));
            sending++;
        }
    }
}
