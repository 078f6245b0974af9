package org.rdmapanama.nvme;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.logging.log4j.Logger;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.internal.provider.Logging;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.ConnectData;
import org.rdmapanama.nvme.wire.DiscoveryLog;
import org.rdmapanama.nvme.wire.Fields;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;

/**
 * The target's end of one queue: receives for command capsules, and a thread that executes them.
 *
 * <p>The life of a command: its capsule arrives in a slot. If the host has to send data that is not in the capsule, an RDMA
 * READ fetches it, into the namespace itself or into a buffer. Then the command is executed. Data for the host goes by RDMA
 * WRITE, and the response follows it on the same queue pair, which keeps the order. Before the response is sent, the receive of
 * the slot is posted again, because the host may then send the next command. The slot is busy until the device has said that
 * the response was sent; a capsule that comes before waits for that. So each slot has at most two sends under way, and the send
 * queue never overflows.
 *
 * <p>Commands for which there is no buffer wait for one, in the order in which they came.
 *
 * <p>Threads: its own, except {@link #start}, {@link #stop}, {@link #join} and {@link #isUnused}.
 */
final class TargetQueue {
    private static final Logger LOG = Logging.logger(TargetQueue.class);

    /** What a completion is of; the lower half of its identifier is the slot. */
    private static final int RECEIVED = 0;

    private static final int FETCHED = 1;
    private static final int ANSWERED = 2;

    private static final int BATCH = 32;
    private static final int BUFFERS = 4;

    /** How often a queue without commands looks whether its host is there. */
    private static final Duration IDLE = Duration.ofMillis(500);

    /** How long a connection may be without a Connect. */
    private static final long CONNECT_NANOS = 10_000_000_000L;

    /** The most ranges of a Dataset Management, and the bytes of one. */
    private static final int MAX_RANGES = 256;

    private static final int RANGE_BYTES = 16;

    /** How many regions this remembers: there are not more namespaces at once. */
    private static final int MAX_REGIONS = 1024;

    /** The event that namespaces have changed; the log page has their ids. */
    private static final NvmeEvent CHANGE =
            new NvmeEvent(NvmeEvent.NOTICE, NvmeEvent.NAMESPACES_CHANGED, AdminCommands.CHANGED_NAMESPACES_LOG);

    /** What is filled with zeros at once. Between the pieces the queue looks whether it is to end. */
    private static final long PIECE = 1 << 20;

    private static final int FORCE_UNIT_ACCESS = 1 << 30;
    private static final int DEALLOCATE = 1 << 2;
    private static final int DISABLE_FLOW_CONTROL = 1 << 2;
    private static final int NO_FLOW_CONTROL = 0xffff;
    private static final int ALL_NAMESPACES = 0xffff_ffff;

    /** The offset of the SQSIZE field, and others, in what tells which parameter of Connect is wrong. */
    private static final int IN_DATA = 1 << 16;

    private static final int SIZE_FIELD = 44;
    private static final int QUEUE_FIELD = 42;

    private final NvmeTarget target;
    private final NvmeTargetOptions options;
    private final RdmaConnection connection;
    private final InetAddress host;
    private final QueuePair queuePair;
    private final int number;
    private final int slots;
    private final long made = System.nanoTime();

    private final int capsuleBytes;
    private final MemoryRegion capsules;
    private final MemoryRegion responses;
    private final MemoryRegion buffers;
    private final int bufferBytes;

    private final MemorySegment[] entries;
    private final MemorySegment[] replies;
    private final MemorySegment[] bufferMemory;
    private final ByteBuffer[] bufferViews;

    /** What follows the entry in the capsule of each slot. */
    private final ByteBuffer[] capsuleViews;

    private final ReceiveWorkRequest[] receives;
    private final SendWorkRequest[] fetches;
    private final SendWorkRequest[] pushes;
    private final SendWorkRequest[] answers;
    private final WorkCompletions completions;

    /** The bytes of the capsule in each slot. */
    private final int[] lengths;

    /** Whether the response of a slot is under way, and whether the next capsule has come before it was sent. */
    private final boolean[] answering;

    private final boolean[] arrived;

    /** The buffer of each slot, or -1. */
    private final int[] bufferOf;

    private final int[] freeBuffers = new int[BUFFERS];
    private int freeCount;
    private final ArrayDeque<Integer> waiting = new ArrayDeque<>();

    /** The namespace of the command in each slot; null if there is none. It may have been removed meanwhile. */
    private final NvmeTargetOptions.Served[] serving;

    /** The memory of namespaces on this device; null for those that need a copy. */
    private final Map<NvmeTargetOptions.Served, MemoryRegion> direct = new IdentityHashMap<>();

    private final AdminCommands admin;

    /** The slots of requests for events, which wait for one. */
    private final ArrayDeque<Integer> eventRequests = new ArrayDeque<>();

    /** On an Admin queue: the Aborts that are not decided yet, by their slots. */
    private final Map<Integer, TargetAbort> abortRequests = new HashMap<>();

    /** On an I/O queue: the Aborts to decide. */
    private final Queue<TargetAbort> aborts = new ConcurrentLinkedQueue<>();

    /** The slots whose commands are aborted before they begin. */
    private final boolean[] aborted;

    /** The identifier of the command that is being executed; -1 if there is none. */
    private volatile int executing = -1;

    /** Null before Connect. The queue's own thread sets it. */
    private volatile @Nullable TargetController controller;

    /** The number of entries that the host's queue has, and how many were taken, modulo that. */
    private int size;

    private int head;
    private boolean flowControl = true;

    /** The slot of a Disconnect that was answered; -1 before. */
    private int disconnect = -1;

    private volatile boolean stopping;

    /** Guarded by this. */
    private @Nullable Thread thread;

    private boolean closed;

    /** For comparisons with a file. */
    private @Nullable ByteBuffer comparison;

    /** Prepares a connection, before the host can send. */
    TargetQueue(NvmeTarget target, RdmaConnection connection, InetAddress host, int number, int slots) {
        this.target = target;
        this.options = target.options();
        this.connection = connection;
        this.host = host;
        this.number = number;
        this.slots = slots;
        queuePair = connection.queuePair();
        admin = new AdminCommands(target, Objects.requireNonNull(connection.id().localAddress()));
        capsuleBytes = Command.BYTES + Math.max(ConnectData.BYTES, number == 0 ? 0 : options.inCapsuleData());
        capsules = connection.register(slots * capsuleBytes, AccessFlag.LOCAL_WRITE);
        responses = connection.register(slots * Response.BYTES);
        bufferBytes = options.maxTransfer();
        buffers = connection.register(BUFFERS * bufferBytes, AccessFlag.LOCAL_WRITE);
        bufferMemory = new MemorySegment[BUFFERS];
        bufferViews = new ByteBuffer[BUFFERS];
        for (int i = 0; i < BUFFERS; i++) {
            bufferMemory[i] = buffers.memory().asSlice((long) i * bufferBytes, bufferBytes);
            bufferViews[i] = bufferMemory[i].asByteBuffer();
            freeBuffers[freeCount++] = i;
        }
        serving = new NvmeTargetOptions.Served[slots];
        entries = new MemorySegment[slots];
        capsuleViews = new ByteBuffer[slots];
        replies = new MemorySegment[slots];
        receives = new ReceiveWorkRequest[slots];
        fetches = new SendWorkRequest[slots];
        pushes = new SendWorkRequest[slots];
        answers = new SendWorkRequest[slots];
        lengths = new int[slots];
        answering = new boolean[slots];
        arrived = new boolean[slots];
        aborted = new boolean[slots];
        bufferOf = new int[slots];
        Arrays.fill(bufferOf, -1);
        completions = new WorkCompletions(connection.sendQueue(), BATCH);
        for (int i = 0; i < slots; i++) {
            entries[i] = capsules.memory().asSlice((long) i * capsuleBytes, capsuleBytes);
            capsuleViews[i] = entries[i].asSlice(Command.BYTES).asByteBuffer();
            replies[i] = responses.memory().asSlice((long) i * Response.BYTES, Response.BYTES);
            receives[i] = ReceiveWorkRequest.allocate(queuePair, 1)
                    .id(id(RECEIVED, i))
                    .add(capsules, (long) i * capsuleBytes, capsuleBytes);
            fetches[i] = SendWorkRequest.allocate(queuePair, 1);
            pushes[i] = SendWorkRequest.allocate(queuePair, 1);
            answers[i] = SendWorkRequest.allocate(queuePair, 1)
                    .id(id(ANSWERED, i))
                    .send()
                    .signaled(true)
                    .add(responses, (long) i * Response.BYTES, Response.BYTES);
            queuePair.postReceive(receives[i]);
        }
    }

    private static long id(int kind, int slot) {
        return (long) kind << 32 | slot;
    }

    /** The connection is established. */
    synchronized void start() {
        if (!stopping && !closed) {
            thread = Thread.ofPlatform()
                    .daemon()
                    .name("nvme-target-queue-" + number)
                    .start(this::run);
        }
    }

    /** Whether the handshake has failed, so that this will never be started. */
    synchronized boolean isUnused() {
        return thread == null && !queuePair.isOpen();
    }

    /** Whether the connection is there, but no Connect has come yet. */
    synchronized boolean isIdle() {
        return thread != null && controller == null;
    }

    boolean isStopping() {
        return stopping;
    }

    /** When the queue was made, by System.nanoTime. */
    long made() {
        return made;
    }

    /** Where the host is; null if that is not known. */
    InetAddress host() {
        return host;
    }

    /** Ends the queue soon. Any thread may call it. */
    void stop() {
        stopping = true;
        synchronized (this) {
            if (thread == null) {
                close();
                return;
            }
        }
        wakeup();
    }

    boolean join() {
        Thread running;
        synchronized (this) {
            running = thread;
        }
        return NvmeTarget.join(running);
    }

    private void run() {
        try {
            while (!stopping) {
                int count = next();
                for (int i = 0; i < count && !stopping; i++) {
                    if (!aborts.isEmpty()) {
                        decideAborts(i, count);
                    }
                    take(i);
                }
                if (number == 0 && !stopping) {
                    report();
                    answerAborts();
                } else if (!aborts.isEmpty() && !stopping) {
                    decideAborts(count, count);
                    refuseAborts(count);
                }
                if (count == 0) {
                    checkIdle();
                }
            }
        } catch (InterruptedException e) {
            // Nobody interrupts it.
        } catch (RuntimeException | Error e) {
            if (!stopping) {
                LOG.warn("{} has failed", this, e);
            }
        } finally {
            close();
        }
    }

    /** Looks for completions, and waits for them if nothing else is to be done. */
    private int next() throws InterruptedException {
        if (aborts.isEmpty()) {
            return connection.sendQueue().await(completions, IDLE);
        }
        aborts.forEach(TargetAbort::look);
        return connection.sendQueue().poll(completions);
    }

    /** Aborts what has not begun: it waits for a buffer, for its slot, or is among the completions from one on. */
    private void decideAborts(int from, int count) {
        aborts.removeIf(each -> {
            boolean found = abort(each.command(), from, count);
            if (found) {
                each.decide(true);
            }
            return found;
        });
    }

    private boolean abort(int command, int from, int count) {
        for (int slot : waiting) {
            if (isCommand(slot, command)) {
                waiting.remove((Integer) slot);
                answer(slot, 0, NvmeStatus.ABORTED);
                return true;
            }
        }
        for (int slot = 0; slot < slots; slot++) {
            if (arrived[slot] && !aborted[slot] && isCommand(slot, command)) {
                aborted[slot] = true;
                return true;
            }
        }
        for (int i = from; i < count; i++) {
            int slot = (int) completions.id(i);
            if (completions.succeeded(i)
                    && completions.id(i) >>> 32 == RECEIVED
                    && completions.byteLength(i) >= Command.BYTES
                    && !aborted[slot]
                    && Command.id(entries[slot]) == command) {
                aborted[slot] = true;
                return true;
            }
        }
        return false;
    }

    private boolean isCommand(int slot, int command) {
        return lengths[slot] >= Command.BYTES && Command.id(entries[slot]) == command;
    }

    /** Says that commands were not aborted which are not there, or have begun, after all that had come was looked at. */
    private void refuseAborts(int count) {
        aborts.removeIf(each -> {
            boolean over = each.isCurrent() && count < BATCH;
            if (over) {
                each.decide(false);
            }
            return over;
        });
    }

    /** Has a command aborted that has not begun. The Admin queue calls it; returns false if the command has begun. */
    private boolean offer(TargetAbort abort) {
        if (stopping || executing == abort.command()) {
            return false;
        }
        aborts.add(abort);
        wakeup();
        return true;
    }

    /** How many Aborts are not decided. Any thread may call it. */
    int abortsToDecide() {
        return aborts.size();
    }

    /** Base 2.0, 5.1. The answer waits for the queue of the command. */
    private void abort(int slot, MemorySegment entry) {
        if (abortRequests.size() > IdentifyPages.ABORTS) {
            answer(slot, 0, NvmeStatus.TOO_MANY_ABORTS);
            return;
        }
        int queue = Command.dword(entry, 10) & 0xffff;
        int command = Command.dword(entry, 10) >>> 16;
        if (queue == 0) {
            answer(slot, abortEventRequest(command) ? 0 : 1, NvmeStatus.SUCCESS);
            return;
        }
        TargetQueue of = connected().queue(queue);
        TargetAbort abort = of == null ? null : new TargetAbort(this, of, command);
        if (abort != null && of != null && of.offer(abort)) {
            abortRequests.put(slot, abort);
        } else {
            answer(slot, 1, NvmeStatus.SUCCESS);
        }
    }

    /** Of the commands of an Admin queue only those wait that ask for events. */
    private boolean abortEventRequest(int command) {
        for (int slot : eventRequests) {
            if (isCommand(slot, command)) {
                eventRequests.remove((Integer) slot);
                answer(slot, 0, NvmeStatus.ABORTED);
                return true;
            }
        }
        return false;
    }

    private void answerAborts() {
        abortRequests.entrySet().removeIf(each -> {
            TargetAbort abort = each.getValue();
            if (abort.isDecided()) {
                answer(each.getKey(), abort.isAborted() ? 0 : 1, NvmeStatus.SUCCESS);
                return true;
            }
            return false;
        });
    }

    /** Tells the host of what has happened to namespaces, if it has asked for that. */
    private void report() {
        if (!eventRequests.isEmpty() && connected().takeEvent(admin.reportsNamespaces())) {
            answer(eventRequests.remove(), CHANGE.result(), NvmeStatus.SUCCESS);
        }
    }

    /** Has the thread look for what it has to report. Any thread may call it. */
    void wakeup() {
        try {
            Objects.requireNonNull(connection.completionChannel()).wakeup();
        } catch (IllegalStateException closedMeanwhile) {
            // The thread has ended.
        }
    }

    private void checkIdle() {
        if (!connection.isConnected()) {
            stopping = true;
        } else if (controller == null && System.nanoTime() - made > CONNECT_NANOS) {
            end("no Connect has come in time");
        }
    }

    private void end(String why) {
        LOG.debug("{} ends: {}", this, why);
        stopping = true;
    }

    /** Ends the connection, which takes the memory of the host out of reach, and leaves the controller. */
    private void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
            stopping = true;
        }
        try {
            connection.close();
        } catch (RuntimeException e) {
            LOG.warn("{} was not closed completely", this, e);
        } finally {
            leave();
        }
    }

    /** Leaves controller and target, which would count a queue that stays. */
    private void leave() {
        for (int i = 0; i < slots; i++) {
            release(i);
        }
        TargetController left = controller;
        try {
            if (left != null && number == 0) {
                target.remove(left);
                left.end();
            } else if (left != null) {
                left.remove(number, this);
            }
        } finally {
            target.ended(this);
        }
    }

    private void take(int index) {
        if (!completions.succeeded(index)) {
            end(completions.describe(index));
            return;
        }
        long id = completions.id(index);
        int slot = (int) id;
        switch ((int) (id >>> 32)) {
            case RECEIVED -> {
                lengths[slot] = completions.byteLength(index);
                if (answering[slot]) {
                    arrived[slot] = true;
                } else {
                    begin(slot);
                }
            }
            case FETCHED -> execute(slot);
            default -> answered(slot);
        }
    }

    private void answered(int slot) {
        answering[slot] = false;
        release(slot);
        freeBuffer(slot);
        if (slot == disconnect) {
            end("the host has disconnected");
            return;
        }
        // These have come before.
        while (freeCount > 0 && !waiting.isEmpty() && !stopping) {
            begin(waiting.remove());
        }
        if (arrived[slot] && !stopping) {
            arrived[slot] = false;
            begin(slot);
        }
    }

    /** The command of a slot does not use its namespace any more. */
    private void release(int slot) {
        if (serving[slot] != null) {
            NvmeTarget.release(serving[slot]);
            serving[slot] = null;
        }
    }

    private void freeBuffer(int slot) {
        if (bufferOf[slot] >= 0) {
            freeBuffers[freeCount++] = bufferOf[slot];
            bufferOf[slot] = -1;
        }
    }

    /** Takes a buffer for a slot, or has the command wait for one. */
    private boolean takeBuffer(int slot) {
        if (freeCount == 0) {
            waiting.add(slot);
            return false;
        }
        bufferOf[slot] = freeBuffers[--freeCount];
        return true;
    }

    /** A command has come: finds out which data it needs, and fetches that, or executes it. */
    private void begin(int slot) {
        if (lengths[slot] < Command.BYTES) {
            end("a capsule of " + lengths[slot] + " bytes has come");
            return;
        }
        if (controller != null) {
            controller.heard();
        } else if (System.nanoTime() - made > CONNECT_NANOS) {
            end("no Connect has come in time");
            return;
        }
        MemorySegment entry = entries[slot];
        release(slot);
        serving[slot] = number == 0 ? null : target.acquire(Command.namespace(entry));
        NvmeStatus problem = aborted[slot] ? NvmeStatus.ABORTED : problemOf(entry);
        aborted[slot] = false;
        if (problem != null) {
            answer(slot, 0, problem);
            return;
        }
        long length = sentLength(slot);
        if (length > 0) {
            fetch(slot, length);
        } else {
            execute(slot);
        }
    }

    /** The controller of a queue that a Connect has given one: no other command is executed before. */
    private TargetController connected() {
        return Objects.requireNonNull(controller);
    }

    /** Checks what holds for all commands. */
    private @Nullable NvmeStatus problemOf(MemorySegment entry) {
        boolean fabrics = Command.opcode(entry) == Opcode.FABRICS;
        if (controller == null) {
            return fabrics && Command.fabricsType(entry) == Opcode.CONNECT ? null : NvmeStatus.SEQUENCE_ERROR;
        }
        if (fabrics) {
            return Command.fabricsType(entry) == Opcode.CONNECT ? NvmeStatus.SEQUENCE_ERROR : null;
        }
        if (!controller.isReady()) {
            return NvmeStatus.SEQUENCE_ERROR;
        }
        // No fused commands, and SGLs always.
        return (Command.flags(entry) & 0xc3) == Command.SGL ? null : NvmeStatus.INVALID_FIELD;
    }

    /** Returns how many bytes the host has to send for a command; 0 if none, or if the command is wrong anyway. */
    private long sentLength(int slot) {
        MemorySegment entry = entries[slot];
        int opcode = Command.opcode(entry);
        if (opcode == Opcode.FABRICS) {
            return Command.fabricsType(entry) == Opcode.CONNECT ? ConnectData.BYTES : 0;
        }
        if (number == 0) {
            return 0;
        }
        return switch (opcode) {
            case Opcode.WRITE, Opcode.COMPARE -> {
                NvmeTargetOptions.Served namespace = serving[slot];
                yield namespace == null || rangeProblem(namespace, entry, bufferBytes) != null
                        ? 0
                        : (long) Command.blocks(entry) << namespace.blockShift();
            }
            case Opcode.DATASET_MANAGEMENT ->
                // Hosts may send a page for fewer ranges.
                Math.max(ranges(entry) * RANGE_BYTES, Math.min(MAX_RANGES * RANGE_BYTES, descriptorLength(entry)));
            default -> 0;
        };
    }

    private static int ranges(MemorySegment entry) {
        return (Command.dword(entry, 10) & 0xff) + 1;
    }

    private static int descriptorLength(MemorySegment entry) {
        return Command.descriptorType(entry) == Command.IN_CAPSULE
                ? (int) Math.min(Command.inCapsuleLength(entry), Integer.MAX_VALUE)
                : Command.keyedLength(entry);
    }

    /** Fetches the data of a command, unless it is in the capsule. */
    private void fetch(int slot, long length) {
        MemorySegment entry = entries[slot];
        NvmeStatus problem = descriptorProblem(slot, length);
        if (problem != null) {
            answer(slot, 0, problem);
            return;
        }
        if (Command.descriptorType(entry) == Command.IN_CAPSULE) {
            execute(slot);
            return;
        }
        SendWorkRequest fetch = fetches[slot];
        fetch.clear()
                .id(id(FETCHED, slot))
                .rdmaRead(Command.address(entry), Command.key(entry))
                .signaled(true);
        NvmeTargetOptions.Served namespace = serving[slot];
        MemoryRegion region = Command.opcode(entry) == Opcode.WRITE
                        && namespace != null
                        && !namespace.backing().isReadOnly()
                ? direct(namespace)
                : null;
        if (region != null) {
            fetch.add(region, Command.firstBlock(entry) << namespace.blockShift(), length);
        } else if (takeBuffer(slot)) {
            fetch.add(buffers, (long) bufferOf[slot] * bufferBytes, length);
        } else {
            return;
        }
        queuePair.postSend(fetch);
    }

    /** Checks the descriptor of a command with data of a known length (RDMA Transport 1.0, 3.2.1). */
    private @Nullable NvmeStatus descriptorProblem(int slot, long length) {
        MemorySegment entry = entries[slot];
        switch (Command.descriptorType(entry)) {
            case Command.KEYED, Command.KEYED_INVALIDATE -> {
                return Command.keyedLength(entry) == length ? null : NvmeStatus.INVALID_DATA_LENGTH;
            }
            case Command.IN_CAPSULE -> {
                if (!Command.sendsData(entry)) {
                    return NvmeStatus.INVALID_FIELD;
                }
                if (Command.inCapsuleLength(entry) != length) {
                    return NvmeStatus.INVALID_DATA_LENGTH;
                }
                long room = lengths[slot] - Command.BYTES - length;
                long offset = Command.address(entry);
                return offset < 0 || offset > room ? NvmeStatus.INVALID_CAPSULE_OFFSET : null;
            }
            default -> {
                return NvmeStatus.INVALID_DESCRIPTOR_TYPE;
            }
        }
    }

    /** The data that the host has sent: in the capsule, or in the buffer of the slot. */
    private MemorySegment sent(int slot, long length) {
        MemorySegment entry = entries[slot];
        return Command.descriptorType(entry) == Command.IN_CAPSULE
                ? entry.asSlice(Command.BYTES + Command.address(entry), length)
                : bufferMemory[bufferOf[slot]].asSlice(0, length);
    }

    /** Executes a command whose data is there. */
    private void execute(int slot) {
        MemorySegment entry = entries[slot];
        executing = Command.id(entry);
        try {
            execute(slot, entry);
        } finally {
            executing = -1;
        }
    }

    private void execute(int slot, MemorySegment entry) {
        if (Command.opcode(entry) == Opcode.FABRICS) {
            executeFabrics(slot, entry);
        } else if (number == 0) {
            executeAdmin(slot, entry);
        } else {
            try {
                executeIo(slot, entry);
            } catch (IOException e) {
                LOG.warn("{}: {}", this, e.toString());
                boolean reads = Command.opcode(entry) == Opcode.READ || Command.opcode(entry) == Opcode.COMPARE;
                answer(slot, 0, reads ? NvmeStatus.READ_ERROR : NvmeStatus.WRITE_FAULT);
            }
        }
    }

    private void executeFabrics(int slot, MemorySegment entry) {
        switch (Command.fabricsType(entry)) {
            case Opcode.CONNECT -> connect(slot, entry);
            case Opcode.DISCONNECT -> {
                if (number == 0) {
                    answer(slot, 0, NvmeStatus.INVALID_OPCODE);
                } else {
                    disconnect = slot;
                    // The host may connect a queue with this number as soon as it has the answer.
                    connected().remove(number, this);
                    answer(slot, 0, NvmeStatus.SUCCESS);
                }
            }
            default -> {
                if (number == 0) {
                    NvmeStatus status = admin.fabrics(connected(), entry);
                    answer(slot, admin.result(), status);
                } else {
                    answer(slot, 0, NvmeStatus.INVALID_OPCODE);
                }
            }
        }
    }

    /** Fabrics 1.1, 3.3. */
    private void connect(int slot, MemorySegment entry) {
        MemorySegment data = sent(slot, ConnectData.BYTES);
        int wanted = Command.connectSize(entry) + 1;
        if (Command.connectFormat(entry) != 0) {
            answer(slot, 0, NvmeStatus.CONNECT_INVALID_FORMAT);
            return;
        }
        if (Command.connectQueue(entry) != number) {
            answer(slot, QUEUE_FIELD, NvmeStatus.CONNECT_INVALID_PARAMETERS);
            return;
        }
        if (wanted < 2 || wanted > slots) {
            answer(slot, SIZE_FIELD, NvmeStatus.CONNECT_INVALID_PARAMETERS);
            return;
        }
        String subsystem = ConnectData.subsystemName(data);
        boolean discovery = subsystem.equals(DiscoveryLog.NAME);
        if (!discovery && !subsystem.equals(options.subsystem())) {
            answer(slot, IN_DATA | 256, NvmeStatus.CONNECT_INVALID_PARAMETERS);
            return;
        }
        String host = ConnectData.hostName(data);
        byte[] hostId = ConnectData.hostId(data);
        TargetController found;
        if (number == 0) {
            if (ConnectData.controller(data) != ConnectData.ANY_CONTROLLER) {
                answer(slot, IN_DATA | 16, NvmeStatus.CONNECT_INVALID_PARAMETERS);
                return;
            }
            found = target.createController(this, discovery, host, hostId, Command.connectKeepAlive(entry));
            if (found == null) {
                answer(slot, 0, NvmeStatus.CONNECT_BUSY);
                return;
            }
        } else {
            found = target.controller(ConnectData.controller(data));
            // A controller is reached by the host that has made it, and by no other.
            if (found == null || found.isDiscovery() != discovery || !found.isOf(host, hostId)) {
                answer(slot, IN_DATA | 16, NvmeStatus.CONNECT_INVALID_PARAMETERS);
                return;
            }
            if (!found.isReady()) {
                answer(slot, 0, NvmeStatus.SEQUENCE_ERROR);
                return;
            }
            if (number > found.ioQueues() || !found.add(number, this)) {
                answer(slot, QUEUE_FIELD, NvmeStatus.CONNECT_BUSY);
                return;
            }
        }
        size = wanted;
        flowControl = (Command.connectAttributes(entry) & DISABLE_FLOW_CONTROL) == 0;
        controller = found;
        answer(slot, found.id(), NvmeStatus.SUCCESS);
    }

    private void executeAdmin(int slot, MemorySegment entry) {
        int opcode = Command.opcode(entry);
        if (opcode == Opcode.ASYNC_EVENT_REQUEST) {
            if (eventRequests.size() > IdentifyPages.EVENT_REQUESTS) {
                answer(slot, 0, NvmeStatus.TOO_MANY_EVENT_REQUESTS);
            } else {
                // It waits for an event, and keeps its slot.
                eventRequests.add(slot);
            }
            return;
        }
        if (opcode == Opcode.ABORT) {
            abort(slot, entry);
            return;
        }
        long length = AdminCommands.returned(entry);
        if (length == 0) {
            NvmeStatus status = admin.execute(connected(), entry, null);
            answer(slot, admin.result(), status);
            return;
        }
        NvmeStatus problem = length > bufferBytes ? NvmeStatus.INVALID_FIELD : descriptorProblem(slot, length);
        if (problem != null) {
            answer(slot, 0, problem);
            return;
        }
        if (!takeBuffer(slot)) {
            return;
        }
        MemorySegment data = bufferMemory[bufferOf[slot]].asSlice(0, length).fill((byte) 0);
        NvmeStatus status = admin.execute(connected(), entry, data);
        if (status.isSuccess()) {
            push(slot, buffers, (long) bufferOf[slot] * bufferBytes, length);
        } else {
            answer(slot, 0, status);
        }
    }

    /** Returns the memory of a namespace as a region; null if its data has to be copied. */
    private @Nullable MemoryRegion direct(NvmeTargetOptions.Served namespace) {
        MemoryRegion region = direct.get(namespace);
        if (region == null && !direct.containsKey(namespace)) {
            if (direct.size() == MAX_REGIONS) {
                direct.clear();
            }
            region = target.region(connection.protectionDomain(), namespace);
            direct.put(namespace, region);
        }
        return region;
    }

    /** Checks the blocks of a command. */
    private @Nullable NvmeStatus rangeProblem(NvmeTargetOptions.Served namespace, MemorySegment entry, int mostBytes) {
        long first = Command.firstBlock(entry);
        int count = Command.blocks(entry);
        if (first < 0 || first > namespace.blocks() - count) {
            return NvmeStatus.LBA_OUT_OF_RANGE;
        }
        return (long) count << namespace.blockShift() > mostBytes ? NvmeStatus.INVALID_FIELD : null;
    }

    private void executeIo(int slot, MemorySegment entry) throws IOException {
        int opcode = Command.opcode(entry);
        NvmeTargetOptions.Served namespace = serving[slot];
        if (opcode == Opcode.FLUSH && Command.namespace(entry) == ALL_NAMESPACES) {
            for (int id : target.namespaces().keySet()) {
                flush(id);
            }
            answer(slot, 0, NvmeStatus.SUCCESS);
            return;
        }
        NvmeStatus problem = ioProblem(opcode, namespace, entry);
        if (problem != null) {
            answer(slot, 0, problem);
            return;
        }
        NvmeBacking backing = namespace.backing();
        long start = Command.firstBlock(entry) << namespace.blockShift();
        long length = (long) Command.blocks(entry) << namespace.blockShift();
        switch (opcode) {
            case Opcode.READ -> read(slot, namespace, start, length);
            case Opcode.WRITE -> {
                boolean inCapsule = Command.descriptorType(entry) == Command.IN_CAPSULE;
                MemorySegment memory = backing.memory();
                if (inCapsule && memory != null) {
                    MemorySegment.copy(entry, Command.BYTES + Command.address(entry), memory, start, length);
                } else if (inCapsule || bufferOf[slot] >= 0) {
                    backing.write(start, view(slot, length));
                }
                // Otherwise the data has gone to its place already.
                if ((Command.dword(entry, 12) & FORCE_UNIT_ACCESS) != 0) {
                    backing.flush();
                }
                answer(slot, 0, NvmeStatus.SUCCESS);
            }
            case Opcode.COMPARE -> {
                boolean same = isSame(backing, start, sent(slot, length));
                answer(slot, 0, same ? NvmeStatus.SUCCESS : NvmeStatus.COMPARE_FAILURE);
            }
            case Opcode.WRITE_ZEROES -> {
                for (long done = 0; done < length && !stopping; done += PIECE) {
                    backing.zero(start + done, Math.min(PIECE, length - done));
                }
                answer(slot, 0, NvmeStatus.SUCCESS);
            }
            case Opcode.FLUSH -> {
                backing.flush();
                answer(slot, 0, NvmeStatus.SUCCESS);
            }
            default -> answer(slot, 0, manage(slot, namespace, entry));
        }
    }

    private void flush(int id) throws IOException {
        NvmeTargetOptions.Served namespace = target.acquire(id);
        if (namespace != null) {
            try {
                namespace.backing().flush();
            } finally {
                NvmeTarget.release(namespace);
            }
        }
    }

    private @Nullable NvmeStatus ioProblem(int opcode, NvmeTargetOptions.Served namespace, MemorySegment entry) {
        switch (opcode) {
            case Opcode.READ,
                    Opcode.WRITE,
                    Opcode.COMPARE,
                    Opcode.WRITE_ZEROES,
                    Opcode.FLUSH,
                    Opcode.DATASET_MANAGEMENT -> {
                if (namespace == null) {
                    return NvmeStatus.INVALID_NAMESPACE;
                }
            }
            default -> {
                return NvmeStatus.INVALID_OPCODE;
            }
        }
        boolean changes =
                opcode == Opcode.WRITE || opcode == Opcode.WRITE_ZEROES || opcode == Opcode.DATASET_MANAGEMENT;
        if (changes && namespace.backing().isReadOnly()) {
            return NvmeStatus.WRITE_PROTECTED;
        }
        return opcode == Opcode.FLUSH || opcode == Opcode.DATASET_MANAGEMENT
                ? null
                : rangeProblem(
                        namespace, entry, opcode == Opcode.WRITE_ZEROES ? options.maxWriteZeroes() : bufferBytes);
    }

    private void read(int slot, NvmeTargetOptions.Served namespace, long start, long length) throws IOException {
        NvmeStatus problem = descriptorProblem(slot, length);
        if (problem != null) {
            answer(slot, 0, problem);
            return;
        }
        MemoryRegion region = direct(namespace);
        if (region != null) {
            push(slot, region, start, length);
        } else if (takeBuffer(slot)) {
            namespace.backing().read(start, bufferView(slot, length));
            push(slot, buffers, (long) bufferOf[slot] * bufferBytes, length);
        }
    }

    /** The buffer of a slot, for files. */
    private ByteBuffer bufferView(int slot, long length) {
        return bufferViews[bufferOf[slot]].clear().limit((int) length);
    }

    /** What the host has sent, for files. */
    private ByteBuffer view(int slot, long length) {
        if (bufferOf[slot] >= 0) {
            return bufferView(slot, length);
        }
        int offset = (int) Command.address(entries[slot]);
        return capsuleViews[slot].clear().limit(offset + (int) length).position(offset);
    }

    private boolean isSame(NvmeBacking backing, long start, MemorySegment data) throws IOException {
        if (comparison == null) {
            comparison = ByteBuffer.allocateDirect(64 * 1024);
        }
        for (long done = 0; done < data.byteSize(); done += comparison.capacity()) {
            comparison.clear().limit((int) Math.min(comparison.capacity(), data.byteSize() - done));
            backing.read(start + done, comparison);
            comparison.rewind();
            MemorySegment there = MemorySegment.ofBuffer(comparison);
            if (there.mismatch(data.asSlice(done, there.byteSize())) >= 0) {
                return false;
            }
        }
        return true;
    }

    /** Dataset Management (NVM Command Set 1.0, 3.2.3): all ranges are checked before the first one is deallocated. */
    private NvmeStatus manage(int slot, NvmeTargetOptions.Served namespace, MemorySegment entry) {
        int count = ranges(entry);
        MemorySegment data = sent(slot, (long) count * RANGE_BYTES);
        for (int i = 0; i < count; i++) {
            long first = Fields.get64(data, (long) i * RANGE_BYTES + 8);
            long blocks = Integer.toUnsignedLong(Fields.get32(data, (long) i * RANGE_BYTES + 4));
            if (first < 0 || blocks > namespace.blocks() || first > namespace.blocks() - blocks) {
                return NvmeStatus.LBA_OUT_OF_RANGE;
            }
        }
        if ((Command.dword(entry, 11) & DEALLOCATE) != 0) {
            // It is a hint: a host that names blocks again and again gets no more done than a whole namespace.
            long left = namespace.blocks();
            for (int i = 0; i < count && left > 0; i++) {
                long first = Fields.get64(data, (long) i * RANGE_BYTES + 8);
                long blocks = Math.min(left, Integer.toUnsignedLong(Fields.get32(data, (long) i * RANGE_BYTES + 4)));
                discard(namespace.backing(), first << namespace.blockShift(), blocks << namespace.blockShift());
                left -= blocks;
            }
        }
        return NvmeStatus.SUCCESS;
    }

    private void discard(NvmeBacking backing, long start, long length) {
        for (long done = 0; done < length && !stopping; done += PIECE) {
            backing.discard(start + done, Math.min(PIECE, length - done));
        }
    }

    /** Sends data to the host, and then the response. */
    private void push(int slot, MemoryRegion from, long offset, long length) {
        MemorySegment entry = entries[slot];
        SendWorkRequest push = pushes[slot];
        push.clear()
                .rdmaWrite(Command.address(entry), Command.key(entry))
                .signaled(false)
                .add(from, offset, length)
                .next(answers[slot]);
        prepareAnswer(slot, 0, NvmeStatus.SUCCESS);
        queuePair.postSend(push);
    }

    private void answer(int slot, long result, NvmeStatus status) {
        if (stopping) {
            // The command may have been executed in part only.
            return;
        }
        prepareAnswer(slot, result, status);
        queuePair.postSend(answers[slot]);
    }

    private void prepareAnswer(int slot, long result, NvmeStatus status) {
        MemorySegment entry = entries[slot];
        if (size > 0) {
            head = (head + 1) % size;
        }
        SendWorkRequest answer = answers[slot];
        if (Command.descriptorType(entry) == Command.KEYED_INVALIDATE && status.isSuccess() && hasData(slot)) {
            answer.sendWithInvalidate(Command.key(entry));
        } else {
            answer.send();
        }
        Response.write(
                replies[slot], result, flowControl ? head : NO_FLOW_CONTROL, number, Command.id(entry), status.field());
        answering[slot] = true;
        // From here on the next capsule may come into the slot.
        queuePair.postReceive(receives[slot]);
    }

    /** Whether the data pointer of a command that has succeeded was used. */
    private boolean hasData(int slot) {
        MemorySegment entry = entries[slot];
        return sentLength(slot) > 0
                || (number == 0 ? AdminCommands.returned(entry) > 0 : Command.opcode(entry) == Opcode.READ);
    }

    /** The number and the controller. */
    @Override
    public String toString() {
        TargetController of = controller;
        return "queue " + number + " of " + (of == null ? "no controller" : of) + " from " + connection.remoteAddress();
    }
}
