package org.rdmapanama.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class MtuTest {
    @ParameterizedTest
    @EnumSource
    void shouldBeFoundByCodeAndSize(Mtu mtu) {
        assertSame(mtu, Mtu.of(mtu.code()));
        assertSame(mtu, Mtu.ofBytes(mtu.bytes()));
        assertEquals("BYTES_" + mtu.bytes(), mtu.name());
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 128, 1500, 8192, -1})
    void shouldRefuseOtherSizes(int bytes) {
        assertThrows(IllegalArgumentException.class, () -> Mtu.ofBytes(bytes));
    }

    @Test
    void shouldRefuseOtherCodes() {
        assertThrows(IllegalArgumentException.class, () -> Mtu.of(0));
        assertThrows(IllegalArgumentException.class, () -> Mtu.of(6));
    }
}
