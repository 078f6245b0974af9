package org.rdmapanama.rsocket;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.ProtocolException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConnectionDataTest {
    private static final ConnectionData DATA = new ConnectionData(
            false, 384, 5, new Offer(0x1122334455667788L, 0x99aabbcc, 2), new Offer(-2, -3, 0xffff_0000L));

    /** As struct rs_conn_data of librdmacm lies in memory. */
    private static final String BYTES =
            "01020180000000051122334455667788" + "99aabbcc00000002" + "fffffffffffffffe" + "fffffffdffff0000";

    @Test
    void shouldBeTheBytesOfLibrdmacm() throws ProtocolException {
        assertEquals(BYTES, HexFormat.of().formatHex(DATA.toBytes()));
        assertEquals(DATA, ConnectionData.parse(HexFormat.of().parseHex(BYTES)));
        byte[] padded = Arrays.copyOf(DATA.toBytes(), 196);
        assertEquals(DATA, ConnectionData.parse(padded));
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 1", "128, 128", "129, 128", "255, 128", "256, 256", "1000, 768", "32512, 32512"})
    void shouldTellAsManyMappingsAsAByteCan(int mappings, int told) throws ProtocolException {
        assertEquals(told, ConnectionData.tellable(mappings));
        ConnectionData data = new ConnectionData(true, 1, mappings, DATA.offers(), DATA.buffer());
        ConnectionData read = ConnectionData.parse(data.toBytes());
        assertEquals(told, read.mappings());
        assertTrue(read.bigEndian());
    }

    @ParameterizedTest
    @CsvSource({
        "0, 2, the version of the peer's rsocket protocol must be 1: 2",
        "0, 0, the version of the peer's rsocket protocol must be 1: 0",
        "23, 1, the peer's list of offers must have 2 entries at least: 1",
    })
    void shouldRefuseWhatItCannotUse(int at, int value, String message) {
        byte[] bytes = DATA.toBytes();
        bytes[at] = (byte) value;
        assertEquals(
                message,
                assertThrows(ProtocolException.class, () -> ConnectionData.parse(bytes))
                        .getMessage());
    }

    @Test
    void shouldRefuseNoCreditsAndNoBuffer() {
        byte[] bytes = DATA.toBytes();
        Arrays.fill(bytes, 2, 4, (byte) 0);
        assertEquals(
                "the peer must have receives for 1 message at least: 0",
                assertThrows(ProtocolException.class, () -> ConnectionData.parse(bytes))
                        .getMessage());
        byte[] others = DATA.toBytes();
        Arrays.fill(others, 36, 40, (byte) 0);
        assertEquals(
                "the peer's receive buffer must not be empty",
                assertThrows(ProtocolException.class, () -> ConnectionData.parse(others))
                        .getMessage());
    }

    @Test
    void shouldRefuseAPeerThatIsNotAnRsocket() {
        assertEquals(
                "the peer is not an rsocket: its private data must have 40 bytes at least, and has 39",
                assertThrows(ProtocolException.class, () -> ConnectionData.parse(new byte[39]))
                        .getMessage());
    }

    @Test
    void shouldReadOrRefuseAnything() {
        Random random = new Random(18);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = DATA.toBytes();
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            try {
                ConnectionData read = ConnectionData.parse(bytes);
                assertTrue(read.credits() > 0
                        && read.buffer().length() > 0
                        && read.offers().length() > 1);
                assertTrue(read.mappings() >= 0 && read.mappings() <= ConnectionData.MAX_MAPPINGS);
            } catch (ProtocolException e) {
                assertTrue(e.getMessage().startsWith("the "), e::getMessage);
            }
        }
    }
}
