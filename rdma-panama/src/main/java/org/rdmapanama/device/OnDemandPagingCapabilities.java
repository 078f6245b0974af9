package org.rdmapanama.device;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.Set;
import org.rdmapanama.ffm.verbs.ibv_device_attr_ex;
import org.rdmapanama.ffm.verbs.ibv_odp_caps;
import org.rdmapanama.ffm.verbs.rdma_h;
import org.rdmapanama.internal.Codes;
import org.rdmapanama.memory.AccessFlag;

/**
 * What a device can do with memory whose pages are not pinned but faulted in on access, {@code struct ibv_odp_caps};
 * see ibv_query_device_ex(3).
 *
 * @param explicit whether memory can be registered with {@link AccessFlag#ON_DEMAND}
 * @param implicit whether the whole address space can be registered in this way
 * @param reliableConnected operations that work on such memory on queue pairs of type RC
 * @param unreliableConnected the same for type UC
 * @param unreliableDatagram the same for type UD
 * @param extendedReliableConnected the same for types XRC_SEND and XRC_RECV
 */
public record OnDemandPagingCapabilities(
        boolean explicit,
        boolean implicit,
        Set<OdpOperation> reliableConnected,
        Set<OdpOperation> unreliableConnected,
        Set<OdpOperation> unreliableDatagram,
        Set<OdpOperation> extendedReliableConnected) {
    /**
     * Checks and copies the capabilities.
     *
     * @throws NullPointerException when a set is null
     */
    public OnDemandPagingCapabilities {
        Objects.requireNonNull(reliableConnected, "reliableConnected");
        Objects.requireNonNull(unreliableConnected, "unreliableConnected");
        Objects.requireNonNull(unreliableDatagram, "unreliableDatagram");
        Objects.requireNonNull(extendedReliableConnected, "extendedReliableConnected");
    }

    static OnDemandPagingCapabilities read(MemorySegment attributes) {
        MemorySegment caps = ibv_device_attr_ex.odp_caps(attributes);
        MemorySegment transports = ibv_odp_caps.per_transport_caps(caps);
        long general = ibv_odp_caps.general_caps(caps);
        return new OnDemandPagingCapabilities(
                (general & rdma_h.IBV_ODP_SUPPORT()) != 0,
                (general & rdma_h.IBV_ODP_SUPPORT_IMPLICIT()) != 0,
                Codes.flags(
                        OdpOperation.class,
                        OdpOperation::code,
                        ibv_odp_caps.per_transport_caps.rc_odp_caps(transports)),
                Codes.flags(
                        OdpOperation.class,
                        OdpOperation::code,
                        ibv_odp_caps.per_transport_caps.uc_odp_caps(transports)),
                Codes.flags(
                        OdpOperation.class,
                        OdpOperation::code,
                        ibv_odp_caps.per_transport_caps.ud_odp_caps(transports)),
                Codes.flags(OdpOperation.class, OdpOperation::code, ibv_device_attr_ex.xrc_odp_caps(attributes)));
    }
}
