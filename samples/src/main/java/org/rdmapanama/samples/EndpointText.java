package org.rdmapanama.samples;

import org.rdmapanama.address.Endpoint;

/** Formats endpoints as the ping-pong programs of rdma-core do. */
final class EndpointText {
    private EndpointText() {}

    static String of(Endpoint endpoint) {
        return "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s"
                .formatted(
                        endpoint.lid(),
                        endpoint.queuePairNumber(),
                        endpoint.packetSequenceNumber(),
                        GidText.of(endpoint.gid()));
    }
}
