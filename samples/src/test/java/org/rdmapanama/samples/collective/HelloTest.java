package org.rdmapanama.samples.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class HelloTest {
    private final Hello hello = new Hello(-7, 3, 8);

    @Test
    void shouldReadWhatItWrites() {
        // RoCE pads private data with zeros.
        assertEquals(Optional.of(hello), Hello.of(Arrays.copyOf(hello.bytes(), 56)));
        for (Hello.Refusal each : Hello.Refusal.values()) {
            assertEquals(Optional.of(each), Hello.refusalOf(Arrays.copyOf(Hello.refusal(each), 148)));
        }
    }

    @Test
    void shouldRefuseOtherBytes() {
        for (int length = 0; length < Hello.BYTES; length++) {
            assertEquals(Optional.empty(), Hello.of(Arrays.copyOf(hello.bytes(), length)));
        }
        // The magic number and the version.
        for (int i = 0; i < 8; i++) {
            byte[] bytes = hello.bytes();
            bytes[i] ^= 0x40;
            assertEquals(Optional.empty(), Hello.of(bytes));
        }
        byte[] refusal = Hello.refusal(Hello.Refusal.DUPLICATE);
        assertEquals(Optional.empty(), Hello.refusalOf(Arrays.copyOf(refusal, 7)));
        refusal[4] = (byte) Hello.Refusal.values().length;
        assertEquals(Optional.empty(), Hello.refusalOf(refusal));
        refusal[7] = -1;
        assertEquals(Optional.empty(), Hello.refusalOf(refusal));
    }
}
