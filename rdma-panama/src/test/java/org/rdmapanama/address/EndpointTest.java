package org.rdmapanama.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.device.Mtu;

class EndpointTest {
    private static final Endpoint ENDPOINT = new Endpoint(0, 0x11, 0x3dd5a4, new Gid(0, 0xffff_0a4d_0001L));

    private static final Endpoint FULL =
            new Endpoint(0, 0x11, 0x3dd5a4, new Gid(0, 0xffff_0a4d_0001L), GidType.ROCE_V2, Mtu.BYTES_4096, 16, 128);
    private static final String LINE = "0000:000011:3dd5a4:00000000000000000000ffff0a4d0001";
    private static final String FULL_LINE = LINE + ";gid=roce2;mtu=4096;initiator=16;target=128";

    @Test
    void shouldWriteTheLineOfThePingPongPrograms() {
        assertEquals(LINE, ENDPOINT.toString(), "when it knows no more than they do");
        assertEquals(LINE, ENDPOINT.toPingPongLine());
        assertEquals(LINE, FULL.toPingPongLine());
        assertEquals(
                "ffff:ffffff:ffffff:ffffffffffffffffffffffffffffffff",
                new Endpoint(0xffff, 0xff_ffff, 0xff_ffff, new Gid(-1, -1)).toPingPongLine());
    }

    @Test
    void shouldWriteAllThatItKnows() {
        assertEquals(FULL_LINE, FULL.toString());
        for (GidType type : GidType.values()) {
            for (Mtu mtu : Mtu.values()) {
                Endpoint endpoint = new Endpoint(0xffff, 0xff_ffff, 0xff_ffff, new Gid(-1, -1), type, mtu, 255, 255);
                assertTrue(endpoint.toString().length() <= Endpoint.MAX_LINE);
                assertEquals(endpoint, Endpoint.parse(endpoint.toString()));
            }
        }
    }

    @Test
    void shouldReadWhatItWrote() {
        assertEquals(ENDPOINT, Endpoint.parse(ENDPOINT.toString()));
        assertEquals(ENDPOINT, Endpoint.parse("  " + ENDPOINT + "\r\n"), "as it comes from a socket");
        assertEquals(ENDPOINT, Endpoint.parse("0:11:3DD5A4:00000000000000000000FFFF0A4D0001"));
        assertEquals(FULL, Endpoint.parse(FULL_LINE));
        assertEquals(ENDPOINT, Endpoint.parse(FULL.toPingPongLine()), "a C program tells less");
    }

    @Test
    void shouldReadWhatIsTold() {
        Endpoint unknown = Endpoint.parse(LINE);
        assertEquals(GidType.UNKNOWN, unknown.gidType());
        assertNull(unknown.pathMtu());
        assertEquals(Endpoint.UNKNOWN, unknown.maxReadAtomicAsInitiator());
        assertEquals(Endpoint.UNKNOWN, unknown.maxReadAtomicAsTarget());
        Endpoint some = Endpoint.parse(LINE + ";target=0;mtu=256");
        assertEquals(Mtu.BYTES_256, some.pathMtu());
        assertEquals(0, some.maxReadAtomicAsTarget());
        assertEquals(Endpoint.UNKNOWN, some.maxReadAtomicAsInitiator());
        assertEquals(FULL, Endpoint.parse(LINE + ";target=128;later=7.5-a;initiator=16;mtu=4096;gid=roce2"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                ";",
                ";mtu",
                ";mtu=",
                ";=1024",
                "; mtu=1024",
                ";MTU=1024",
                ";mtu=1024;",
                ";mtu=1024;;target=1",
                ";mtu=1024;mtu=1024",
                ";later=1;later=2",
                ";mtu=1000",
                ";mtu=-1",
                ";mtu=0",
                ";mtu=99999999999",
                ";mtu=1024 ;target=1",
                ";initiator=256",
                ";initiator=-1",
                ";target=256",
                ";target=1.5",
                ";target=0x10",
                ";gid=",
                ";gid=roce3",
                ";gid=UNKNOWN",
                ";target=1\u001b[2J",
            })
    void shouldRefuseAWrongEnd(String end) {
        IllegalArgumentException exception =
                assertThrows(IllegalArgumentException.class, () -> Endpoint.parse(LINE + end));
        assertTrue(exception.getMessage().startsWith("not an endpoint: '" + LINE), exception::getMessage);
        assertTrue(exception.getMessage().chars().allMatch(each -> each >= ' '), "as it goes to a terminal");
    }

    @Test
    void shouldRefuseWhatIsTooLong() {
        String longest = LINE + ";later=" + "x".repeat(Endpoint.MAX_LINE - LINE.length() - 7);
        assertEquals(ENDPOINT, Endpoint.parse(longest));
        String longer = longest + "x";
        IllegalArgumentException exception = assertThrows(IllegalArgumentException.class, () -> Endpoint.parse(longer));
        assertTrue(exception.getMessage().length() < Endpoint.MAX_LINE, exception::getMessage);
        String huge = ";a=b".repeat(1_000_000);
        assertThrows(IllegalArgumentException.class, () -> Endpoint.parse(LINE + huge));
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
        assertThrows(NullPointerException.class, () -> new Endpoint(0, 0, 0, Gid.ZERO, null, null, 1, 1));
        for (int wrong : new int[] {-2, 256}) {
            assertThrows(
                    IllegalArgumentException.class, () -> new Endpoint(0, 0, 0, Gid.ZERO, GidType.IB, null, wrong, 1));
            assertThrows(
                    IllegalArgumentException.class, () -> new Endpoint(0, 0, 0, Gid.ZERO, GidType.IB, null, 1, wrong));
        }
    }

    @Test
    void shouldBeSerializable() throws IOException, ClassNotFoundException {
        for (Endpoint endpoint : List.of(ENDPOINT, FULL)) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(endpoint);
            }
            try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                assertEquals(endpoint, in.readObject());
            }
        }
    }
}
