package org.rdmapanama;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongSupplier;
import org.rdmapanama.ffm.verbs.ibv_ah_attr;
import org.rdmapanama.internal.provider.ProviderContext;

/**
 * An address handle, {@code struct ibv_ah}: where a datagram goes.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class AddressHandle extends ContextObject {
    static final Ending ENDING = new Ending("ibv_destroy_ah", ProviderContext::destroyAddressHandle);

    /** In front of every received datagram this many bytes are kept for the global routing header. */
    public static final int GRH_BYTES = 40;

    private final AddressVector path;
    final ProtectionDomain protectionDomain;

    private AddressHandle(ProtectionDomain protectionDomain, long address, AddressVector path) {
        super(protectionDomain.context, address, protectionDomain);
        this.protectionDomain = protectionDomain;
        this.path = path;
    }

    static AddressHandle create(ProtectionDomain protectionDomain, AddressVector path) {
        try (Arena temporary = Arena.ofConfined()) {
            MemorySegment attributes = temporary.allocate(ibv_ah_attr.layout());
            path.write(attributes);
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
        long completion = completions.addressOfDatagram(protectionDomain.arena, index);
        try (Arena temporary = Arena.ofConfined()) {
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
                verb,
                ENDING,
                path.toString(),
                errno -> errno == Errno.ETIMEDOUT.number
                        ? "no host answers at " + path.destination() + ": check the address and the route to it"
                        : null,
                () -> {
                    protectionDomain.checkOpen();
                    return nativeCreate.getAsLong();
                },
                ah -> new AddressHandle(protectionDomain, ah, path));
    }

    /**
     * What a device put in front of a datagram, where C may read it: the original may be of any memory.
     *
     * @throws IllegalArgumentException when there is less than a whole one
     */
    static MemorySegment copyOfHeader(Arena arena, MemorySegment header) {
        if (header.byteSize() < GRH_BYTES) {
            throw new IllegalArgumentException("a global routing header has " + GRH_BYTES + " bytes, not "
                    + header.byteSize() + ": it is the beginning of what the datagram's receive was posted with");
        }
        return arena.allocate(GRH_BYTES, Long.BYTES).copyFrom(header.asSlice(0, GRH_BYTES));
    }

    /**
     * Makes an address handle for one that other code of this process has made.
     *
     * @param protectionDomain what it was made in
     * @param nativeAddress address of the {@code struct ibv_ah}
     * @param ownership whether closing this object ends the native one
     * @return the address handle, without a {@link #path}
     * @throws IllegalArgumentException when the address is 0 or has an object already
     * @throws NullPointerException when an argument is null
     * @throws IllegalStateException when the protection domain is closed
     * @throws WrongThreadException when the arena is confined to another thread
     */
    public static AddressHandle ofNativeAddress(
            ProtectionDomain protectionDomain, long nativeAddress, Ownership ownership) {
        return protectionDomain.context.wrap(nativeAddress, ownership, ah -> {
            protectionDomain.checkOpen();
            return new AddressHandle(protectionDomain, ah, null);
        });
    }

    /**
     * The way that datagrams take.
     *
     * @return what this was made of, or null when it was made of a native address, which does not tell
     */
    public AddressVector path() {
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

    /** The way and the device. */
    @Override
    public String toString() {
        return "address handle of " + context + (path == null ? "" : " to " + path);
    }
}
