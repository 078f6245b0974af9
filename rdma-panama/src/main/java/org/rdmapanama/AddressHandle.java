package org.rdmapanama;

/**
 * An address handle, {@code struct ibv_ah}: where a datagram goes.
 *
 * <p>Threads: as its {@link VerbsArena} says.
 */
public final class AddressHandle extends ContextObject {
    /** In front of every received datagram this many bytes are kept for the global routing header. */
    public static final int GRH_BYTES = 40;

    private final AddressVector path;
    final ProtectionDomain protectionDomain;

    AddressHandle(ProtectionDomain protectionDomain, long address, AddressVector path) {
        super(protectionDomain.context, address, protectionDomain);
        this.protectionDomain = protectionDomain;
        this.path = path;
    }

    /**
     * The way that datagrams take.
     *
     * @return what this was made of
     */
    public AddressVector path() {
        return path;
    }

    @Override
    int destroy() {
        return provider.destroyAddressHandle(address);
    }

    @Override
    String destroyVerb() {
        return "ibv_destroy_ah";
    }

    @Override
    int closingOrder() {
        return 2;
    }

    /** The way and the device. */
    @Override
    public String toString() {
        return "address handle of " + context + " to " + path;
    }
}
