package org.rdmapanama.nvme;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.cm.RdmaConnection;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.nvme.wire.Command;
import org.rdmapanama.nvme.wire.Opcode;
import org.rdmapanama.nvme.wire.Response;

/**
 * The host's end of one queue: a connection, a block of command capsules with a slot for each command that can be under way,
 * and receives for the responses. The number of a slot is the command identifier.
 *
 * <p>A slot is free again when the response has come, the device has said that the capsule was sent, memory that was lent to
 * the command is out of the controller's reach, and the caller has taken the outcome. What the controller sends is checked: a
 * response to no command, or of a wrong size, ends the connection.
 *
 * <p>Threads: {@link #lock} guards everything but {@link #lose}, {@link #isLost}, {@link #reason}, {@link
 * #end} and {@link #close}.
 */
final class HostQueue implements AutoCloseable {
    private static final int BATCH = 32;

    /** How long the last command of a queue may take. */
    private static final long LAST_NANOS = 1_000_000_000;

    /** From one slot to the next: an entry, the range of a Dataset Management command behind it, and room to align them. */
    private static final int STRIDE = 128;

    /** The size of a range (NVM Command Set 1.0, figure 40). */
    static final int RANGE_BYTES = 16;

    private static final byte FREE = 0;
    private static final byte TAKEN = 1;
    private static final byte UNDER_WAY = 2;
    private static final byte DONE = 3;

    /** The outcome was taken, but an Abort of the command is under way. */
    private static final byte HELD = 4;

    final ReentrantLock lock = new ReentrantLock();

    private final Association association;
    private final RdmaConnection connection;
    private final QueuePair queuePair;
    private final int number;
    private final int entries;
    private final int slots;
    private long timeoutNanos;
    private final long abortNanos;

    private final MemoryRegion capsules;
    private final MemoryRegion responses;
    private final MemorySegment[] commands;
    private final MemorySegment[] replies;
    private final SendWorkRequest[] sends;

    /** What lends the memory of commands; null if these name the keys of regions. */
    private @Nullable LentMemory lending;

    private final ReceiveWorkRequest[] receives;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;
    private final WorkCompletions sendCompletions;
    private final WorkCompletions receiveCompletions;

    /** How many commands are answered for which the device has not done all yet, such as sent their capsules. */
    private int early;

    private final byte[] state;
    private final boolean[] sent;
    private final boolean[] answered;

    /** Commands that may take any time: requests for asynchronous events. */
    private final boolean[] patient;

    private final AbortStates aborts;

    /** Whether an Abort was asked for: once for each command, because a controller that declines would do so again. */
    private final boolean[] abortAsked;

    /** How many slots are held until the Abort of their command is answered. */
    private int heldCount;

    private final long[] cookies;
    private final long[] begun;
    private final long[] results;
    private final int[] statuses;

    private final int[] free;
    private int freeCount;

    /** The slots whose commands have ended and whose outcome nobody has taken: a ring. */
    private final int[] done;

    private int doneHead;
    private int doneCount;

    private int underWay;

    /** How many of those may take any time. */
    private int patientCount;

    /** Where the next entry goes, and how far the controller has taken the entries. */
    private int tail;

    private int head;

    /** Why nothing can be sent any more; null while all is well. */
    private volatile @Nullable RuntimeException lost;

    /** Whether the commands under way have been ended with the loss. */
    private boolean lossSettled;

    private volatile boolean closed;

    /**
     * Takes a connection, whose preparation this is: it posts the receives before the peer can send.
     *
     * @param association whose queue this is
     * @param entries the number of entries, 2 or more
     */
    HostQueue(Association association, RdmaConnection connection, int number, int entries, NvmeOptions options) {
        this.association = association;
        this.connection = connection;
        this.number = number;
        this.entries = entries;
        slots = entries - 1;
        timeoutNanos = options.commandTimeout().toNanos();
        abortNanos = options.abortTimeout().toNanos();
        aborts = new AbortStates(slots);
        abortAsked = new boolean[slots];
        queuePair = connection.queuePair();
        // Only the range of a deallocation is fetched from there, if it does not go in a capsule.
        capsules = connection.register(
                slots * STRIDE, options.remoteInvalidation() ? AccessFlag.MW_BIND : AccessFlag.REMOTE_READ);
        responses = connection.register(entries * Response.BYTES, AccessFlag.LOCAL_WRITE);
        sendQueue = connection.sendQueue();
        receiveQueue = connection.receiveQueue();
        sendCompletions = new WorkCompletions(sendQueue, BATCH);
        receiveCompletions = new WorkCompletions(receiveQueue, BATCH);
        commands = new MemorySegment[slots];
        sends = new SendWorkRequest[slots];
        state = new byte[slots];
        sent = new boolean[slots];
        answered = new boolean[slots];
        patient = new boolean[slots];
        cookies = new long[slots];
        begun = new long[slots];
        results = new long[slots];
        statuses = new int[slots];
        free = new int[slots];
        done = new int[slots];
        for (int i = 0; i < slots; i++) {
            commands[i] = capsules.memory().asSlice((long) i * STRIDE, Command.BYTES + RANGE_BYTES);
            sends[i] = SendWorkRequest.allocate(queuePair, 2).id(i).send().signaled(true);
            free[freeCount++] = slots - 1 - i;
        }
        replies = new MemorySegment[entries];
        receives = new ReceiveWorkRequest[entries];
        for (int i = 0; i < entries; i++) {
            replies[i] = responses.memory().asSlice((long) i * Response.BYTES, Response.BYTES);
            receives[i] = ReceiveWorkRequest.allocate(queuePair, 1)
                    .id(i)
                    .add(responses, (long) i * Response.BYTES, Response.BYTES);
            queuePair.postReceive(receives[i]);
        }
    }

    /** Has commands lend their memory by windows from now on. */
    void lendByWindows() {
        lock.lock();
        try {
            // Once the connection is lost, nobody would free them.
            check();
            lending = new LentMemory(queuePair, sends);
        } finally {
            lock.unlock();
        }
    }

    /** What lends the memory of commands; null if these name the keys of regions. */
    @Nullable
    LentMemory lending() {
        return lending;
    }

    RdmaConnection connection() {
        return connection;
    }

    int number() {
        return number;
    }

    /** How many commands can be under way. */
    int depth() {
        return slots;
    }

    /** Takes a free slot for a command, whose {@link #command} the caller then fills; -1 if there is none now. */
    int take() {
        check();
        takeBackHeld();
        if (freeCount == 0 || (tail + 1) % entries == head) {
            // Events come some time or never: nothing else is under way whose response could say more.
            if (freeCount > 0 && slots - freeCount == patientCount) {
                lose(protocolError("responses to all commands, and did not say that it has taken their entries,"));
                check();
            }
            return -1;
        }
        int slot = free[--freeCount];
        state[slot] = TAKEN;
        return slot;
    }

    private void takeBackHeld() {
        for (int i = 0; i < slots && heldCount > 0; i++) {
            if (state[i] == HELD && !aborts.isSent(i)) {
                heldCount--;
                putBack(i);
            }
        }
    }

    /** Waits until no slot is held, as long as the controller is there. */
    void awaitAborts() {
        boolean interrupted = false;
        takeBackHeld();
        while (heldCount > 0 && lost == null) {
            interrupted |= awaitUninterruptibly();
            takeBackHeld();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether the command of a slot is still to be aborted. Any thread may call it, and sends the Abort then. */
    boolean beginAbort(int slot) {
        return aborts.send(slot);
    }

    /** The Abort of a command was answered. Any thread may call it. */
    void endAbort(int slot) {
        aborts.answered(slot);
        wakeup();
    }

    /** Whether an Abort of one of the commands is under way. Any thread may call it. */
    boolean hasAborts() {
        return aborts.isAnySent();
    }

    /** Gives back a slot whose command was not submitted. */
    void putBack(int slot) {
        state[slot] = FREE;
        free[freeCount++] = slot;
    }

    /** The entry of a slot, followed by the range of a Dataset Management command. */
    MemorySegment command(int slot) {
        return commands[slot];
    }

    /** The region of the slots. */
    MemoryRegion capsules() {
        return capsules;
    }

    /** Where the range of a slot is in that region. */
    static long rangeOffset(int slot) {
        return (long) slot * STRIDE + Command.BYTES;
    }

    /** Sends the capsule of a slot, without data. */
    void submit(int slot, long cookie) {
        submit(slot, cookie, null, 0, 0);
    }

    /** Sends the capsule of a slot, followed by data. */
    void submit(int slot, long cookie, @Nullable MemoryRegion data, long offset, int length) {
        begin(slot, cookie);
        try {
            SendWorkRequest send = capsule(slot);
            if (data != null) {
                send.add(data, offset, length);
            }
            queuePair.postSend(send);
        } catch (RuntimeException e) {
            throw notSubmitted(slot, data, e);
        }
        submitted();
    }

    /**
     * Sends the capsule of a slot, whose command names memory that the controller reads or writes.
     *
     * @param access REMOTE_READ or REMOTE_WRITE
     */
    void submitKeyed(int slot, long cookie, MemoryRegion data, long offset, int length, AccessFlag access) {
        MemorySegment entry = commands[slot];
        if (lending == null) {
            Command.keyed(entry, data.address() + offset, length, data.rkey(), Command.KEYED);
            submit(slot, cookie);
            return;
        }
        begin(slot, cookie);
        try {
            SendWorkRequest binding = lending.binding(slot, data, offset, length, access);
            Command.keyed(entry, data.address() + offset, length, lending.key(slot), Command.KEYED_INVALIDATE);
            capsule(slot);
            queuePair.postSend(binding);
        } catch (RuntimeException e) {
            throw notSubmitted(slot, data, e);
        }
        lending.lent(slot);
        submitted();
    }

    private void begin(int slot, long cookie) {
        cookies[slot] = cookie;
        sent[slot] = false;
        answered[slot] = false;
        patient[slot] = false;
        abortAsked[slot] = false;
        begun[slot] = System.nanoTime();
        state[slot] = UNDER_WAY;
    }

    private SendWorkRequest capsule(int slot) {
        return sends[slot].clear().id(slot).send().signaled(true).add(capsules, (long) slot * STRIDE, Command.BYTES);
    }

    /** Returns what to throw, and gives back the slot, after a failure to send its capsule. */
    private RuntimeException notSubmitted(int slot, @Nullable MemoryRegion data, RuntimeException failure) {
        putBack(slot);
        check();
        if (data != null && !data.isOpen()) {
            return failure;
        }
        // There was room for the command, so nothing can be sent here any more.
        lose(failure);
        return lostException("a command");
    }

    private void submitted() {
        underWay++;
        tail = (tail + 1) % entries;
    }

    /** Has commands take at most a second from now on, because this queue ends. */
    void hurry() {
        timeoutNanos = Math.min(timeoutNanos, LAST_NANOS);
    }

    /** Has the command of a slot wait for its response for any time. */
    void waitForEver(int slot) {
        patient[slot] = true;
        patientCount++;
    }

    /** Looks for responses without waiting. Ends all commands once the connection is lost. */
    void poll() {
        if (lost == null) {
            try {
                int count;
                do {
                    count = receiveQueue.poll(receiveCompletions);
                    take(count);
                } while (count == BATCH && lost == null);
            } catch (RuntimeException e) {
                lose(e);
            }
        }
        settleLoss();
    }

    /**
     * Waits for completions, at most for a time, and ends all commands if one takes too long or waiting fails.
     *
     * @param nanos how long to wait at most
     */
    void await(long nanos) throws InterruptedException {
        if (doneCount == 0 && lost == null) {
            Duration limit = nanos < LOOK.toNanos() ? Duration.ofNanos(nanos) : LOOK;
            try {
                // Usually not for the capsules that were sent, because nobody waits for them: their responses come
                // later.
                if (early == 0) {
                    take(receiveQueue.await(receiveCompletions, limit));
                } else {
                    takeSent(sendQueue.await(sendCompletions, limit));
                    take(receiveQueue.poll(receiveCompletions));
                }
            } catch (RuntimeException e) {
                lose(e);
            }
            if (doneCount == 0) {
                checkTimes();
            }
        }
        settleLoss();
    }

    /** How long a wait goes on without looking whether the connection is there. */
    private static final Duration LOOK = Duration.ofMillis(50);

    /** Takes responses, after the capsules that were sent before them: their failures say more. */
    private void take(int count) {
        int sends;
        do {
            sends = sendQueue.poll(sendCompletions);
            takeSent(sends);
        } while (sends == BATCH && lost == null);
        for (int i = 0; i < count && lost == null; i++) {
            if (checkSucceeded(receiveCompletions, i)) {
                respond((int) receiveCompletions.id(i), i);
            }
        }
    }

    private void takeSent(int count) {
        for (int i = 0; i < count && lost == null; i++) {
            if (checkSucceeded(sendCompletions, i)) {
                int slot = (int) sendCompletions.id(i);
                if (sendCompletions.opcode(i) == CompletionOpcode.SEND) {
                    sent[slot] = true;
                } else if (sendCompletions.opcode(i) == CompletionOpcode.LOCAL_INV) {
                    Objects.requireNonNull(lending).returned(slot);
                }
                if (answered[slot] && isOver(slot)) {
                    early--;
                }
                endIfOver(slot);
            }
        }
    }

    /** Whether the device has done all that this host has asked it for a command. */
    private boolean isOver(int slot) {
        return sent[slot] && (lending == null || !lending.isLent(slot));
    }

    private boolean checkSucceeded(WorkCompletions completions, int index) {
        boolean succeeded = completions.succeeded(index);
        if (!succeeded) {
            lose(new IllegalStateException(
                    "the connection of queue " + number + " has failed: " + completions.describe(index)));
        }
        return succeeded;
    }

    private void respond(int index, int completion) {
        MemorySegment reply = replies[index];
        int length = receiveCompletions.byteLength(completion);
        if (length != Response.BYTES) {
            lose(protocolError("a response of " + length + " bytes instead of " + Response.BYTES));
            return;
        }
        int slot = Response.id(reply);
        if (slot >= slots || state[slot] != UNDER_WAY || answered[slot]) {
            lose(protocolError("a response to command " + slot + ", which is not under way"));
            return;
        }
        if (!takeBack(slot, completion)) {
            return;
        }
        results[slot] = Response.result(reply);
        statuses[slot] = Response.status(reply);
        answered[slot] = true;
        if (!isOver(slot)) {
            early++;
        }
        advance(Response.head(reply));
        queuePair.postReceive(receives[index]);
        endIfOver(slot);
    }

    /**
     * Takes back what was lent to a command that is answered: the controller has invalidated its key with the response, or this
     * host does. Returns false if the controller has invalidated another key.
     */
    private boolean takeBack(int slot, int completion) {
        LentMemory lender = lending;
        boolean isLent = lender != null && lender.isLent(slot);
        boolean invalidated = lender == null
                ? receiveCompletions.hasInvalidatedRkey(completion)
                : lender.isInvalidated(receiveCompletions, completion);
        if (!invalidated) {
            if (lender != null && isLent) {
                lender.takeBack(slot);
            }
            return true;
        }
        int key = receiveCompletions.invalidatedRkey(completion);
        if (lender == null || !isLent || key != lender.key(slot)) {
            lose(protocolError("a response to command " + slot + " which invalidates the key 0x"
                    + Integer.toHexString(key) + ", though that was not lent to it,"));
            return false;
        }
        lender.returned(slot);
        return true;
    }

    /** Responses may overtake one another, so that a head may also be one of the past. */
    private void advance(int to) {
        if (to < entries && distance(head, to) <= distance(head, tail)) {
            head = to;
        }
    }

    private int distance(int from, int to) {
        return to >= from ? to - from : to - from + entries;
    }

    private void endIfOver(int slot) {
        if (isOver(slot) && answered[slot] && state[slot] == UNDER_WAY) {
            end(slot);
        }
    }

    private void end(int slot) {
        state[slot] = DONE;
        aborts.cancel(slot);
        underWay--;
        if (patient[slot]) {
            patient[slot] = false;
            patientCount--;
        }
        done[(doneHead + doneCount) % slots] = slot;
        doneCount++;
    }

    private IllegalStateException protocolError(String what) {
        return new IllegalStateException("the controller has sent " + what + " on queue " + number);
    }

    /**
     * Ends the connection if it has ended otherwise, or if the controller takes too long for a command although it was asked to
     * abort it.
     */
    void checkTimes() {
        if (lost != null) {
            return;
        }
        if (!connection.isConnected()) {
            lose(new IllegalStateException("the controller has ended the connection of queue " + number));
            return;
        }
        if (underWay == 0) {
            return;
        }
        long now = System.nanoTime();
        for (int i = 0; i < slots; i++) {
            long late = now - begun[i] - timeoutNanos;
            if (state[i] != UNDER_WAY || patient[i] || late <= 0) {
                continue;
            }
            boolean canAbort = canAbort(i);
            if (canAbort && late <= abortNanos) {
                if (!abortAsked[i] && aborts.ask(i)) {
                    abortAsked[i] = true;
                    association.abort(this, i);
                }
            } else {
                lose(new IllegalStateException("the controller has not answered command " + i + " of queue " + number
                        + ", " + name(i) + ", for "
                        + Duration.ofNanos(timeoutNanos)
                        + (canAbort
                                ? ", nor in " + Duration.ofNanos(abortNanos) + " after it was to be aborted"
                                : "")));
                return;
            }
        }
    }

    /** Only I/O commands are aborted: without an answer on the Admin queue, there is none to an Abort either. */
    private boolean canAbort(int slot) {
        return number != 0 && abortNanos > 0 && Command.opcode(commands[slot]) != Opcode.FABRICS;
    }

    /** Marks the connection as lost, whoever finds out. The first reason stays. */
    void lose(RuntimeException reason) {
        synchronized (this) {
            if (lost != null) {
                return;
            }
            lost = reason;
        }
        wakeup();
    }

    private void wakeup() {
        try {
            Objects.requireNonNull(connection.completionChannel()).wakeup();
        } catch (IllegalStateException closedMeanwhile) {
            // Nobody waits there.
        }
    }

    boolean isLost() {
        return lost != null;
    }

    /** Why the connection is lost; null if it is not. */
    @Nullable
    RuntimeException reason() {
        return lost;
    }

    /**
     * Ends all commands with the loss. First the queue pairs of all queues are closed: the key of a region holds for each of
     * them, so that the controller could reach the memory of a command by any.
     */
    private void settleLoss() {
        if (lost == null || lossSettled) {
            return;
        }
        // If that fails, the commands end with a later attempt.
        association.closeQueuePairs(this);
        lossSettled = true;
        try {
            if (lending != null) {
                // Those that were never bound are not closed with the queue pair.
                lending.close();
            }
        } finally {
            try {
                connection.close();
            } finally {
                endAll();
            }
        }
    }

    /** Closes the queue pair. Any thread may call it: one that uses the queue finds that it is lost. */
    void closeQueuePair() {
        queuePair.close();
    }

    private void endAll() {
        for (int i = 0; i < slots; i++) {
            if (state[i] == UNDER_WAY) {
                statuses[i] = NvmeStatus.HOST_PATH_ERROR.field();
                results[i] = 0;
                end(i);
            }
        }
    }

    /** Returns a slot whose command has ended, for its outcome; -1 if there is none. */
    int takeDone() {
        if (doneCount == 0) {
            return -1;
        }
        int slot = done[doneHead];
        doneHead = (doneHead + 1) % slots;
        doneCount--;
        return slot;
    }

    /**
     * Waits for the command of a slot, frees the slot, and returns the result. An interrupt does not end the wait, which the time
     * for commands limits, because the controller may still reach the memory of the command.
     *
     * @param others takes the slots of other commands that have ended
     */
    long finish(int slot, String command, IntConsumer others) {
        if (slot < 0) {
            // Blocking calls have a queue for themselves, so that there is a slot.
            lose(new IllegalStateException("queue " + number + " has no entry for " + command + ", though " + underWay
                    + " of " + slots + " commands are under way"));
            throw lostException(command);
        }
        boolean interrupted = false;
        try {
            while (true) {
                int ended = takeDone();
                if (ended == slot) {
                    NvmeStatus status = NvmeStatus.of(statuses[slot]);
                    long result = results[slot];
                    release(slot);
                    if (status.isSuccess()) {
                        return result;
                    }
                    throw status.equals(NvmeStatus.HOST_PATH_ERROR) && isLost()
                            ? lostException(command)
                            : new NvmeException(command, status);
                }
                if (ended >= 0) {
                    others.accept(ended);
                } else {
                    interrupted |= awaitUninterruptibly();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Waits as {@link #await} does, and returns whether there was an interrupt. If the end of the connection fails, it is tried
     * again, because nobody may go on while the controller can still reach the memory of a command.
     */
    boolean awaitUninterruptibly() {
        try {
            await(Long.MAX_VALUE);
            return false;
        } catch (InterruptedException e) {
            return true;
        } catch (RuntimeException e) {
            settleLoss();
            return false;
        }
    }

    long cookie(int slot) {
        return cookies[slot];
    }

    long result(int slot) {
        return results[slot];
    }

    int status(int slot) {
        return statuses[slot];
    }

    /** The name of the command of a slot; once the connection is lost, its memory is gone. */
    String name(int slot) {
        if (lossSettled) {
            return "a command";
        }
        MemorySegment command = commands[slot];
        return Opcode.name(number == 0, Command.opcode(command), Command.fabricsType(command));
    }

    /** Makes a slot free whose outcome was taken. */
    void release(int slot) {
        if (aborts.isSent(slot) && lost == null) {
            state[slot] = HELD;
            heldCount++;
        } else {
            putBack(slot);
        }
    }

    int underWay() {
        return underWay;
    }

    /** How many commands have an outcome that nobody has taken yet. */
    int pending() {
        return slots - freeCount - heldCount;
    }

    /** Throws if nothing can be sent. */
    void check() {
        if (closed) {
            throw new IllegalStateException("queue " + number + " is closed");
        }
        if (lost != null) {
            throw lostException("a command");
        }
    }

    NvmeException lostException(String command) {
        RuntimeException reason = lost;
        return new NvmeException(
                command, NvmeStatus.HOST_PATH_ERROR, reason == null ? "" : reason.getMessage(), reason);
    }

    /** Ends the connection. Commands under way end with a status of the path, for those who take them. */
    @Override
    public void close() {
        closed = true;
        end();
    }

    /** Ends the connection, as closing does, of a queue that its users have not closed. */
    void end() {
        lose(new IllegalStateException("queue " + number + " was closed by this host"));
        lock.lock();
        try {
            settleLoss();
        } finally {
            lock.unlock();
        }
    }
}
