package org.rdmapanama.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "1, 1",
        "4096, 4096",
        "17B, 17",
        "64KiB, 65536",
        "64kib, 65536",
        "64K, 65536",
        "64KB, 65536",
        "100MiB, 104857600",
        "100 MiB, 104857600",
        "1GiB, 1073741824",
        "1g, 1073741824",
    })
    void shouldReadSizes(String text, long bytes) {
        assertEquals(bytes, ByteSize.parse(text).bytes());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "x", "-1", "1.5MiB", "1TiB", "64Ki", "0x10", "99999999999999999999", "9999999999999GiB"})
    void shouldRefuseWhatIsNoSize(String text) {
        assertThrows(TypeConversionException.class, () -> ByteSize.parse(text));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0 B",
        "1, 1 B",
        "1023, 1023 B",
        "1024, 1 KiB",
        "1536, 1.5 KiB",
        "8388608, 8 MiB",
        "1073741824, 1 GiB"
    })
    void shouldWriteSizes(long bytes, String text) {
        assertEquals(text, ByteSize.format(bytes));
    }

    @Test
    void shouldReadWhatItWrites() {
        assertEquals(new ByteSize(64 << 20), ByteSize.parse(new ByteSize(64 << 20).toString()));
    }
}
