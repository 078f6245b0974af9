package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.completion.CompletionField;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_poll_cq_attr;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.Traffic;
import org.rdmapanama.internal.provider.CompletionVerbs;
import org.rdmapanama.internal.provider.DirectCompletionQueue;

/**
 * A completion queue that is read in place, {@code struct ibv_cq_ex}: the program reads one completion after the other
 * where the device wrote it, and only the fields that it needs; see ibv_create_cq_ex(3).
 *
 * <p>{@snippet :
 * try (PollCursor cursor = queue.poll()) {
 *     while (cursor.next()) {
 *         if (cursor.succeeded()) {
 *             received(cursor.id(), cursor.byteLength());
 *         }
 *     }
 * }
 * }
 *
 * <p>It can be used and polled like any {@link CompletionQueue}, but not while a batch is open: from the first
 * successful {@link PollCursor#next} to {@link PollCursor#close} the queue belongs to the thread that started the batch. Other polling, resizing and requesting
 * notification are refused meanwhile. A driver may hold a lock during a batch, so keep it short.
 *
 * <p>Closing this, its context or its arena ends a batch of the calling thread, and waits at most two seconds for one
 * of another thread. Creating or closing an object that reports here, moving a queue pair to RESET or ERR, and
 * modifying a work queue wait in the same way. They leave a batch of the calling thread open, but its current
 * completion can no longer be read: {@link PollCursor#next} or {@link PollCursor#close} must follow. Batches that other threads begin
 * meanwhile wait for the end of that call. Any call in a batch that has to wait for another thread may also end access
 * to the current completion, so read it first.
 *
 * <p>Posting during a batch is safe as long as the queue pair has room. When a queue pair looks full, drivers such as
 * mlx4, mlx5 and hns lock the completion queue to look again: another posting thread then waits for the end of the
 * batch, and the thread of the batch would wait forever. So post no more requests in a batch than have completed, or
 * end the batch first, or make the queue {@link CompletionQueueOptions#singleThreaded}, with which mlx4 and mlx5 hold
 * no lock during a batch.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or the native object throw {@link
 * WrongThreadException} when the arena is confined to another thread. A batch belongs to one thread. Reading allocates
 * nothing.
 *
 * @verb ibv_cq_ex_to_cq
 */
public final class ExtendedCompletionQueue extends CompletionQueue {
    private static final int ENOENT = Errno.ENOENT;

    private static final long NO_ATTRIBUTES =
            KnownMemory.ofShared().allocate(ibv_poll_cq_attr.layout()).address();

    private final CompletionVerbs verbs;
    private final Batch batch = new Batch(this, "PollCursor.close()", this::startAtFirst, this::finish);
    private final Set<CompletionField> fields;
    final PollCursor cursor;

    /**
     * Whether the batch has a current completion, and so the driver may hold its lock. Used only by the thread of the
     * batch.
     */
    private boolean current;

    /** For {@link CompletionQueueCreation}. The caller must hold the arena's lock. */
    ExtendedCompletionQueue(
            Context context,
            long address,
            @Nullable DirectCompletionQueue direct,
            Set<CompletionField> fields,
            boolean singleThreaded,
            VerbsObject... parents) {
        super(context, address, direct, parents);
        this.fields = Codes.copyOf(CompletionField.class, fields);
        verbs = completionVerbs(singleThreaded);
        cursor = new PollCursor(this, verbs, fields);
    }

    /**
     * Wraps an extended completion queue that other code in this process has created. Its events go to the object of
     * its channel, if the channel already has one. Its {@link #fields} are those that its driver made readable.
     *
     * @param context the open device on which it was created
     * @param nativeAddress address of the {@code struct ibv_cq_ex}; a plain {@code struct ibv_cq} is not one
     * @param ownership whether closing this object destroys the native one
     * @return the completion queue
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static ExtendedCompletionQueue ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return CompletionQueueCreation.wrapExtended(context, nativeAddress, ownership);
    }

    /**
     * {@return the fields that can be read of a completion besides identifier, status, opcode, flags and vendor error,
     * an unmodifiable set}
     */
    public Set<CompletionField> fields() {
        return fields;
    }

    /**
     * Returns the cursor that reads the completions. A batch begins with the first call of {@link PollCursor#next} that
     * finds one. Allocates nothing.
     *
     * @return the cursor of this queue, the same one each time
     * @throws IllegalStateException when this is closed, or the calling thread has a batch open
     */
    public PollCursor poll() {
        checkOpen();
        if (batch.isMine()) {
            throw new IllegalStateException("this thread has a batch open on " + this + "; close its PollCursor first");
        }
        return cursor;
    }

    /** Whether the calling thread has a batch open. */
    boolean isInBatch() {
        return batch.isMine();
    }

    /** Begins a batch at the first completion. Returns false if there is none, and then no batch is open. */
    boolean startPoll() {
        return batch.open();
    }

    /** Waits for a completion and begins a batch at it; see {@link PollCursor#await}. */
    boolean startPoll(Duration timeout, Duration spin) throws InterruptedException {
        return awaitAttempt(null, timeout, spin) > 0;
    }

    /** Begins a batch if there is nothing to receive completions. */
    @Override
    int attempt(@Nullable WorkCompletions completions) {
        if (completions != null) {
            return super.attempt(completions);
        }
        return startPoll() ? 1 : 0;
    }

    private boolean startAtFirst() {
        return found("ibv_start_poll", verbs.startPoll(address, NO_ATTRIBUTES));
    }

    /** Moves to the next completion of the batch. After false it may be called again, to check for new completions. */
    boolean nextPoll() {
        requireBatch();
        if (current) {
            return found("ibv_next_poll", verbs.nextPoll(address));
        }
        batch.resume();
        return startAtFirst();
    }

    private boolean found(String verb, int result) {
        current = result == 0;
        if (result < 0 && result != -ENOENT) {
            throw broken(verb, -result);
        }
        if (current && cursor.isFailure()) {
            cursor.noteFailure();
        } else if (Traffic.COUNTED && current) {
            cursor.noteTraffic();
        }
        return current;
    }

    /** Ends the batch. */
    void endPoll() {
        requireBatch();
        finish();
    }

    private void finish() {
        unlock();
        batch.end();
    }

    /** Releases the driver's lock, if it is held. */
    private void unlock() {
        if (current) {
            current = false;
            verbs.endPoll(address);
        }
    }

    boolean hasCurrent() {
        return current;
    }

    void requireBatch() {
        if (!batch.isMine()) {
            throw notInABatch();
        }
    }

    private IllegalStateException notInABatch() {
        checkOpen();
        return new IllegalStateException("this thread has no batch open on " + this + "; call PollCursor.next first");
    }

    @Override
    void beginCall() {
        batch.beginCall();
    }

    @Override
    void endCall() {
        batch.endCall();
    }

    @Override
    void pauseOwnBatch() {
        if (batch.isMine()) {
            unlock();
            batch.pause();
        }
    }

    @Override
    boolean tryBeginClearing() {
        return batch.tryBeginClearing();
    }

    @Override
    void endClearing() {
        batch.endClearing();
    }

    @Override
    Batch batch() {
        return batch;
    }

    /** Like {@link #pauseOwnBatch}, if another thread waits for this. */
    void pauseIfWanted() {
        if (batch.isWanted()) {
            pauseOwnBatch();
        }
    }

    @Override
    void holdForClearing(Closing closing) {
        batch.checkNotClearing();
        pauseOwnBatch();
        batch.finishIfAbandoned();
        closing.hold(batch);
    }

    @Override
    void holdBatches(Closing closing) {
        batch.checkNotClearing();
        if (batch.isMine()) {
            finish();
        }
        batch.finishIfAbandoned();
        closing.holdForGood(batch);
    }

    /** Size and device. */
    @Override
    public String toString() {
        return "extended " + super.toString();
    }
}
