package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.rdmapanama.memory.RemoteMemory;

class ControlMessageTest {
    private final MemorySegment wire = MemorySegment.ofArray(new byte[ControlMessage.BYTES]);

    @Test
    void shouldReadWhatItWrote() {
        ControlMessage[] messages = {
            ControlMessage.greeting(new RemoteMemory(0x7f00_1234_5000L, -2, 8)),
            ControlMessage.hello(1L << 30),
            ControlMessage.ready(new RemoteMemory(0x7f00_1234_5000L, 0xffff_fffe, 4096)),
            ControlMessage.written(1, 0x8000_0001),
            ControlMessage.verified(1, -1),
            ControlMessage.done(),
            ControlMessage.refused("no memory"),
        };
        for (ControlMessage message : messages) {
            message.write(wire);
            assertEquals(message, ControlMessage.read(wire));
        }
    }

    @Test
    void shouldCutTextThatDoesNotFit() {
        ControlMessage.refused("x".repeat(500)).write(wire);
        assertEquals("x".repeat(84), ControlMessage.read(wire).text());
    }

    @Test
    void shouldWriteInNetworkOrder() {
        ControlMessage.hello(0x0102_0304L).write(wire);
        ValueLayout.OfInt bigEndian = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
        assertEquals(0x5244_5033, wire.get(bigEndian, 0));
        assertEquals(0x0102_0304, wire.get(bigEndian, 12));
    }

    @Test
    void shouldRefuseAnotherProtocol() {
        assertThrows(Failure.class, () -> ControlMessage.read(wire));
        ControlMessage.done().write(wire);
        wire.set(ValueLayout.JAVA_BYTE, 7, (byte) 99);
        assertThrows(Failure.class, () -> ControlMessage.read(wire));
    }

    @Test
    void shouldRefuseImpossibleMemory() {
        ControlMessage.ready(new RemoteMemory(0x7f00_1234_5000L, 1, 4096)).write(wire);
        // The length begins at 24.
        wire.set(ValueLayout.JAVA_BYTE, 24, (byte) 0x80);
        Failure failure = assertThrows(Failure.class, () -> ControlMessage.read(wire));
        assertTrue(failure.getMessage().contains("must not be negative"), failure::getMessage);
        wire.set(ValueLayout.JAVA_BYTE, 24, (byte) 0);
        wire.asSlice(16, 8).fill((byte) 0xff);
        failure = assertThrows(Failure.class, () -> ControlMessage.read(wire));
        assertTrue(failure.getMessage().contains("64 bits"), failure::getMessage);
    }

    @Test
    void shouldRefuseAMessageOfAnotherSize() {
        ControlMessage.done().write(wire);
        for (int size : new int[] {0, 3, 16, ControlMessage.BYTES - 1}) {
            assertThrows(Failure.class, () -> ControlMessage.read(wire.asSlice(0, size)));
        }
    }
}
