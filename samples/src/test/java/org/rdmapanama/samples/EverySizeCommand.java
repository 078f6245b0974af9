package org.rdmapanama.samples;

import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.rdmapanama.CompletionQueue;
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
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.RemoteMemory;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Moves messages of given sizes with every operation between two devices, first from the client, then from the server.
 * Checks every byte, and those around the message; counts with atomics. Over TCP each side tells the other what to do.
 */
@Command(name = "every-size")
final class EverySizeCommand implements Callable<Integer> {
    private static final int MARGIN = 64;
    private static final byte STALE = 0x5a;

    /** Number of positions in the noise at which patterns start. */
    private static final int SHIFTS = 4093;

    private static final int ATOMICS_AT_ONCE = 4;
    private static final int ADDEND = 3;
    private static final Duration LIMIT = Duration.ofSeconds(40);

    /** What the waiting side must do. */
    private enum Step {
        FILL,
        CLEAR,
        CHECK,
        RECEIVE,
        AWAIT,
        AWAIT_WITH_IMMEDIATE,
        COUNTER,
        SWITCH,
        END
    }

    @Parameters(arity = "0..1")
    private String host;

    @Option(names = "--sizes", split = ",")
    private List<Long> sizes = List.of();

    @Option(names = {"-t", "--transport"})
    private QueuePairType type = QueuePairType.RC;

    @Option(names = {"-m", "--mtu"})
    private int mtu = 1024;

    @Option(names = "--atomics")
    private int atomics;

    @Option(names = "--rounds")
    private int rounds = 1;

    @Mixin
    private LinkOptions link;

    @Mixin
    CommonOptions common;

    @Spec
    private CommandSpec spec;

    private DataInputStream in;
    private DataOutputStream out;
    private MemoryRegion source;
    private MemoryRegion target;
    private MemorySegment noise;
    private QueuePair queuePair;
    private CompletionQueue queue;
    private WorkCompletions completions;
    private SendWorkRequest send;
    private ReceiveWorkRequest receive;
    private RemoteMemory remoteSource;
    private RemoteMemory remoteTarget;
    private int seed;
    private int moved;

    @Override
    public Integer call() throws IOException, InterruptedException {
        try (VerbsArena arena = VerbsArena.ofConfined();
                SocketChannel channel = meet()) {
            channel.socket().setTcpNoDelay(true);
            in = new DataInputStream(channel.socket().getInputStream());
            // One packet for each message, because a bad wire loses these as well, and a lost one takes long.
            out = new DataOutputStream(new BufferedOutputStream(channel.socket().getOutputStream()));
            prepare(arena);
            if (host != null) {
                drive();
                out.writeByte(Step.SWITCH.ordinal());
                out.flush();
                obey();
            } else {
                obey();
                drive();
                out.writeByte(Step.END.ordinal());
                out.flush();
            }
        }
        PrintWriter text = spec.commandLine().getOut();
        text.println(moved + " messages right, " + 2 * atomics + " atomics done once");
        return 0;
    }

    private SocketChannel meet() throws IOException, InterruptedException {
        if (host != null) {
            return link.connect(host);
        }
        try (Tcp.Listener listener = new Tcp.Listener(link.port())) {
            PrintWriter text = spec.commandLine().getOut();
            text.println("waiting for a client");
            return listener.accept(link.timeout());
        }
    }

    private void prepare(VerbsArena arena) throws IOException {
        long bytes = sizes.stream().mapToLong(Long::longValue).max().orElse(Long.BYTES) + 2 * MARGIN;
        noise = arena.allocate((bytes + SHIFTS) / Long.BYTES * Long.BYTES + Long.BYTES, Long.BYTES);
        SplittableRandom random = new SplittableRandom(42);
        for (long i = 0; i < noise.byteSize(); i += Long.BYTES) {
            noise.set(ValueLayout.JAVA_LONG, i, random.nextLong());
        }
        Context context = link.open(arena);
        ProtectionDomain domain = context.allocateProtectionDomain();
        queue = context.createCompletionQueue(16);
        completions = new WorkCompletions(arena, 1);
        queuePair = domain.createQueuePair(
                new QueuePairOptions(type, queue).maxSendWorkRequests(8).maxReceiveWorkRequests(2));
        source = domain.register(arena.allocate(bytes, Long.BYTES), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
        target = domain.register(
                arena.allocate(bytes, Long.BYTES),
                AccessFlag.LOCAL_WRITE,
                AccessFlag.REMOTE_WRITE,
                AccessFlag.REMOTE_ATOMIC);
        send = SendWorkRequest.allocate(arena, 1).signaled(true);
        receive = ReceiveWorkRequest.allocate(arena, 1);

        Endpoint local = queuePair.localEndpoint(link.connectOptions(Mtu.ofBytes(mtu)));
        out.writeUTF(local.toString());
        out.writeUTF(source.remote().toString());
        out.writeUTF(target.remote().toString());
        out.flush();
        Endpoint remote = Endpoint.parse(in.readUTF());
        remoteSource = RemoteMemory.parse(in.readUTF());
        remoteTarget = RemoteMemory.parse(in.readUTF());
        queuePair.connect(remote);
        // Nothing may arrive before both sides are ready.
        out.writeByte(0);
        out.flush();
        in.readByte();
    }

    // The side that moves data.

    private void drive() throws IOException {
        for (int round = 0; round < rounds; round++) {
            for (long size : sizes) {
                send(size);
                writeWithImmediate(size);
                if (type == QueuePairType.RC) {
                    write(size);
                    read(size);
                }
            }
        }
        if (type == QueuePairType.RC && atomics > 0) {
            count();
        }
    }

    /** Returns the offset of a message in its region: seldom a multiple of anything. */
    private static long placeOf(long size) {
        return MARGIN - 1 - size % 7;
    }

    private static int immediateOf(long size) {
        return 0x8000_0001 ^ (int) size * 0x1_0101;
    }

    private MemorySegment pattern(int number, long size) {
        return noise.asSlice((number * 31L + size) % SHIFTS, size);
    }

    private SendWorkRequest from(MemoryRegion region, long size) {
        send.clear();
        return size == 0 ? send : send.add(region, placeOf(size), size);
    }

    private void fillSource(int number, long size) {
        source.memory().asSlice(placeOf(size), size).copyFrom(pattern(number, size));
    }

    private void send(long size) throws IOException {
        tell(Step.CLEAR, size);
        tell(Step.RECEIVE, size);
        fillSource(++seed, size);
        // Alternates between the two operations.
        boolean plain = size % 2 == 0;
        post(plain ? from(source, size).send() : from(source, size).sendWithImmediate(immediateOf(size)));
        awaitOne("send", size);
        tell(plain ? Step.AWAIT : Step.AWAIT_WITH_IMMEDIATE, size);
        tell(Step.CHECK, size);
        moved++;
    }

    private void writeWithImmediate(long size) throws IOException {
        tell(Step.CLEAR, size);
        tell(Step.RECEIVE, size);
        fillSource(++seed, size);
        post(from(source, size).rdmaWriteWithImmediate(remoteTarget.slice(placeOf(size), size), immediateOf(size)));
        awaitOne("write with immediate", size);
        tell(Step.AWAIT_WITH_IMMEDIATE, size);
        tell(Step.CHECK, size);
        moved++;
    }

    private void write(long size) throws IOException {
        tell(Step.CLEAR, size);
        fillSource(++seed, size);
        post(from(source, size).rdmaWrite(remoteTarget.slice(placeOf(size), size)));
        awaitOne("write", size);
        tell(Step.CHECK, size);
        moved++;
    }

    private void read(long size) throws IOException {
        seed++;
        tell(Step.FILL, size);
        target.memory().fill(STALE);
        post(from(target, size).rdmaRead(remoteSource.slice(placeOf(size), size)));
        awaitOne("read", size);
        check(seed, size, "read");
        moved++;
    }

    /** Checks that each atomic finds what the previous one left, so that none was lost or repeated. */
    private void count() throws IOException {
        tell(Step.CLEAR, Long.BYTES);
        long expected = tell(Step.COUNTER, 0);
        for (int done = 0; done < atomics; ) {
            int batch = Math.min(ATOMICS_AT_ONCE, atomics - done);
            for (int i = 0; i < batch; i++) {
                send.clear();
                send.add(target, MARGIN + (long) i * Long.BYTES, Long.BYTES);
                if (i % 2 == 0) {
                    post(send.fetchAndAdd(remoteTarget, ADDEND));
                } else {
                    long now = expected + (long) i * ADDEND;
                    post(send.compareAndSwap(remoteTarget, now, now + ADDEND));
                }
            }
            for (int i = 0; i < batch; i++) {
                awaitOne("atomic", done + i);
            }
            for (int i = 0; i < batch; i++) {
                long original = target.memory().get(ValueLayout.JAVA_LONG, MARGIN + (long) i * Long.BYTES);
                if (original != expected) {
                    throw new Failure("atomic " + (done + i) + " found " + original + " instead of " + expected);
                }
                expected += ADDEND;
            }
            done += batch;
        }
        long last = tell(Step.COUNTER, 0);
        if (last != expected) {
            throw new Failure("atomics left " + last + " instead of " + expected);
        }
    }

    private void post(SendWorkRequest request) {
        queuePair.postSend(request);
    }

    /** Waits for one completion, at index 0. */
    private void awaitOne(String what, long size) {
        Bound bound = Bound.of(LIMIT);
        while (queue.poll(completions) == 0) {
            if (bound.isOver()) {
                throw new Failure("no completion of " + what + " of " + size);
            }
            if (Thread.interrupted()) {
                throw new Failure("interrupted");
            }
        }
        if (!completions.succeeded(0)) {
            throw new Failure(what + " of " + size + ": " + completions.describe(0));
        }
    }

    /** Tells the other side to do something, and waits until it is done. */
    private long tell(Step step, long size) throws IOException {
        out.writeByte(step.ordinal());
        out.writeInt(seed);
        out.writeLong(size);
        out.flush();
        return in.readLong();
    }

    // The side that waits.

    private void obey() throws IOException {
        while (true) {
            Step step = Step.values()[in.readByte()];
            if (step == Step.SWITCH || step == Step.END) {
                return;
            }
            int number = in.readInt();
            long size = in.readLong();
            long answer = 0;
            switch (step) {
                case FILL -> fillSource(number, size);
                case CLEAR -> target.memory().fill(STALE);
                case CHECK -> check(number, size, "the received message");
                case RECEIVE -> postReceive(size);
                case AWAIT -> awaitMessage(size, false);
                case AWAIT_WITH_IMMEDIATE -> awaitMessage(size, true);
                case COUNTER -> answer = target.memory().get(ValueLayout.JAVA_LONG, 0);
                default -> throw new AssertionError(step);
            }
            out.writeLong(answer);
            out.flush();
        }
    }

    private void postReceive(long size) {
        receive.clear();
        if (size > 0) {
            receive.add(target, placeOf(size), size);
        }
        queuePair.postReceive(receive);
    }

    private void awaitMessage(long size, boolean immediate) {
        awaitOne("receive", size);
        boolean right = completions.byteLength(0) == size
                && completions.hasImmediate(0) == immediate
                && (!immediate || completions.immediate(0) == immediateOf(size));
        if (!right) {
            throw new Failure("receive of " + size + ": " + completions.describe(0) + ", "
                    + completions.byteLength(0) + " bytes, immediate "
                    + (completions.hasImmediate(0) ? completions.immediate(0) : "none"));
        }
    }

    /** Whether the target holds the pattern and nothing else has changed. */
    private void check(int number, long size, String what) {
        MemorySegment memory = target.memory();
        long place = placeOf(size);
        long wrong = pattern(number, size).mismatch(memory.asSlice(place, size));
        if (wrong >= 0) {
            throw new Failure(what + " of " + size + " bytes is corrupted from byte " + wrong + " on");
        }
        for (long i = 0; i < place; i++) {
            checkStale(i, size);
        }
        for (long i = place + size; i < Math.min(memory.byteSize(), place + size + MARGIN); i++) {
            checkStale(i, size);
        }
    }

    private void checkStale(long at, long size) {
        if (target.memory().get(ValueLayout.JAVA_BYTE, at) != STALE) {
            throw new Failure("a byte outside a message of " + size + " bytes was written: " + (at - placeOf(size)));
        }
    }
}
