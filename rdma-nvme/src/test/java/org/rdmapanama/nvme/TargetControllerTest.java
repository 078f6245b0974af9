package org.rdmapanama.nvme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a controller of a target does without connections, and names. */
class TargetControllerTest {
    @Test
    void shouldLimitDiscoveryWithoutKeepAlive() {
        TargetController discovery = new TargetController(1, true, "", new byte[16], null, 0, 0);
        assertEquals(120_000, discovery.keepAliveMillis());
        discovery.keepAlive(500);
        assertEquals(500, discovery.keepAliveMillis());
        assertEquals(0, new TargetController(1, false, "", new byte[16], null, 0, 0).keepAliveMillis());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "nqn.example:blank ", "nqn.example:\u00e4", "nqn.example:\0", "nqn.example:\n"})
    void shouldRefuseNamesThatPeersReadOtherwise(String name) {
        assertThrows(IllegalArgumentException.class, () -> new NvmeOptions().subsystem(name));
        assertThrows(IllegalArgumentException.class, () -> new NvmeOptions().host(name));
        assertThrows(IllegalArgumentException.class, () -> new NvmeTargetOptions(name));
    }
}
