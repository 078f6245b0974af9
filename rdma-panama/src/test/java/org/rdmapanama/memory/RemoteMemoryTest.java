package org.rdmapanama.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RemoteMemoryTest {
    private static final RemoteMemory MEMORY = new RemoteMemory(0x7f3c_5a40_1000L, 0xa3b4, 65536);
    private static final String LINE = "00007f3c5a401000:0000a3b4:65536";
    private static final byte[] BYTES = {0, 0, 0x7f, 0x3c, 0x5a, 0x40, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, -93, -76};
    private static final RemoteMemory[] EXTREMES = {
        new RemoteMemory(0, 0, 0),
        new RemoteMemory(-1, -1, 0),
        new RemoteMemory(-1, -1, 1),
        new RemoteMemory(0, Integer.MIN_VALUE, Long.MAX_VALUE),
        new RemoteMemory(Long.MIN_VALUE, Integer.MAX_VALUE, Long.MAX_VALUE),
        new RemoteMemory(-4096, 1, 4096),
        MEMORY,
    };

    @Test
    void shouldWriteAndReadText() {
        assertEquals(LINE, MEMORY.toString());
        for (RemoteMemory memory : EXTREMES) {
            assertEquals(memory, RemoteMemory.parse(memory.toString()));
        }
        assertEquals(MEMORY, RemoteMemory.parse("  " + LINE + "\r\n"), "as it comes from a socket");
        assertEquals(MEMORY, RemoteMemory.parse("7F3C5A401000:A3B4:065536"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "7f3c5a401000:a3b4",
                "7f3c5a401000:a3b4:65536:1",
                "7f3c5a401000:a3b4:-1",
                "7f3c5a401000:a3b4:+1",
                "-7f3c5a401000:a3b4:1",
                "0x7f3c5a401000:a3b4:1",
                "7f3c5a401000 a3b4 1",
                "7f3c5a401000:a3b4:1 2",
                "10000000000000000:a3b4:1",
                "1:100000000:1",
                "1:1:9223372036854775808",
                "1:1:99999999999999999999",
                "1:1:١"
            })
    void shouldRefuseOtherText(String line) {
        String message = assertThrows(IllegalArgumentException.class, () -> RemoteMemory.parse(line))
                .getMessage();
        assertTrue(message.startsWith("not remote memory: '"), message);
    }

    @Test
    void shouldNotRepeatHostileText() {
        String message = assertThrows(IllegalArgumentException.class, () -> RemoteMemory.parse("\u001b[2J\n"))
                .getMessage();
        assertFalse(message.contains("\u001b"), message);
        message = assertThrows(IllegalArgumentException.class, () -> RemoteMemory.parse("1".repeat(100_000)))
                .getMessage();
        assertTrue(message.length() < 200, message);
        assertThrows(NullPointerException.class, () -> RemoteMemory.parse(null));
    }

    @Test
    void shouldWriteAndReadBytes() {
        byte[] bytes = new byte[RemoteMemory.BYTES];
        MEMORY.writeTo(MemorySegment.ofArray(bytes));
        assertArrayEquals(BYTES, bytes);
        for (RemoteMemory memory : EXTREMES) {
            try (Arena arena = Arena.ofConfined()) {
                // Unaligned, and with more behind it.
                MemorySegment segment = arena.allocate(64, 8).asSlice(3);
                memory.writeTo(segment);
                assertEquals(memory, RemoteMemory.readFrom(segment));
                assertEquals(memory, RemoteMemory.readFrom(segment.asReadOnly()));
            }
        }
    }

    @Test
    void shouldWriteAndReadBuffers() {
        for (ByteBuffer buffer : new ByteBuffer[] {
            ByteBuffer.allocate(50), ByteBuffer.allocateDirect(50).order(ByteOrder.LITTLE_ENDIAN)
        }) {
            buffer.position(5);
            for (RemoteMemory memory : new RemoteMemory[] {MEMORY, EXTREMES[4]}) {
                memory.writeTo(buffer);
            }
            assertEquals(45, buffer.position());
            assertThrows(IndexOutOfBoundsException.class, () -> MEMORY.writeTo(buffer));
            assertEquals(45, buffer.position());
            buffer.limit(45).position(5);
            assertEquals(MEMORY, RemoteMemory.readFrom(buffer));
            assertEquals(EXTREMES[4], RemoteMemory.readFrom(buffer));
            assertEquals(45, buffer.position());
            assertThrows(IndexOutOfBoundsException.class, () -> RemoteMemory.readFrom(buffer));
        }
    }

    @Test
    void shouldRefuseWhatIsTooShortOrReadOnly() {
        MemorySegment small = MemorySegment.ofArray(new byte[RemoteMemory.BYTES - 1]);
        assertThrows(IndexOutOfBoundsException.class, () -> MEMORY.writeTo(small));
        assertArrayEquals(
                new byte[RemoteMemory.BYTES - 1], (byte[]) small.heapBase().orElseThrow());
        assertThrows(IndexOutOfBoundsException.class, () -> RemoteMemory.readFrom(small));
        MemorySegment readOnly =
                MemorySegment.ofArray(new byte[RemoteMemory.BYTES]).asReadOnly();
        assertThrows(IllegalArgumentException.class, () -> MEMORY.writeTo(readOnly));
        ByteBuffer buffer = ByteBuffer.allocate(RemoteMemory.BYTES).asReadOnlyBuffer();
        assertThrows(IllegalArgumentException.class, () -> MEMORY.writeTo(buffer));
        assertEquals(0, buffer.position());
    }

    @ParameterizedTest
    @CsvSource({
        "0, -1, must not be negative: -1",
        "0, -9223372036854775808, must not be negative",
        "-1, 2, must end within 64 bits of address: 2 bytes at 0xffffffffffffffff",
        "-4096, 4097, must end within 64 bits",
        "-9223372036854775807, 9223372036854775807, ''",
        "-9223372036854775806, 9223372036854775807, must end within 64 bits",
    })
    void shouldRefuseImpossibleMemory(long address, long length, String why) {
        ByteBuffer bytes = ByteBuffer.allocate(RemoteMemory.BYTES)
                .putLong(address)
                .putLong(length)
                .putInt(1)
                .flip();
        if (why.isEmpty()) {
            assertEquals(new RemoteMemory(address, 1, length), RemoteMemory.readFrom(bytes));
            return;
        }
        String message = assertThrows(IllegalArgumentException.class, () -> new RemoteMemory(address, 1, length))
                .getMessage();
        assertTrue(message.contains(why), message);
        assertEquals(
                message,
                assertThrows(IllegalArgumentException.class, () -> RemoteMemory.readFrom(bytes))
                        .getMessage());
        assertEquals(0, bytes.position());
        if (length >= 0) {
            String line = Long.toHexString(address) + ":1:" + length;
            assertEquals(
                    message,
                    assertThrows(IllegalArgumentException.class, () -> RemoteMemory.parse(line))
                            .getMessage());
        }
    }

    @Test
    void shouldSlice() {
        assertEquals(new RemoteMemory(0x7f3c_5a40_1100L, 0xa3b4, 16), MEMORY.slice(256, 16));
        assertEquals(new RemoteMemory(0x7f3c_5a40_1100L, 0xa3b4, 65280), MEMORY.slice(256));
        assertEquals(MEMORY, MEMORY.slice(0));
        assertEquals(MEMORY, MEMORY.slice(0, 65536));
        assertEquals(0, MEMORY.slice(65536).length());
        assertEquals(0, MEMORY.slice(65536, 0).length());
        assertEquals(new RemoteMemory(0, 1, 0), new RemoteMemory(-1, 1, 1).slice(1), "beyond the last address");
        RemoteMemory all = new RemoteMemory(1, 1, Long.MAX_VALUE);
        assertEquals(1, all.slice(Long.MAX_VALUE - 1).length());
    }

    @ParameterizedTest
    @CsvSource({
        "-1, 1",
        "65537, 0",
        "0, 65537",
        "65536, 1",
        "1, 65536",
        "0, -1",
        "5, -1",
        "9223372036854775807, 9223372036854775807",
        "-9223372036854775808, 0",
        "1, 9223372036854775807",
    })
    void shouldRefuseSlicesOutside(long offset, long length) {
        String message = assertThrows(IndexOutOfBoundsException.class, () -> MEMORY.slice(offset, length))
                .getMessage();
        assertEquals(
                "slice of " + length + " bytes at offset " + offset
                        + " must lie within the 65536 bytes of remote memory",
                message);
        if (offset < 0 || offset > 65536) {
            assertThrows(IndexOutOfBoundsException.class, () -> MEMORY.slice(offset));
        }
    }
}
