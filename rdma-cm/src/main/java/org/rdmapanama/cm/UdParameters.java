package org.rdmapanama.cm;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.rdmapanama.AddressVector;
import org.rdmapanama.ffm.verbs.rdma_ud_param;

/**
 * How to reach a peer, or a multicast group, with datagrams, {@code struct rdma_ud_param}: read off
 * {@link CmEvent#datagram()}.
 *
 * @param privateData bytes from the peer's program; InfiniBand and RoCE fill them up with zeros
 * @param addressVector the way to the peer
 * @param queuePairNumber the peer's queue pair, 24 bits; 0xffffff for a multicast group
 * @param qkey the Q_Key that its queue pair, or the group, takes
 */
public record UdParameters(byte[] privateData, AddressVector addressVector, int queuePairNumber, int qkey) {
    /**
     * Copies the private data.
     *
     * @throws NullPointerException when an argument is null
     */
    public UdParameters {
        privateData = privateData.clone();
        Objects.requireNonNull(addressVector, "addressVector");
    }

    /**
     * Bytes from the peer's program.
     *
     * @return a copy
     */
    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /** For multicast the pointer of private data is the caller's own, and no data. */
    static UdParameters read(MemorySegment struct, boolean multicast) {
        int length = multicast ? 0 : Byte.toUnsignedInt(rdma_ud_param.private_data_len(struct));
        return new UdParameters(
                ConnectionParameters.bytes(rdma_ud_param.private_data(struct), length),
                AddressVector.ofNative(rdma_ud_param.ah_attr(struct)),
                rdma_ud_param.qp_num(struct),
                rdma_ud_param.qkey(struct));
    }

    /** Compares the bytes of the private data, too. */
    @Override
    public boolean equals(Object other) {
        return other instanceof UdParameters that
                && Arrays.equals(privateData, that.privateData)
                && addressVector.equals(that.addressVector)
                && queuePairNumber == that.queuePairNumber
                && qkey == that.qkey;
    }

    /** Goes by what {@link #equals} compares. */
    @Override
    public int hashCode() {
        return Objects.hash(Arrays.hashCode(privateData), addressVector, queuePairNumber, qkey);
    }

    /** All but the private data, of which only the length is told. */
    @Override
    public String toString() {
        return "queue pair 0x%x, Q_Key 0x%x, %s, %d bytes of private data"
                .formatted(queuePairNumber, qkey, addressVector, privateData.length);
    }
}
