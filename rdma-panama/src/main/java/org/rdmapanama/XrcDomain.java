package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_xrcd_init_attr;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.internal.provider.ProviderContext;
import org.rdmapanama.queue.OpenFlag;

/**
 * A domain of extended reliable connections, {@code struct ibv_xrcd}: the common domain of XRC_RECV queue pairs and the
 * shared receive queues that their peers may name.
 *
 * <p>Processes share one by opening it for the same file. Closing this object releases it in this process only.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class XrcDomain extends ContextObject {
    static final Ending ENDING = new Ending("ibv_close_xrcd", ProviderContext::closeXrcDomain);

    static final String CAPABILITY = "DeviceCapability.XRC in DeviceAttributes.capabilities";

    private XrcDomain(Context context, long address) {
        super(context, address, context);
    }

    static XrcDomain open(Context context, int fileDescriptor, Set<OpenFlag> flags) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_xrcd_init_attr.layout());
            ibv_xrcd_init_attr.comp_mask(
                    attributes, rdma_h.IBV_XRCD_INIT_ATTR_FD() | rdma_h.IBV_XRCD_INIT_ATTR_OFLAGS());
            ibv_xrcd_init_attr.fd(attributes, fileDescriptor);
            ibv_xrcd_init_attr.oflags(attributes, Codes.mask(flags, OpenFlag::code));
            return context.create(
                    new Creation("ibv_open_xrcd", ENDING)
                            .arguments(() -> (fileDescriptor < 0 ? "no file" : "file descriptor " + fileDescriptor)
                                    + ", " + flags)
                            .cures(XrcDomain::cure)
                            .capability(CAPABILITY),
                    () -> context.provider().openXrcDomain(attributes.address()),
                    xrcd -> new XrcDomain(context, xrcd));
        }
    }

    private static @Nullable String cure(int errno) {
        if (errno == Errno.ENOENT) {
            return "no process has opened a domain for this file; OpenFlag.CREAT creates one";
        }
        if (errno == Errno.EEXIST) {
            return "a domain for this file already exists, which OpenFlag.EXCL refuses";
        }
        return null;
    }

    /**
     * Wraps an XRC domain that other code in this process has opened.
     *
     * @param context the open device on which it was opened
     * @param nativeAddress address of the {@code struct ibv_xrcd}
     * @param ownership whether closing this object closes the native one
     * @return the domain
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the context is closed
     */
    @CheckReturnValue
    public static XrcDomain ofNativeAddress(Context context, long nativeAddress, Ownership ownership) {
        return context.wrap(nativeAddress, ownership, xrcd -> new XrcDomain(context, xrcd));
    }

    /**
     * Opens a queue pair of type XRC_RECV of this domain that this or another process has created; see ibv_open_qp(3).
     * Closing the object releases it in this process only.
     *
     * @param number the number of the queue pair, 24 bits
     * @return the queue pair
     * @throws IllegalArgumentException when the number is out of its range
     * @throws UnsupportedVerbException when the device does not support such queue pairs
     * @throws VerbsException when the verb fails, for example with EINVAL when there is no such queue pair
     * @throws IllegalStateException when this is closed
     * @verb ibv_open_qp
     */
    @CheckReturnValue
    public QueuePair openQueuePair(int number) {
        return QueuePairCreation.open(this, number);
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 5;
    }

    /** The device. */
    @Override
    public String toString() {
        return "XRC domain of " + context;
    }
}
