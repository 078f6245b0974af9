package org.rdmapanama.soft.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each field is read where it was written, and leaves the others alone. */
class MadTest {
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(Mad.BYTES, 8);
    private final long mad = memory.address();

    @AfterEach
    void free() {
        arena.close();
    }

    @Test
    void shouldWriteRequests() {
        Req.begin(mad, 0x1122334455667788L, 0x9abcdef0, 0x1061234L, 0x0102030405060708L);
        Req.transport(mad, Req.UC, true, 4, 5, 6, 20);
        Req.queuePair(mad, 0xabcdef, 0x123456, 200, 100, true);
        Req.retries(mad, 15);
        Req.path(mad, 1, 2, 3, 4, 0x60, 64, 17);
        assertTrue(Mad.isValid(mad));
        assertEquals(Mad.REQ, Mad.attribute(mad));
        assertEquals(0x1122334455667788L, Mad.transaction(mad));
        assertEquals(0x9abcdef0, Mad.localId(mad));
        assertEquals(0x1061234L, Req.service(mad));
        assertEquals(0x0102030405060708L, Req.guid(mad));
        assertEquals(Req.UC, Req.transportService(mad));
        assertTrue(Req.flowControl(mad));
        assertEquals(4, Req.mtu(mad));
        assertEquals(5, Req.retryCount(mad));
        assertEquals(6, Req.rnrRetryCount(mad));
        assertEquals(20, Req.localTimeout(mad));
        assertEquals(0xabcdef, Req.queuePair(mad));
        assertEquals(0x123456, Req.psn(mad));
        assertEquals(200, Req.responderResources(mad));
        assertEquals(100, Req.initiatorDepth(mad));
        assertTrue(Req.sharedReceives(mad));
        assertEquals(0x60, Req.trafficClass(mad));
        assertEquals(17, Req.ackTimeout(mad));
        assertEquals((byte) 0xf8, memory.get(JAVA_BYTE, 75), "fifteen retries, and a shared receive queue");
    }

    @Test
    void shouldWriteAnswers() {
        Rep.begin(mad, 1, 2, 3, 4);
        Rep.transport(mad, true, 7);
        Rep.queuePair(mad, 0xfedcba, 0x654321, 16, 128, true);
        assertEquals(Mad.REP, Mad.attribute(mad));
        assertEquals(2, Mad.localId(mad));
        assertEquals(3, Mad.remoteId(mad));
        assertEquals(0xfedcba, Rep.queuePair(mad));
        assertEquals(0x654321, Rep.psn(mad));
        assertEquals(16, Rep.responderResources(mad));
        assertEquals(128, Rep.initiatorDepth(mad));
        assertEquals(7, Rep.rnrRetryCount(mad));
        assertTrue(Rep.flowControl(mad));
        assertTrue(Rep.sharedReceives(mad));

        Rej.write(mad, 1, 2, 3, Rej.OF_REP, Rej.BY_CONSUMER);
        Rej.guid(mad, 5);
        assertEquals(Mad.REJ, Mad.attribute(mad));
        assertEquals(Rej.OF_REP, Rej.rejected(mad));
        assertEquals(28, Rej.reason(mad));

        Mra.write(mad, 1, 2, 3, Mra.OF_REP, 24);
        assertEquals(Mad.MRA, Mad.attribute(mad));
        assertEquals(Mra.OF_REP, Mra.came(mad));
        assertEquals(24, Mra.timeout(mad));

        Dreq.write(mad, 1, 2, 3, 0xffeedd);
        assertEquals(Mad.DREQ, Mad.attribute(mad));
        assertEquals(0xffeedd, Dreq.queuePair(mad));

        Mad.writeRtu(mad, 1, 2, 3);
        assertEquals(Mad.RTU, Mad.attribute(mad));
        Mad.writeDrep(mad, 1, 2, 3);
        assertEquals(Mad.DREP, Mad.attribute(mad));
    }

    @Test
    void shouldWriteDatagramServices() {
        SidrReq.write(mad, 1, 2, 0x1111234L);
        assertEquals(Mad.SIDR_REQ, Mad.attribute(mad));
        assertEquals(2, Mad.localId(mad));
        assertEquals(0x1111234L, SidrReq.service(mad));
        SidrRep.write(mad, 1, 2, SidrRep.REJECTED, 0x1111234L, 0xabcdef, 0x1234567);
        assertEquals(Mad.SIDR_REP, Mad.attribute(mad));
        assertEquals(SidrRep.REJECTED, SidrRep.status(mad));
        assertEquals(0xabcdef, SidrRep.queuePair(mad));
        assertEquals(0x1234567, SidrRep.qkey(mad));
    }

    @Test
    void shouldWriteAddresses() {
        byte[] one = {10, 0, 0, 1};
        byte[] other = {10, 0, 0, (byte) 200};
        IpHeader.write(mad, 0xabcd, one, other);
        assertTrue(IpHeader.isValid(mad));
        assertEquals(IpHeader.IPV4, IpHeader.ipVersion(mad));
        assertEquals(0xabcd, IpHeader.sourcePort(mad));
        assertArrayEquals(one, IpHeader.source(mad));
        assertArrayEquals(other, IpHeader.destination(mad));
        byte[] long6 = new byte[16];
        long6[0] = (byte) 0xfd;
        long6[15] = 7;
        IpHeader.write(mad, 1, long6, long6);
        assertEquals(IpHeader.IPV6, IpHeader.ipVersion(mad));
        assertArrayEquals(long6, IpHeader.source(mad));
        memory.fill((byte) 0x50);
        assertFalse(IpHeader.isValid(mad));
    }
}
