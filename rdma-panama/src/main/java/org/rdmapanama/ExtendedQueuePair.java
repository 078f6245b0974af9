package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.provider.DcRole;
import org.rdmapanama.internal.provider.DriverFunction;
import org.rdmapanama.queue.QueuePairCapabilities;
import org.rdmapanama.queue.SendOperation;

/**
 * A queue pair whose sends can also be posted call by call, {@code struct ibv_qp_ex}: without a structure for each work
 * request, and with operations that {@link QueuePair#postSend} lacks; see ibv_wr_post(3).
 *
 * <p>{@snippet :
 * ExtendedQueuePair qp = pd.createExtendedQueuePair(
 *         new QueuePairOptions(QueuePairType.RC, queue).sendOperations(SendOperation.RDMA_WRITE, SendOperation.SEND));
 * qp.connect(peer);
 * try (WorkRequestBuilder batch = qp.startWorkRequests()) {
 *     batch.rdmaWrite(remoteAddress, rkey).add(region, 0, 4096);
 *     batch.id(7).signaled(true).send();
 *     batch.complete();
 * }
 * }
 *
 * <p>A batch, from {@link #startWorkRequests} to {@link WorkRequestBuilder#complete} or {@link
 * WorkRequestBuilder#abort}, belongs to the thread that started it. While it is open no other call may use the send
 * queue: {@link #postSend}, {@link #bind}, {@link #modify} and a second batch are refused. Closing this waits at most
 * two seconds for the batch of another thread; a batch of the closing thread, or of a terminated thread, is aborted.
 *
 * <p>Threads: see {@link VerbsArena}, except for batches. Methods that use the arena or the native object throw {@link
 * WrongThreadException} when the arena is confined to another thread.
 */
public final class ExtendedQueuePair extends QueuePair {
    private final Set<SendOperation> sendOperations;
    private final Batch batch;
    private final WorkRequestBuilder builder;

    private ExtendedQueuePair(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            long address,
            QueuePairCapabilities granted,
            @Nullable DcRole role) {
        super(protectionDomain.context, protectionDomain, options, address, granted, role);
        sendOperations = Codes.copyOf(SendOperation.class, options.sendOperations());
        builder = new WorkRequestBuilder(this, provider.extended(address), options.maxTsoHeader());
        batch = builder.batch();
    }

    /**
     * Creates an extended queue pair.
     *
     * @param role of the dynamically connected transport; null for others
     */
    static ExtendedQueuePair createExtended(
            ProtectionDomain protectionDomain,
            QueuePairOptions options,
            DriverFunction function,
            @Nullable DcRole role) {
        if (options.sendOperations().isEmpty()) {
            throw new IllegalArgumentException("options must name the operations of an extended queue pair; call"
                    + " QueuePairOptions.sendOperations, or create a plain one with ProtectionDomain.createQueuePair");
        }
        QueuePairCreation.checkType(options, role);
        return QueuePairCreation.create(
                protectionDomain,
                options,
                function,
                (qp, granted) -> new ExtendedQueuePair(protectionDomain, options, qp, granted, role));
    }

    /**
     * Wraps an extended queue pair that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param sendQueue the completion queue of its sends
     * @param receiveQueue the completion queue of its receives; null if it has none, as with type XRC_SEND
     * @param sendOperations the operations that it was created for, which cannot be queried; posting any other crashes
     *     the process
     * @param nativeAddress address of the {@code struct ibv_qp}
     * @param ownership whether closing this object destroys the native one
     * @return the queue pair
     * @throws IllegalArgumentException when the address is 0 or already has a Java object, when the native queue pair
     *     belongs to another protection domain or to other completion queues, when it was created without send
     *     operations, or when it is of the dynamically connected transport: see the module of its driver
     * @throws NullPointerException when an argument is null
     * @throws VerbsException when the queue pair cannot be queried
     * @throws IllegalStateException when the protection domain or a completion queue is closed
     *
     * @verb ibv_qp_to_qp_ex
     */
    @CheckReturnValue
    public static ExtendedQueuePair ofNativeAddress(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership) {
        return wrap(protectionDomain, sendQueue, receiveQueue, sendOperations, nativeAddress, ownership, null);
    }

    /**
     * Wraps a native queue pair.
     *
     * @param role of the dynamically connected transport; null for others
     */
    static ExtendedQueuePair wrap(
            ProtectionDomain protectionDomain,
            CompletionQueue sendQueue,
            @Nullable CompletionQueue receiveQueue,
            Set<SendOperation> sendOperations,
            long nativeAddress,
            Ownership ownership,
            @Nullable DcRole role) {
        SendOperation[] operations = sendOperations.toArray(SendOperation[]::new);
        return QueuePairCreation.wrap(
                protectionDomain, sendQueue, receiveQueue, nativeAddress, ownership, role, options -> {
                    if (protectionDomain.provider.extended(nativeAddress) == 0) {
                        throw new IllegalArgumentException(
                                "nativeAddress must be that of an extended queue pair; this one was created without"
                                        + " the send operations " + Arrays.toString(operations));
                    }
                    return new ExtendedQueuePair(
                            protectionDomain, options.sendOperations(operations), nativeAddress, options.sizes(), role);
                });
    }

    /** {@return the operations that batches may post, an unmodifiable set} */
    public Set<SendOperation> sendOperations() {
        return sendOperations;
    }

    /**
     * Starts a batch of work requests; see ibv_wr_start(3). Allocates nothing. Complete it before polling, because the
     * driver efa holds a lock until then that polling needs.
     *
     * @return the builder of this queue pair, the same one each time
     * @throws IllegalStateException when this is closed, or a batch is open
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
        batch.finishIfAbandoned();
        closing.hold(batch);
    }

    @Override
    boolean shut() {
        builder.abortForGood();
        return super.shut();
    }
}
