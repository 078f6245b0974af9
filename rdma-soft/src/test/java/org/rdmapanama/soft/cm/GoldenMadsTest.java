package org.rdmapanama.soft.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Datagrams of the kernel's connection manager, taken off the wire while rping connected over Soft-RoCE: they are read
 * right, and the same is written. What is left out at the end is zero.
 */
class GoldenMadsTest {
    private static final String REQ =
            "010702030000000000000006fbce462900100000000000002946cefb000000000000000001061e17cc5047fffe266590"
                    + "00000000000000000000130100000001000000a05c7dfaa7ffff37f0ffffffff00000000000000000000ffff0a500001"
                    + "00000000000000000000ffff0a5000028d27400000400098000000000000000000000000000000000000000000000000"
                    + "00000000000000000000000000000000000000000040cc030000000000000000000000000a5000010000000000000000"
                    + "000000000a500002";

    private static final String REP =
            "01070203000000000000000041b73d4f00130000000000002246cefb41b73d4f000000000000110000000000a7353e00"
                    + "010178e0cc5047fffe266590";

    private static final String RTU = "010702030000000000000006fbce462900140000000000002946cefb139e17b4";

    private static final String DREQ = "010702030000000000000006fbce462900150000000000002946cefb139e17b4604002";

    private static final int HEADERS = Req.PRIVATE;
    private static final int FLOW_LABEL = 112;
    private static final int ACK_DELAY = 50;

    private final Arena arena = Arena.ofConfined();
    private final MemorySegment golden = arena.allocate(Mad.BYTES, 8);
    private final MemorySegment written = arena.allocate(Mad.BYTES, 8);
    private final long mad = golden.address();

    private void load(String hex) {
        golden.copyFrom(MemorySegment.ofArray(HexFormat.of().parseHex(hex)));
        assertTrue(Mad.isValid(mad));
    }

    private void assertSame() {
        assertArrayEquals(golden.toArray(JAVA_BYTE), written.toArray(JAVA_BYTE));
    }

    @AfterEach
    void free() {
        arena.close();
    }

    @Test
    void shouldKnowARequest() {
        load(REQ);
        assertEquals(Mad.REQ, Mad.attribute(mad));
        assertEquals(0x1061e17L, Req.service(mad));
        assertEquals(0x13, Req.queuePair(mad));
        assertEquals(0x5c7dfa, Req.psn(mad));
        assertEquals(1, Req.responderResources(mad));
        assertEquals(1, Req.initiatorDepth(mad));
        assertEquals(Req.RC, Req.transportService(mad));
        assertFalse(Req.flowControl(mad));
        assertFalse(Req.sharedReceives(mad));
        assertEquals(3, Req.mtu(mad));
        assertEquals(7, Req.retryCount(mad));
        assertEquals(7, Req.rnrRetryCount(mad));
        assertEquals(20, Req.localTimeout(mad));
        assertEquals(19, Req.ackTimeout(mad));
        long header = mad + HEADERS;
        assertTrue(IpHeader.isValid(header));
        assertEquals(0xcc03, IpHeader.sourcePort(header));
        assertArrayEquals(new byte[] {10, 80, 0, 1}, IpHeader.source(header));
        assertArrayEquals(new byte[] {10, 80, 0, 2}, IpHeader.destination(header));

        long own = written.address();
        Req.begin(own, Mad.transaction(mad), Mad.localId(mad), Req.service(mad), Req.guid(mad));
        Req.queuePair(own, 0x13, 0x5c7dfa, 1, 1, false);
        Req.transport(own, Req.RC, false, 3, 7, 7, 20);
        Req.retries(own, 15);
        Req.path(own, 0, 0xffff_0a50_0001L, 0, 0xffff_0a50_0002L, 0, 64, 19);
        IpHeader.write(own + HEADERS, 0xcc03, new byte[] {10, 80, 0, 1}, new byte[] {10, 80, 0, 2});
        // A hint for routers, which is left out here.
        golden.asSlice(FLOW_LABEL, 4).fill((byte) 0);
        assertSame();
    }

    @Test
    void shouldKnowAnAnswer() {
        load(REP);
        assertEquals(Mad.REP, Mad.attribute(mad));
        assertEquals(0x11, Rep.queuePair(mad));
        assertEquals(0xa7353e, Rep.psn(mad));
        assertEquals(1, Rep.responderResources(mad));
        assertEquals(1, Rep.initiatorDepth(mad));
        assertEquals(7, Rep.rnrRetryCount(mad));
        assertFalse(Rep.flowControl(mad));
        assertFalse(Rep.sharedReceives(mad));

        long own = written.address();
        long guid = golden.get(java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED, 52);
        Rep.begin(own, Mad.transaction(mad), Mad.localId(mad), Mad.remoteId(mad), Long.reverseBytes(guid));
        Rep.transport(own, false, 7);
        Rep.queuePair(own, 0x11, 0xa7353e, 1, 1, false);
        // How long its acknowledgements take, which is not said here.
        golden.set(JAVA_BYTE, ACK_DELAY, (byte) 0);
        assertSame();
    }

    @Test
    void shouldKnowBeginningAndEnd() {
        load(RTU);
        assertEquals(Mad.RTU, Mad.attribute(mad));
        Mad.writeRtu(written.address(), Mad.transaction(mad), Mad.localId(mad), Mad.remoteId(mad));
        assertSame();

        golden.fill((byte) 0);
        load(DREQ);
        assertEquals(Mad.DREQ, Mad.attribute(mad));
        assertEquals(0x604002, Dreq.queuePair(mad));
        Dreq.write(written.address(), Mad.transaction(mad), Mad.localId(mad), Mad.remoteId(mad), 0x604002);
        assertSame();
    }
}
