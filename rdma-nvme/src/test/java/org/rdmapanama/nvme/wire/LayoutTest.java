package org.rdmapanama.nvme.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The layouts, against bytes that were written down from the figures of the specifications. */
class LayoutTest {
    private static MemorySegment memory(int bytes) {
        return MemorySegment.ofArray(new byte[bytes]);
    }

    private static void assertBytes(String expected, MemorySegment memory) {
        String hex = expected.replaceAll("\\s", "");
        byte[] found = Fields.bytes(memory, 0, hex.length() / 2);
        assertEquals(hex, HexFormat.of().formatHex(found));
    }

    @Test
    void shouldWriteReadWithKeyedDescriptor() {
        MemorySegment entry = memory(64);
        entry.fill((byte) 0xff);
        Command.begin(entry, Opcode.READ, 0x1234, 7);
        Command.blocks(entry, 0x0102030405060708L, 256);
        Command.keyed(entry, 0x1122334455667788L, 0x020304, 0xa1b2c3d4, Command.KEYED);
        assertBytes("""
                02 40 3412 07000000 0000000000000000 0000000000000000
                8877665544332211 040302 d4c3b2a1 40
                0807060504030201 ff00 0000 00000000 00000000 00000000
                """, entry);
        assertEquals(Opcode.READ, Command.opcode(entry));
        assertEquals(0x1234, Command.id(entry));
        assertEquals(7, Command.namespace(entry));
        assertEquals(0x0102030405060708L, Command.firstBlock(entry));
        assertEquals(256, Command.blocks(entry));
        assertEquals(0x1122334455667788L, Command.address(entry));
        assertEquals(0x020304, Command.keyedLength(entry));
        assertEquals(0xa1b2c3d4, Command.key(entry));
        assertEquals(Command.KEYED, Command.descriptorType(entry));
    }

    @Test
    void shouldWriteDescriptorWithinTheCapsule() {
        MemorySegment entry = memory(64);
        Command.begin(entry, Opcode.WRITE, 1, 1);
        Command.inCapsule(entry, 0x10, 0x89abcdef);
        assertBytes("01 40 0100 01000000 0000000000000000 0000000000000000 1000000000000000 efcdab89 000000 01", entry);
        assertEquals(0x89abcdefL, Command.inCapsuleLength(entry));
        assertEquals(0x10, Command.address(entry));
        assertTrue(Command.sendsData(entry));
    }

    @Test
    void shouldWriteConnect() {
        MemorySegment entry = memory(64);
        Command.beginFabrics(entry, Opcode.CONNECT, 3);
        Command.connect(entry, 2, 127, 5000);
        assertBytes("""
                7f 40 0300 01000000 0000000000000000 0000000000000000
                0000000000000000 000000 00000000 40
                0000 0200 7f00 08 00 88130000 000000000000000000000000
                """, entry);
        assertEquals(2, Command.connectQueue(entry));
        assertEquals(127, Command.connectSize(entry));
        assertEquals(5000, Command.connectKeepAlive(entry));
    }

    @Test
    void shouldWriteProperties() {
        MemorySegment entry = memory(64);
        Command.beginFabrics(entry, Opcode.PROPERTY_SET, 0);
        Command.property(entry, Property.CC, false, Property.ENTRY_SIZES | Property.ENABLE);
        assertBytes("7f 40 0000 00", entry);
        assertBytes("00 000000 14000000 01004600 00000000", entry.asSlice(40));
        assertEquals(0, Command.propertySize(entry));
        assertEquals(Property.CC, Command.propertyOffset(entry));
        assertEquals(0x460001, Command.propertyValue(entry));
        assertFalse(Command.sendsData(entry));
    }

    @Test
    void shouldWriteResponse() {
        MemorySegment entry = memory(16);
        Response.write(entry, 0x0102030405060708L, 0x1112, 3, 0x2122, 0x8100);
        assertBytes("0807060504030201 1211 0300 2221 0081", entry);
        assertEquals(0x1112, Response.head(entry));
        assertEquals(3, Response.queue(entry));
        assertEquals(0x2122, Response.id(entry));
        assertEquals(0x8100, Response.status(entry));
        assertEquals(0x0102030405060708L, Response.result(entry));
    }

    @Test
    void shouldWritePrivateData() {
        byte[] request = new PrivateData.Request(1, 128, 127, 0x42).bytes();
        assertEquals("0000010080007f0042000000", HexFormat.of().formatHex(request, 0, 12));
        assertEquals(32, request.length);
        assertEquals(new PrivateData.Request(1, 128, 127, 0x42), PrivateData.Request.of(request));
        assertEquals(0, PrivateData.Request.problem(request));
        assertEquals(PrivateData.INVALID_LENGTH, PrivateData.Request.problem(new byte[31]));
        request[0] = 1;
        assertEquals(PrivateData.INVALID_FORMAT, PrivateData.Request.problem(request));
        byte[] answer = PrivateData.answer(64);
        assertEquals("00004000", HexFormat.of().formatHex(answer, 0, 4));
        assertEquals(64, PrivateData.answeredReceives(answer));
        assertEquals("00000600", HexFormat.of().formatHex(PrivateData.rejection(PrivateData.NO_RESOURCES)));
    }

    @Test
    void shouldWriteConnectData() {
        MemorySegment data = memory(1024);
        byte[] id = HexFormat.of().parseHex("000102030405060708090a0b0c0d0e0f");
        ConnectData.write(data, id, 0xffff, "nqn.sub", "nqn.host");
        assertBytes("000102030405060708090a0b0c0d0e0f ffff 0000", data);
        assertBytes(HexFormat.of().formatHex("nqn.sub\0".getBytes(StandardCharsets.US_ASCII)), data.asSlice(256));
        assertBytes(HexFormat.of().formatHex("nqn.host\0".getBytes(StandardCharsets.US_ASCII)), data.asSlice(512));
        assertArrayEquals(id, ConnectData.hostId(data));
        assertEquals("nqn.sub", ConnectData.subsystemName(data));
        assertEquals("nqn.host", ConnectData.hostName(data));
    }

    @Test
    void shouldReadCapabilities() {
        // CAP of nvmet of Linux 6.1: 1024 entries, 7.5 seconds, the NVM command set and others.
        long nvmet = 1L << 43 | 1L << 37 | 15L << 24 | 1023;
        assertEquals(1024, Property.maxEntries(nvmet));
        assertEquals(7500, Property.timeoutMillis(nvmet));
        assertEquals(4096, Property.minPage(nvmet));
        assertTrue(Property.hasNvm(nvmet));
        long own = Property.capabilities(128, 7500);
        assertEquals(128, Property.maxEntries(own));
        assertEquals(7500, Property.timeoutMillis(own));
        assertTrue(Property.hasNvm(own));
    }

    @Test
    void shouldReadIdentify() {
        MemorySegment controller = memory(4096);
        assertEquals(0xfff000, ControllerData.maxTransfer(controller, 4096));
        Fields.set8(controller, 77, 5);
        assertEquals(128 * 1024, ControllerData.maxTransfer(controller, 4096));
        Fields.set8(controller, 77, 255);
        assertEquals(0xfff000, ControllerData.maxTransfer(controller, 4096));
        Fields.text(controller, 4, 20, "ab", ' ');
        assertEquals("ab", ControllerData.serial(controller));
        Fields.set8(controller, 258, 3);
        assertEquals(4, ControllerData.abortLimit(controller));

        MemorySegment limits = memory(4096);
        assertEquals(Long.MAX_VALUE, NvmLimits.writeZeroes(limits, 4096));
        NvmLimits.write(limits, 8 << 20, 4096);
        assertEquals(11, Fields.get8(limits, 1));
        assertEquals(8 << 20, NvmLimits.writeZeroes(limits, 4096));
        Fields.set8(limits, 1, 255);
        assertEquals(Long.MAX_VALUE, NvmLimits.writeZeroes(limits, 4096));

        MemorySegment namespace = memory(4096);
        Fields.set64(namespace, 0, 1000);
        Fields.set8(namespace, 26, 1);
        Fields.set32(namespace, 132, 12 << 16 | 8);
        assertEquals(1000, NamespaceData.blocks(namespace));
        assertEquals(12, NamespaceData.blockShift(namespace));
        assertEquals(8, NamespaceData.metadata(namespace));
    }

    @Test
    void shouldWriteDiscoveryLog() {
        MemorySegment log = memory(2048);
        DiscoveryLog.header(log, 3, 1);
        MemorySegment entry = log.asSlice(1024);
        DiscoveryLog.entry(entry, DiscoveryLog.NVM, DiscoveryLog.IPV4, "nqn.x", "10.0.0.1", "4420", 32);
        assertBytes("0300000000000000 0100000000000000 0000", log);
        assertBytes("01 01 02 00 0100 ffff 2000", entry);
        assertEquals("4420", Fields.text(entry, 32, 32));
        assertEquals("nqn.x", Fields.text(entry, 256, 256));
        assertEquals("10.0.0.1", Fields.text(entry, 512, 256));
        assertBytes("01 01 01", entry.asSlice(768));
    }

    @Test
    void shouldNotLetTextsOfPeersControlTerminals() {
        MemorySegment field = memory(8);
        Fields.set8(field, 0, 'a');
        Fields.set8(field, 1, 27);
        Fields.set8(field, 2, 0xc3);
        Fields.set8(field, 3, 'b');
        assertEquals("a??b", Fields.text(field, 0, 8));
    }

    @Test
    void shouldFindTheUuidAmongIdentifiers() {
        byte[] uuid = HexFormat.of().parseHex("000102030405060708090a0b0c0d0e0f");
        MemorySegment data = memory(NamespaceIdentifiers.BYTES);
        assertArrayEquals(new byte[16], NamespaceIdentifiers.uuid(data));
        // An EUI-64, and then the UUID.
        MemorySegment list = MemorySegment.ofArray(HexFormat.of()
                .parseHex("01080000" + "1122334455667788" + "03100000"
                        + HexFormat.of().formatHex(uuid)));
        MemorySegment.copy(list, 0, data, 0, list.byteSize());
        assertArrayEquals(uuid, NamespaceIdentifiers.uuid(data));
        // Lengths that lead nowhere.
        Fields.set8(data, 13, 255);
        assertArrayEquals(new byte[16], NamespaceIdentifiers.uuid(data));
        data.fill((byte) 0xff);
        assertArrayEquals(new byte[16], NamespaceIdentifiers.uuid(data));
    }
}
