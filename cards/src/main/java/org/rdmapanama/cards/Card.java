package org.rdmapanama.cards;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.rdmapanama.cards.Layout.View;
import org.rdmapanama.ffm.internal.Errno;

/**
 * A kind of network card that exists in this process only: what its driver in the kernel would tell the provider library,
 * and how its queues work. The objects behind the queues are those of soft0, the software device.
 *
 * <p>Called with the lock of the {@link DeviceFile} held.
 */
interface Card {
    /** Returns the name of the device, such as {@code mlx5_0}. */
    String name();

    /** Returns the modalias in sysfs, by which the provider recognizes the card. */
    String modalias();

    /** Returns the version of the driver's interface, in sysfs. */
    int abiVersion();

    /** Returns the kind of node, in sysfs. */
    default String nodeType() {
        return "1: CA";
    }

    /** Returns the link layer of its port, in sysfs. */
    default String linkLayer() {
        return "Ethernet";
    }

    /** Returns the type of its GIDs, in sysfs. */
    default String gidType() {
        return "RoCE v2";
    }

    /** Returns the length of the GID table of its port. */
    default int gidTable() {
        return SysfsTree.GID_TABLE;
    }

    /** Returns the lock of a device file: one for each, unless the queue pairs of several ones work together. */
    default Lock lock() {
        return new ReentrantLock();
    }

    /** Corrects what soft0 said to QUERY_DEVICE. */
    default void correctDevice(View out) {}

    /** Corrects what soft0 said to QUERY_PORT. */
    default void correctPort(View out) {}

    /** Returns the type of the soft0 queue pair that stands behind a queue pair. */
    default int softType(int type) throws CommandException {
        return type;
    }

    /** Refuses a CREATE_QP that the driver in the kernel refuses. */
    default void checkQueuePair(View in, long driverIn) throws CommandException {}

    /** Returns which attributes of a MODIFY_QP the soft0 queue pair gets. */
    default int softMask(int mask) {
        return mask;
    }

    /** Returns the key of memory, local and remote, that soft0 has given another one. */
    default int key(int handle, int softKey) {
        return softKey;
    }

    /** Writes the driver's part of the answer to GET_CONTEXT. */
    void describeContext(long out);

    /** Writes the driver's part of the answer to an extended QUERY_DEVICE. */
    default void describeDevice(long out, int length) {}

    /** Writes the driver's part of the answer to ALLOC_PD. */
    default void describeProtectionDomain(int number, long out) {}

    /** Writes the driver's part of the answer to CREATE_AH. */
    default void describeAddressHandle(int number, long out) {}

    /**
     * Executes a command of the card's driver that arrives through ioctl(2).
     *
     * @throws CommandException if the driver does not have it, with EPROTONOSUPPORT
     */
    default void control(Uverbs.Control command) throws CommandException {
        throw new CommandException(Errno.EPROTONOSUPPORT);
    }

    /**
     * Maps a page of the card.
     *
     * @return its address, or a negated errno
     */
    long map(DeviceFile file, long length, long offset);

    /** Creates a completion queue for a soft0 queue that was created with room for {@code entries}. */
    CardCompletionQueue createCompletionQueue(DeviceFile file, CompletionQueueRequest request);

    /**
     * Creates a queue pair.
     *
     * @throws CommandException if the card does not have such queue pairs
     */
    CardQueuePair createQueuePair(DeviceFile file, QueuePairRequest request) throws CommandException;

    CardSharedReceiveQueue createSharedReceiveQueue(DeviceFile file, SharedReceiveQueueRequest request);

    /**
     * What a card needs to create a completion queue.
     *
     * @param entries the capacity that the provider asked for
     * @param handle the identifier that the provider gave the queue, for events
     * @param channel where events go, or null
     * @param in the driver's part of the command
     * @param out the driver's part of the answer
     */
    record CompletionQueueRequest(
            int number, long softQueue, int entries, long handle, CardEvents channel, long in, long out) {}

    /** What a card needs to create a queue pair. */
    record QueuePairRequest(
            long softPair,
            int number,
            int type,
            long protectionDomain,
            int sends,
            int receives,
            CardCompletionQueue sendCompletions,
            CardCompletionQueue receiveCompletions,
            CardSharedReceiveQueue shared,
            long in,
            long out) {}

    /** What a card needs to create a shared receive queue. */
    record SharedReceiveQueueRequest(long softQueue, int number, int entries, int segments, long in, long out) {}
}
