package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Set;
import java.util.function.IntConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.device.Mtu;
import org.rdmapanama.memory.AccessFlag;

class ConnectOptionsTest {
    private static Arguments range(String name, int min, int max, IntConsumer setter) {
        return Arguments.of(name, min, max, setter);
    }

    private static Stream<Arguments> ranges() {
        return Stream.of(
                range("port", 1, 255, value -> new ConnectOptions().port(value)),
                range("gidIndex", -1, 255, value -> new ConnectOptions().gidIndex(value)),
                range("pkeyIndex", 0, 65535, value -> new ConnectOptions().pkeyIndex(value)),
                range("serviceLevel", 0, 15, value -> new ConnectOptions().serviceLevel(value)),
                range("trafficClass", 0, 255, value -> new ConnectOptions().trafficClass(value)),
                range("hopLimit", 0, 255, value -> new ConnectOptions().hopLimit(value)),
                range("timeout", 0, 31, value -> new ConnectOptions().timeout(value)),
                range("retryCount", 0, 7, value -> new ConnectOptions().retryCount(value)),
                range("rnrRetry", 0, 7, value -> new ConnectOptions().rnrRetry(value)),
                range("minRnrTimer", 0, 31, value -> new ConnectOptions().minRnrTimer(value)),
                range("maxReadAtomic", 0, 255, value -> new ConnectOptions().maxReadAtomic(value)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("ranges")
    void shouldCheckRanges(String name, int min, int max, IntConsumer setter) {
        setter.accept(min);
        setter.accept(max);
        for (int wrong : new int[] {min - 1, max + 1, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> setter.accept(wrong));
            assertEquals(name + " must be between " + min + " and " + max + ": " + wrong, exception.getMessage());
        }
    }

    @Test
    void shouldSuitMostWhenNothingIsSet() {
        ConnectOptions options = new ConnectOptions();
        assertEquals(1, options.port());
        assertEquals(-1, options.gidIndex());
        assertNull(options.pathMtu());
        assertEquals(
                Set.of(AccessFlag.REMOTE_READ, AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_ATOMIC),
                options.remoteAccessFlags());
        // 7 is without end on some devices, and then a dead peer is never noticed.
        assertTrue(options.retryCount() < 7);
        assertTrue(options.timeout() > 0);
    }

    @Test
    void shouldKeepWhatIsSet() {
        ConnectOptions options = new ConnectOptions()
                .qkey(-1)
                .pathMtu(Mtu.BYTES_256)
                .remoteAccess(AccessFlag.REMOTE_READ)
                .rnrRetry(3);
        assertEquals(-1, options.qkey());
        assertEquals(Mtu.BYTES_256, options.pathMtu());
        assertEquals(Set.of(AccessFlag.REMOTE_READ), options.remoteAccessFlags());
        assertEquals(3, options.rnrRetry());
        assertEquals(Set.of(), options.remoteAccess().remoteAccessFlags());
    }

    @Test
    void shouldPrintItself() {
        String text = new ConnectOptions().port(2).rnrRetry(3).toString();
        assertTrue(text.startsWith("port 2, GID index chosen, "), text);
        assertTrue(text.contains("RNR retry 3"), text);
    }
}
