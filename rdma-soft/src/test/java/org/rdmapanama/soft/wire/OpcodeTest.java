package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class OpcodeTest {
    private static int lengthByHand(int opcode) {
        int length = Bth.BYTES;
        length += Opcode.hasDeth(opcode) ? 8 : 0;
        length += Opcode.hasReth(opcode) ? 16 : 0;
        length += Opcode.hasAtomicEth(opcode) ? 28 : 0;
        length += Opcode.hasAeth(opcode) ? 4 : 0;
        length += Opcode.hasAtomicAckEth(opcode) ? 8 : 0;
        length += Opcode.hasImmediate(opcode) ? 4 : 0;
        length += Opcode.hasInvalidate(opcode) ? 4 : 0;
        return length;
    }

    /** The properties of all codes must agree with their names. */
    @Test
    void shouldBeWhatItsNameSays() throws IllegalAccessException {
        List<Integer> known = new ArrayList<>();
        for (Field field : Opcode.class.getFields()) {
            String name = field.getName();
            if (!name.contains("_") || name.startsWith("MAX")) {
                continue;
            }
            int opcode = field.getInt(null);
            known.add(opcode);
            assertEquals(name, Opcode.name(opcode));
            assertTrue(Opcode.isKnown(opcode), name);
            assertEquals(name.startsWith("RC_"), Opcode.transport(opcode) == Opcode.RC, name);
            assertEquals(name.startsWith("UC_"), Opcode.transport(opcode) == Opcode.UC, name);
            assertEquals(name.startsWith("UD_"), Opcode.transport(opcode) == Opcode.UD, name);

            boolean response = name.contains("RESPONSE") || name.contains("ACKNOWLEDGE");
            assertEquals(response, Opcode.isResponse(opcode), name);
            assertEquals(!response, Opcode.isRequest(opcode), name);
            assertEquals(name.contains("SEND"), Opcode.isSend(opcode), name);
            assertEquals(name.contains("WRITE"), Opcode.isRdmaWrite(opcode), name);
            assertEquals(name.contains("READ_RESPONSE"), Opcode.isReadResponse(opcode), name);

            assertEquals(name.contains("FIRST"), Opcode.isFirst(opcode), name);
            assertEquals(name.contains("MIDDLE"), Opcode.isMiddle(opcode), name);
            assertEquals(name.contains("LAST"), Opcode.isLast(opcode), name);
            boolean part = name.contains("FIRST") || name.contains("MIDDLE") || name.contains("LAST");
            assertEquals(!part, Opcode.isOnly(opcode), name);
            assertEquals(!part || name.contains("FIRST"), Opcode.isStart(opcode), name);
            assertEquals(!part || name.contains("LAST"), Opcode.isEnd(opcode), name);

            boolean atomic = name.contains("COMPARE") || name.contains("FETCH");
            boolean start = Opcode.isStart(opcode);
            assertEquals(name.startsWith("UD"), Opcode.hasDeth(opcode), name);
            assertEquals((name.contains("WRITE") && start) || name.contains("REQUEST"), Opcode.hasReth(opcode), name);
            assertEquals(atomic, Opcode.hasAtomicEth(opcode), name);
            assertEquals(response && !name.contains("MIDDLE"), Opcode.hasAeth(opcode), name);
            assertEquals(name.contains("ATOMIC_ACK"), Opcode.hasAtomicAckEth(opcode), name);
            assertEquals(name.contains("IMMEDIATE"), Opcode.hasImmediate(opcode), name);
            assertEquals(name.contains("INVALIDATE"), Opcode.hasInvalidate(opcode), name);
            boolean none = atomic || name.contains("ACKNOWLEDGE") || name.contains("REQUEST");
            assertEquals(!none, Opcode.hasPayload(opcode), name);
            assertEquals(lengthByHand(opcode), Opcode.headerBytes(opcode), name);
            assertTrue(Opcode.headerBytes(opcode) <= Opcode.MAX_HEADER_BYTES, name);
            if (Opcode.hasImmediate(opcode)) {
                assertEquals(Opcode.headerBytes(opcode) - ImmDt.BYTES, Opcode.immediateOffset(opcode), name);
            }
        }
        assertEquals(23 + 12 + 2, known.size());

        known.add(Opcode.CNP);
        assertEquals(28, Opcode.headerBytes(Opcode.CNP));
        assertEquals("CNP", Opcode.name(Opcode.CNP));
        for (int opcode = 0; opcode < 256; opcode++) {
            assertEquals(known.contains(opcode), Opcode.isKnown(opcode));
            if (!Opcode.isKnown(opcode)) {
                assertEquals(0, Opcode.headerBytes(opcode));
                assertFalse(Opcode.isRequest(opcode) || Opcode.isResponse(opcode) || Opcode.isOnly(opcode));
            }
        }
        assertEquals("opcode 0x15", Opcode.name(0x15));
    }
}
