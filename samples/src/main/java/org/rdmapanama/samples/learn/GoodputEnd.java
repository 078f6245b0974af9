package org.rdmapanama.samples.learn;

import static org.rdmapanama.memory.AccessFlag.LOCAL_WRITE;
import static org.rdmapanama.memory.AccessFlag.REMOTE_WRITE;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ConnectOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.samples.Failure;
import org.rdmapanama.samples.PacketCapture;

/**
 * A or B of {@code LossAndMarking}, in a process of its own, because a process has one soft0, with one network. It obeys
 * lines of standard input, and ends with it. Threads: one.
 */
public final class GoodputEnd implements AutoCloseable {
    static final String IS_AT = "is at ";
    static final String DONE = "done ";

    /** The bytes of a write, and how many are in progress. */
    private static final int CHUNK = 64 << 10;

    private static final int DEPTH = 8;
    private static final int MTU = 1024;
    private static final long NANOS_PER_MILLI = 1_000_000;

    private final VerbsArena arena = VerbsArena.ofConfined();
    private final ProtectionDomain domain = Context.open(arena, "soft0").allocateProtectionDomain();
    private final CompletionQueue queue = domain.context().createCompletionQueue(DEPTH);
    private final QueuePair queuePair =
            domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue).maxSendWorkRequests(DEPTH));
    private final MemoryRegion memory =
            domain.register(arena.allocate((long) DEPTH * CHUNK, 8), LOCAL_WRITE, REMOTE_WRITE);
    private final WorkCompletions completions = new WorkCompletions(arena, DEPTH);

    private GoodputEnd() {}

    /**
     * Says where its queue pair and its memory are, and obeys: {@code connect ENDPOINT} connects, and {@code write MEMORY
     * MILLIS} writes for a time.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) throws IOException {
        // The packets are those of the network only.
        System.clearProperty(PacketCapture.PROPERTY);
        try (GoodputEnd end = new GoodputEnd();
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
            Endpoint own = end.queuePair.localEndpoint(
                    new ConnectOptions().pathMtu(Mtu.BYTES_1024).timeout(17).retryCount(7));
            say(IS_AT + own + " " + end.memory.remote());
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.split(" ", -1);
                if (words[0].equals("write")) {
                    RemoteMemory lent = RemoteMemory.parse(words[1]);
                    say(DONE + end.write(lent, Long.parseLong(words[2])).words());
                } else {
                    end.queuePair.connect(Endpoint.parse(words[1]));
                }
            }
        } catch (Failure e) {
            // One line, which the other process passes on.
            say(e.getMessage());
            System.exit(1);
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    // excerpt
    /** Writes for some milliseconds, with several writes in progress. */
    private Goodput write(RemoteMemory lent, long millis) {
        Map<String, Long> before = queue.context().portCounters(1);
        SendWorkRequest request = SendWorkRequest.allocate(arena, 1);
        long start = System.nanoTime();
        long bytes = 0;
        int posted = 0;
        int inProgress = 0;
        while (inProgress > 0 || posted == 0 || System.nanoTime() - start < millis * NANOS_PER_MILLI) {
            boolean ends = System.nanoTime() - start >= millis * NANOS_PER_MILLI;
            while (inProgress < DEPTH && !ends) {
                int at = posted++ % DEPTH * CHUNK;
                queuePair.postSend(request.clear()
                        .rdmaWrite(lent.slice(at, CHUNK))
                        .add(memory, at, CHUNK)
                        .signaled(true));
                inProgress++;
            }
            int completed = awaitSome();
            inProgress -= completed;
            bytes += (long) completed * CHUNK;
        }
        Map<String, Long> after = queue.context().portCounters(1);
        return new Goodput(
                bytes,
                System.nanoTime() - start,
                bytes / MTU,
                after.get("repeated_packets") - before.get("repeated_packets"),
                after.get("received_notifications") - before.get("received_notifications"));
    }
    // end

    /** Polls until some writes have completed, well. */
    private int awaitSome() {
        int count = Polling.await(queue, completions);
        for (int i = 0; i < count; i++) {
            if (!completions.succeeded(i)) {
                throw new Failure(completions.describe(i));
            }
        }
        return count;
    }

    @Override
    public void close() {
        arena.close();
    }
}
