package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UdpFlowTest {
    /** The first three are of packets of Soft-RoCE, which are in {@link GoldenPacketsTest}. */
    @ParameterizedTest
    @CsvSource({
        "51, 51, 0xca29",
        "26, 26, 0xc2a4",
        "113, 115, 0xf2c3",
        "0xffffff, 0xffffff, 0xff21",
        "0x123456, 0xabcdef, 0xc3c8",
        "0xffffff, 2, 0xffde"
    })
    void shouldHashQueuePairsAsOthersDo(String one, String other, String port) {
        int expected = Integer.decode(port);
        assertEquals(expected, UdpFlow.sourcePort(Integer.decode(one), Integer.decode(other)));
        assertEquals(expected, UdpFlow.sourcePort(Integer.decode(other), Integer.decode(one)));
    }

    @Test
    void shouldHashToThePortsThatAreMeantForThat() {
        for (int i = 1; i < 1 << 24; i += 4999) {
            int port = UdpFlow.sourcePort(i, 0xffffff - i);
            assertTrue(port >= 0xc000 && port <= 0xffff, () -> "port " + port);
        }
    }
}
