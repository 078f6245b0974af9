package org.rdmapanama.efa.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.testing.MachineCode;

/**
 * The machine code of what hands sends to the device, and of polling. No specification of Java promises what is expected here, so
 * the code that the second compiler makes is read.
 *
 * <ul>
 *   <li>Sends are stored to the device by eight bytes. A locked instruction ends their delay, and the next store is that
 *       of the doorbell, of four bytes.
 *   <li>Polling: the byte with the phase of an entry is read before anything else of it.
 * </ul>
 */
class EfaFencesTest {
    private static final String STORE = "SendQueueRing::encodeUsual";

    /** Calls that one for each send. */
    private static final String POST = "SendQueueRing::post";

    private static final String COMPLETE = "RingSendVerbs::wrComplete";
    private static final List<String> STORING = List.of(STORE, COMPLETE);
    private static final List<String> ANNOUNCING = List.of(POST, COMPLETE);
    private static final List<String> POSTING = List.of(STORE, POST, COMPLETE);
    private static final String POLL = "CompletionQueueRing::pollCompletionQueue";

    /** So many words has a send. */
    private static final int WORDS = 8;

    @TempDir
    private Path folder;

    private MachineCode code() {
        return new MachineCode(RingLoop.class, folder);
    }

    private Map<String, List<String>> instructions(List<String> methods, List<String> classes) throws Exception {
        return code().of(methods, "", classes);
    }

    @Test
    void shouldOrderStores() throws Exception {
        MachineCode.assumeSecondCompiler();
        instructions(POSTING, List.of()).forEach((method, code) -> assertEquals("", fault(method, code), method));
    }

    /** Changes, each of which must be noticed in some methods. */
    static List<Arguments> changes() {
        return List.of(
                arguments(ANNOUNCING, "SendQueueRing.java", "RingMemory.flush(draftStart);", ""),
                arguments(
                        ANNOUNCING,
                        "SendQueueRing.java",
                        "RingMemory.flush(draftStart);\n        RingMemory.ring(doorbell, to & NUMBER_MASK);",
                        "RingMemory.ring(doorbell, to & NUMBER_MASK); RingMemory.flush(draftStart);"),
                arguments(
                        STORING,
                        "RingMemory.java",
                        "putLong(address, value);\n        VarHandle.releaseFence();",
                        "putInt(address + 4, (int) (value >> 32)); VarHandle.releaseFence(); putInt(address, (int) value);"),
                arguments(
                        List.of(COMPLETE),
                        "RingMemory.java",
                        "putToDevice(target, getLong(source));\n            putToDevice(target + 8, getLong(source + 8));",
                        "putToDevice(target + 8, getLong(source + 8)); putToDevice(target, getLong(source));"),
                arguments(
                        List.of(STORE),
                        "SendQueueRing.java",
                        "RingMemory.putToDevice(to, first);\n        RingMemory.putToDevice(to + SECOND_WORD, second);",
                        "RingMemory.putToDevice(to + SECOND_WORD, second); RingMemory.putToDevice(to, first);"),
                arguments(ANNOUNCING, "RingMemory.java", "putInt(doorbell, value);", "putLong(doorbell, value);"));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void shouldNoticeAChange(List<String> methods, String file, String part, String replacement) throws Exception {
        MachineCode.assumeSecondCompiler();
        List<String> classes = List.of(code().mutated(file, part, replacement).toString());
        Map<String, List<String>> instructions = instructions(POSTING, classes);
        methods.forEach(method -> assertNotEquals("", fault(method, instructions.get(method)), method));
    }

    /** Says what is wrong with the order of a method: nothing is, if it is empty. */
    private static String fault(String method, List<String> instructions) {
        String fault = STORING.contains(method) ? faultOfStores(instructions) : "";
        return fault.isEmpty() && ANNOUNCING.contains(method) ? faultOfOrder(instructions) : fault;
    }

    /** A chain is announced in several places. */
    private static String faultOfOrder(List<String> instructions) {
        int locked = MachineCode.next(instructions, 0, MachineCode::isLocked);
        if (locked < 0) {
            return "no locked instruction";
        }
        String fault = "";
        while (locked >= 0 && fault.isEmpty()) {
            fault = faultBehind(instructions, locked);
            locked = MachineCode.next(instructions, locked + 1, MachineCode::isLocked);
        }
        return fault;
    }

    private static String faultBehind(List<String> instructions, int locked) {
        int doorbell = MachineCode.next(instructions, locked + 1, MachineCode::stores);
        int end = MachineCode.next(instructions, locked + 1, MachineCode::leaves);
        if (doorbell < 0 || (end >= 0 && end < doorbell)) {
            return "no store behind the locked instruction";
        }
        return instructions.get(doorbell).matches("mov +%(e\\w\\w|r\\d+d),.*")
                ? ""
                : "not four bytes behind the locked instruction: " + instructions.get(doorbell);
    }

    /** 64 bytes are stored one after the other. */
    private static String faultOfStores(List<String> instructions) {
        Pattern eightBytes =
                Pattern.compile("(?:mov +%r(?:[a-z][a-z]|\\d+)|movq +\\$0x[0-9a-f]+),(0x[0-9a-f]+)?(\\(.*\\))");
        String place = "";
        int inOrder = 0;
        for (String each : instructions) {
            if (!MachineCode.stores(each)) {
                continue;
            }
            Matcher store = eightBytes.matcher(each);
            boolean isWord = store.matches();
            int offset = isWord && store.group(1) != null ? Integer.decode(store.group(1)) : 0;
            if (isWord && offset == 0) {
                place = store.group(2);
                inOrder = 1;
            } else if (isWord && store.group(2).equals(place) && offset == inOrder * Long.BYTES) {
                inOrder++;
            } else {
                inOrder = 0;
                place = "";
            }
            if (inOrder == WORDS) {
                return "";
            }
        }
        return "not eight stores of eight bytes in the order of their addresses";
    }

    @Test
    void shouldReadThePhaseFirst() throws Exception {
        MachineCode.assumeSecondCompiler();
        assertEquals("", faultOfPolling(List.of()));
    }

    @Test
    void shouldNoticeAnEarlyRead() throws Exception {
        MachineCode.assumeSecondCompiler();
        String address = "long entry = RingMemory.known(start + ((long) (at & mask) << ENTRY_SHIFT));";
        Path classes = code().mutated(
                        "SubQueue.java", address, address + " staleCount += RingMemory.getLong(entry) == 1 ? 1 : 0;");
        assertNotEquals("", faultOfPolling(List.of(classes.toString())));
    }

    private String faultOfPolling(List<String> classes) throws Exception {
        return MachineCode.faultOfPolling(instructions(List.of(POLL), classes).get(POLL), "0x3", "");
    }
}
