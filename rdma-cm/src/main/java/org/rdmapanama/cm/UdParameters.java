package org.rdmapanama.cm;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.ffm.verbs.rdma_ud_param;

/**
 * How to reach a peer or a multicast group with datagrams, {@code struct rdma_ud_param}; {@link CmEvent#datagram()}
 * returns it.
 *
 * @param privateData the bytes that the peer's program sent; InfiniBand and RoCE pad them with zeros
 * @param addressVector the path to the peer
 * @param queuePairNumber the number of the peer's queue pair, 24 bits; 0xffffff for a multicast group
 * @param qkey the Q_Key of the peer's queue pair or of the group
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
     * Returns the private data that the peer's program sent.
     *
     * @return a copy
     */
    @Override
    public byte[] privateData() {
        return privateData.clone();
    }

    /** Reads the struct. In multicast events the private data pointer is the key of the join, not data. */
    static UdParameters read(MemorySegment struct, boolean multicast) {
        int length = multicast ? 0 : Byte.toUnsignedInt(rdma_ud_param.private_data_len(struct));
        return new UdParameters(
                ConnectionParameters.bytes(rdma_ud_param.private_data(struct), length),
                AddressVector.ofNative(rdma_ud_param.ah_attr(struct)),
                rdma_ud_param.qp_num(struct),
                rdma_ud_param.qkey(struct));
    }

    /** Compares all components, the private data by its bytes. */
    @Override
    public boolean equals(Object other) {
        return other instanceof UdParameters that
                && Arrays.equals(privateData, that.privateData)
                && addressVector.equals(that.addressVector)
                && queuePairNumber == that.queuePairNumber
                && qkey == that.qkey;
    }

    /** Returns a hash code that is consistent with {@link #equals}. */
    @Override
    public int hashCode() {
        return Objects.hash(Arrays.hashCode(privateData), addressVector, queuePairNumber, qkey);
    }

    /** Returns all components, but of the private data only the length. */
    @Override
    public String toString() {
        return "queue pair 0x%06x, Q_Key 0x%x, %s, %d bytes of private data"
                .formatted(queuePairNumber, qkey, addressVector, privateData.length);
    }
}
