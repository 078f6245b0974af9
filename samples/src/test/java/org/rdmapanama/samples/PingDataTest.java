package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.rdmapanama.memory.RemoteMemory;

/** The data of ping, which must equal that of rping byte for byte. */
class PingDataTest {
    private static String text(int size, int ping) {
        MemorySegment buffer = MemorySegment.ofArray(new byte[size]);
        PingData.fill(buffer, ping);
        assertEquals(-1, PingData.firstWrongByte(buffer, ping));
        assertEquals(size - 1, PingData.length(buffer));
        return PingData.text(buffer);
    }

    @Test
    void shouldSayWhatRpingSays() {
        assertEquals("rdma-ping-0: ABCDEFGHIJKL", text(26, 0));
        assertEquals("rdma-ping-2: CDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCD", text(74, 2));
        // The first letter wraps around as well.
        assertEquals("rdma-ping-57: zABCDEFGHIJ", text(26, 57));
        assertEquals("rdma-ping-58: ABCDEFGHIJK", text(26, 58));
        assertTrue(text(PingData.MIN_BYTES, Integer.MAX_VALUE).startsWith("rdma-ping-2147483647: "));
        assertEquals(PingData.MAX_BYTES - 1, text(PingData.MAX_BYTES, 12345).length());
    }

    @Test
    void shouldFindWrongBytes() {
        MemorySegment buffer = MemorySegment.ofArray(new byte[64]);
        PingData.fill(buffer, 3);
        assertEquals(10, PingData.firstWrongByte(buffer, 4));
        buffer.set(ValueLayout.JAVA_BYTE, 63, (byte) 1);
        assertEquals(63, PingData.firstWrongByte(buffer, 3));
        assertEquals(64, PingData.length(buffer));
        buffer.set(ValueLayout.JAVA_BYTE, 0, (byte) 27);
        assertTrue(PingData.text(buffer).startsWith("?dma-ping"));
    }

    @Test
    void shouldTellBuffersInNetworkOrder() {
        byte[] message = new byte[PingBuffer.BYTES];
        RemoteMemory buffer = new RemoteMemory(0x0102030405060708L, 0x11121314, 0x21222324);
        PingBuffer.write(buffer, MemorySegment.ofArray(message));
        assertArrayEquals(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24}, message);
        assertEquals(buffer, PingBuffer.read(MemorySegment.ofArray(message)));
        message[12] = -1;
        assertEquals(
                0xff22_2324L, PingBuffer.read(MemorySegment.ofArray(message)).length(), "sizes are unsigned");
    }
}
