package org.rdmapanama.flow;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.address.MacAddress;

/** Rules need no device. That C builds the same bytes is for {@code FlowLabTest} to show. */
class FlowRuleTest {
    private static String refused(Executable call) {
        return assertThrows(IllegalArgumentException.class, call).getMessage();
    }

    @Test
    void shouldRefuseWhatIsOutOfRange() {
        refused(() -> new FlowRule(0));
        refused(() -> new FlowRule(256));
        refused(() -> new FlowRule(1).priority(-1));
        refused(() -> new FlowRule(1).priority(0x1_0000));
        refused(() -> FlowFilter.ethernet().etherType(0x1_0000));
        refused(() -> FlowFilter.ipv4Extended().protocol(256));
        refused(() -> FlowFilter.ipv4Extended().protocol(1, -1));
        refused(() -> FlowFilter.ipv6().flowLabel(0x10_0000));
        refused(() -> FlowFilter.udp().destinationPort(-1));
        assertTrue(
                refused(() -> FlowFilter.vxlan().networkIdentifier(0x100_0000)).contains("networkIdentifier"));
        assertThrows(NullPointerException.class, () -> new FlowRule(1).add(null));
        assertThrows(NullPointerException.class, () -> new FlowRule(1).type(null));
        assertThrows(NullPointerException.class, () -> new FlowRule(1).flags((FlowFlag) null));
        assertThrows(NullPointerException.class, () -> new FlowSpecification.Count(null));
        assertThrows(NullPointerException.class, () -> new FlowSpecification.Apply(null));
    }

    @Test
    void shouldRefuseBitsThatAreNotCompared() {
        String message = refused(() -> FlowFilter.udp().sourcePort(0x1234, 0xff00));
        assertTrue(message.contains("sourcePort ") && message.contains("ff00: 1234"), message);
    }

    @Test
    void shouldTakeNoMoreSpecificationsThanFit() {
        FlowRule many = new FlowRule(1);
        for (int i = 0; i < 255; i++) {
            many.add(new FlowSpecification.Drop());
        }
        assertEquals(20 + 255 * 8, many.toNative().length);
        assertThrows(IllegalStateException.class, () -> many.add(new FlowSpecification.Drop()));
    }

    @Test
    void shouldSetFieldsAgain() {
        byte[] once = new FlowRule(1).add(FlowFilter.tcp().sourcePort(1)).toNative();
        byte[] twice = new FlowRule(1)
                .add(FlowFilter.tcp().sourcePort(0xffff).sourcePort(1))
                .toNative();
        assertEquals(HexFormat.of().formatHex(once), HexFormat.of().formatHex(twice));
        FlowRule rule = new FlowRule(1).flags(FlowFlag.EGRESS).flags(FlowFlag.DONT_TRAP);
        assertTrue(rule.toString().contains("[DONT_TRAP]"), rule::toString);
    }

    @Test
    void shouldSayWhatIsCompared() {
        assertEquals(
                "inner UDP destinationPort 12b7/ffff",
                FlowFilter.udp().destinationPort(4791).inner().toString());
        assertEquals(
                "Ethernet destination 661122334455/ffffffffffff vlanTag 0005/0fff",
                FlowFilter.ethernet()
                        .destination(MacAddress.parse("66:11:22:33:44:55"))
                        .vlanTag(5, 0xfff)
                        .toString());
    }

    @Test
    void shouldRefuseKeysOfOtherLengths() {
        refused(() -> new FlowActionEspOptions().aesGcm(new byte[15], 0, 0, 16));
        refused(() -> new FlowActionEspOptions().aesGcm(new byte[16], 0, 0, 4));
        refused(() -> new FlowActionEspOptions().replayWindow(0));
    }

    @Test
    void shouldNotShowKeys() {
        byte[] key = HexFormat.of().parseHex("deadbeefdeadbeefdeadbeefdeadbeef");
        String text = new FlowActionEspOptions()
                .aesGcm(key, 0xdeadbeef, 0xdeadbeefL, 16)
                .toString();
        assertEquals("ESP, AES-GCM with a key of 16 bytes", text);
    }
}
