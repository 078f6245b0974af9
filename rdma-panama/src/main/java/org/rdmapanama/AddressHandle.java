package org.rdmapanama;

import com.google.errorprone.annotations.CheckReturnValue;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.internal.Errno;
import org.rdmapanama.ffm.internal.KnownMemory;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.internal.AddressStructs;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * An address handle, {@code struct ibv_ah}: the destination of a datagram.
 *
 * <p>Threads: see {@link VerbsArena}. Methods that use the arena or a native object throw {@link WrongThreadException}
 * when the arena is confined to another thread.
 */
public final class AddressHandle extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_ah", ProviderContext::destroyAddressHandle);

    /** The number of bytes in front of every received datagram that are reserved for the global routing header. */
    public static final int GRH_BYTES = 40;

    private final @Nullable AddressVector path;
    final ProtectionDomain protectionDomain;

    private AddressHandle(ProtectionDomain protectionDomain, long address, @Nullable AddressVector path) {
        super(protectionDomain.context, address, protectionDomain);
        this.protectionDomain = protectionDomain;
        this.path = path;
    }

    static AddressHandle create(ProtectionDomain protectionDomain, AddressVector path) {
        try (Arena temporary = KnownMemory.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            AddressStructs.writeVector(path, attributes);
            return create(
                    "ibv_create_ah",
                    protectionDomain,
                    path,
                    () -> protectionDomain.provider.createAddressHandle(
                            protectionDomain.address, attributes.address()));
        }
    }

    static AddressHandle create(
            ProtectionDomain protectionDomain, WorkCompletions completions, int index, MemorySegment header, int port) {
        protectionDomain.checkOpen();
        AddressVector path = protectionDomain.context.addressVectorOf(completions, index, header, port);
        try (Arena temporary = KnownMemory.ofConfined()) {
            long completion = completions
                    .copyOfDatagram(protectionDomain.arena, index, temporary)
                    .address();
            MemorySegment copy = copyOfHeader(temporary, header);
            return create(
                    "ibv_create_ah_from_wc",
                    protectionDomain,
                    path,
                    () -> protectionDomain.provider.createAddressHandleFromCompletion(
                            protectionDomain.address, completion, copy.address(), port));
        }
    }

    private static AddressHandle create(
            String verb, ProtectionDomain protectionDomain, AddressVector path, LongSupplier nativeCreate) {
        return protectionDomain.context.create(
                new Creation(verb, ENDING)
                        .arguments(path::toString)
                        .cures(errno -> errno == Errno.ETIMEDOUT
                                ? "no host answers at " + path.destination() + "; check the address and the route to it"
                                : protectionDomain.provider.cure(errno)),
                () -> {
                    protectionDomain.checkOpen();
                    return nativeCreate.getAsLong();
                },
                ah -> new AddressHandle(protectionDomain, ah, path));
    }

    /**
     * Copies the header that a device put in front of a datagram to native memory, because the original may be on the
     * heap.
     *
     * @throws IllegalArgumentException when it is shorter than a header
     */
    static MemorySegment copyOfHeader(Arena arena, MemorySegment header) {
        if (header.byteSize() < GRH_BYTES) {
            throw new IllegalArgumentException("routingHeader must have at least " + GRH_BYTES + " bytes: "
                    + header.byteSize() + "; pass the first bytes of the buffer that received the datagram");
        }
        return arena.allocate(GRH_BYTES, Long.BYTES).copyFrom(header.asSlice(0, GRH_BYTES));
    }

    /**
     * Wraps an address handle that other code in this process has created.
     *
     * @param protectionDomain the protection domain in which it was created
     * @param nativeAddress address of the {@code struct ibv_ah}
     * @param ownership whether closing this object destroys the native one
     * @return the address handle, without a {@link #path}
     * @throws IllegalArgumentException when the address is 0 or already has a Java object
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     */
    @CheckReturnValue
    public static AddressHandle ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return protectionDomain.context.wrap(nativeAddress, ownership, ah -> {
            protectionDomain.checkOpen();
            return new AddressHandle(protectionDomain, ah, null);
        });
    }

    /**
     * {@return the path that datagrams take; null when this was created from a native address, which does not contain
     * it}
     */
    public @Nullable AddressVector path() {
        return path;
    }

    @Override
    Ending ending() {
        return ENDING;
    }

    @Override
    int closingOrder() {
        return 2;
    }

    /** The path and the device. */
    @Override
    public String toString() {
        return "address handle of " + context + (path == null ? "" : " to " + path);
    }
}
