package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EndpointTest {
    private static final Endpoint ENDPOINT = new Endpoint(0, 0x11, 0x3dd5a4, new Gid(0, 0xffff_0a4d_0001L));

    @Test
    void shouldWriteTheLineOfThePingPongPrograms() {
        assertEquals("0000:000011:3dd5a4:00000000000000000000ffff0a4d0001", ENDPOINT.toString());
        assertEquals(
                "ffff:ffffff:ffffff:ffffffffffffffffffffffffffffffff",
                new Endpoint(0xffff, 0xff_ffff, 0xff_ffff, new Gid(-1, -1)).toString());
    }

    @Test
    void shouldReadWhatItWrote() {
        assertEquals(ENDPOINT, Endpoint.parse(ENDPOINT.toString()));
        assertEquals(ENDPOINT, Endpoint.parse("  " + ENDPOINT + "\r\n"), "as it comes from a socket");
        assertEquals(ENDPOINT, Endpoint.parse("0:11:3DD5A4:00000000000000000000FFFF0A4D0001"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "0000:000011:3dd5a4",
                "0000:000011:3dd5a4:00000000000000000000ffff0a4d000",
                "10000:000011:3dd5a4:00000000000000000000ffff0a4d0001",
                "0000:1000011:3dd5a4:00000000000000000000ffff0a4d0001",
                "0000:-00011:3dd5a4:00000000000000000000ffff0a4d0001",
                "0000:000011:3dd5a4:00000000000000000000ffff0a4d0001:",
                "0000:000011:3dd5a4:0000:0000:0000:0000:0000:ffff:0a4d:0001"
            })
    void shouldRefuseOtherText(String text) {
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> Endpoint.parse(text));
        assertTrue(exception.getMessage().contains("'" + text + "'"), exception::getMessage);
    }

    @Test
    void shouldRefuseNumbersOutOfRange() {
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(0x1_0000, 0, 0, Gid.ZERO));
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(-1, 0, 0, Gid.ZERO));
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(0, 0x100_0000, 0, Gid.ZERO));
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(0, -1, 0, Gid.ZERO));
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(0, 0, 0x100_0000, Gid.ZERO));
        assertThrows(IllegalArgumentException.class, () -> new Endpoint(0, 0, -1, Gid.ZERO));
        assertThrows(NullPointerException.class, () -> new Endpoint(0, 0, 0, null));
    }

    @Test
    void shouldBeSerializable() throws IOException, ClassNotFoundException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(ENDPOINT);
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            assertEquals(ENDPOINT, in.readObject());
        }
    }
}
