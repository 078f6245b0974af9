package org.rdmapanama.efa;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.rdmapanama.ffm.efa.efadv_device_attr;
import org.rdmapanama.internal.Codes;

/**
 * The limits and capabilities of an EFA device, {@code struct efadv_device_attr}; see efadv_query_device(3).
 *
 * @param maxSendWorkRequests of a queue pair
 * @param maxReceiveWorkRequests of a queue pair
 * @param maxSendSegments of a send
 * @param maxReceiveSegments of a receive
 * @param maxInlineData of a send, in bytes
 * @param capabilities what the device can do; those that this version knows
 * @param maxRdmaBytes of one RDMA read or write; 0 if the device can do neither
 */
public record EfaDeviceAttributes(
        int maxSendWorkRequests,
        int maxReceiveWorkRequests,
        int maxSendSegments,
        int maxReceiveSegments,
        int maxInlineData,
        Set<EfaCapability> capabilities,
        long maxRdmaBytes) {
    /**
     * Copies the capabilities.
     *
     * @throws NullPointerException when the capabilities or one of them are null
     */
    public EfaDeviceAttributes {
        capabilities = Codes.copyOf(EfaCapability.class, capabilities);
    }

    static EfaDeviceAttributes read(MemorySegment struct) {
        return new EfaDeviceAttributes(
                efadv_device_attr.max_sq_wr(struct),
                efadv_device_attr.max_rq_wr(struct),
                Short.toUnsignedInt(efadv_device_attr.max_sq_sge(struct)),
                Short.toUnsignedInt(efadv_device_attr.max_rq_sge(struct)),
                Short.toUnsignedInt(efadv_device_attr.inline_buf_size(struct)),
                Codes.flags(EfaCapability.class, EfaCapability::code, efadv_device_attr.device_caps(struct)),
                Integer.toUnsignedLong(efadv_device_attr.max_rdma_size(struct)));
    }
}
