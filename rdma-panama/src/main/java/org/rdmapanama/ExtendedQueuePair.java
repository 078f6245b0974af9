package org.rdmapanama;

import java.util.Arrays;
import java.util.Set;

/**
 * A queue pair whose sends can also be posted call by call, {@code struct ibv_qp_ex}: without a structure for each work
 * request, and with operations that {@link QueuePair#postSend} does not have; see ibv_wr_post(3).
 *
 * <p>{@snippet :
 * ExtendedQueuePair qp = pd.createExtendedQueuePair(
 *         new QueuePairOptions(QueuePairType.RC, queue).sendOperations(SendOperation.RDMA_WRITE, SendOperation.SEND));
 * qp.connect(peer);
 * try (WorkRequestBuilder batch = qp.startWorkRequests()) {
 *     batch.rdmaWrite(remoteAddress, rkey).segment(region, 0, 4096);
 *     batch.id(7).signaled(true).send();
 *     batch.complete();
 * }
 * }
 *
 * <p>A batch, from {@link #startWorkRequests} to {@link WorkRequestBuilder#complete} or
 * {@link WorkRequestBuilder#abort}, is of the thread that started it. While it is open no other call may touch the send
 * queue: {@link #postSend}, {@link #bind}, {@link #modify} and a second batch are refused. Closing this waits two seconds
 * at most for the batch of another thread; one of the closing thread, or of a thread that has ended, is aborted.
 *
 * <p>Threads: as its {@link VerbsArena} says, but for batches.
 */
public final class ExtendedQueuePair extends QueuePair {
    private final Set<SendOperation> sendOperations;
    private final Batch batch;
    private final WorkRequestBuilder builder;

    private ExtendedQueuePair(
            ProtectionDomain protectionDomain, QueuePairOptions options, long address, QueuePairCapabilities granted) {
        super(protectionDomain.context, protectionDomain, options, address, granted);
        sendOperations = SendOperation.copyOf(options.sendOperations());
        builder = new WorkRequestBuilder(this, provider.extended(address), options.maxTsoHeader());
        batch = builder.batch();
    }

    static ExtendedQueuePair createExtended(ProtectionDomain protectionDomain, QueuePairOptions options) {
        if (options.sendOperations().isEmpty()) {
            throw new IllegalArgumentException("an extended queue pair must be told what it is to post: see"
                    + " QueuePairOptions.sendOperations; without, see ProtectionDomain.createQueuePair");
        }
        return create(
                protectionDomain,
                options,
                (qp, granted) -> new ExtendedQueuePair(protectionDomain, options, qp, granted));
    }

    /**
     * Makes an extended queue pair for one that other code of this process has made.
     *
     * @param protectionDomain the protection domain that it was made in
     * @param sendQueue where its sends complete
     * @param receiveQueue where its receives complete; null when it was made without, as those of type XRC_SEND are
     * @param sendOperations what it was made to post, which cannot be asked: an operation too many ends the process
     * @param nativeAddress address of the {@code struct ibv_qp}
     * @param ownership whether closing this object ends the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or has an object already, when the native queue pair belongs
     *     to another protection domain or to other completion queues, or when it was made without send operations
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the queue pair cannot be queried
     * @throws IllegalStateException when the protection domain or a completion queue is closed
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_qp_to_qp_ex
     */
    public static ExtendedQueuePair ofNativeAddress(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership) {
        SendOperation[] operations = sendOperations.toArray(SendOperation[]::new);
        return wrap(protectionDomain, sendQueue, receiveQueue, nativeAddress, ownership, options -> {
            if (protectionDomain.provider.extended(nativeAddress) == 0) {
                throw new IllegalArgumentException(
                        "the native queue pair is no extended one: it was made without " + Arrays.toString(operations));
            }
            return new ExtendedQueuePair(
                    protectionDomain, options.sendOperations(operations), nativeAddress, options.sizes());
        });
    }

    /**
     * What batches may post.
     *
     * @return the operations that this was made for, unmodifiable
     */
    public Set<SendOperation> sendOperations() {
        return sendOperations;
    }

    /**
     * Starts a batch of work requests; see ibv_wr_start(3). Allocates nothing. Complete it before polling: the driver efa
     * holds a lock until then that polling waits for.
     *
     * @return the builder of this queue pair, the same one each time
     * @throws IllegalStateException when this is closed, or a batch is open
     * @throws WrongThreadException when the arena is confined to another thread
     *
     * @verb ibv_wr_start
     */
    public WorkRequestBuilder startWorkRequests() {
        batch.open();
        return builder;
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
    Batch batch() {
        return batch;
    }

    @Override
    void holdBatches(Closing closing) {
        super.holdBatches(closing);
        builder.abortIfAbandoned();
        closing.hold(batch);
    }

    @Override
    boolean shut() {
        builder.abortForGood();
        return super.shut();
    }
}
