package org.rdmapanama.mlx5.direct;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.rdmapanama.testing.MachineCode;

/**
 * The machine code of what rings a doorbell, and of polling. No specification of Java promises what is expected here, so the
 * code that the second compiler makes is read: that of a JVM of its own, which prints it.
 *
 * <ul>
 *   <li>A doorbell: the record is stored, a locked instruction ends the delay of earlier stores, the doorbell is stored, and a
 *       locked instruction ends its own delay.
 *   <li>In a page that is not cached, the doorbell follows the record, and there is no locked instruction.
 *   <li>A work request that is copied into the register of a thread domain: between the locked instructions there are only
 *       stores of eight bytes, in the order of their addresses.
 *   <li>Polling: the owner of an entry is read before anything else of it.
 * </ul>
 */
class FencesTest {
    /** The others call this one, which is then in them; {@link RingLoop} calls it alone, too. */
    private static final String RING = "SendQueueRing::ring";

    /** The methods that ring the doorbell of a queue pair, each with everything in it that it calls. */
    private static final List<String> POSTING = List.of(RING, "SendQueueRing::post", "RingSendVerbs::wrComplete");

    /** All methods that ring. */
    private static final List<String> METHODS = Stream.concat(
                    POSTING.stream(), Stream.of("CompletionQueueRing::requestNotification"))
            .toList();

    private static final int WORDS_OF_BLOCK = 8;
    private static final String POLL = "CompletionQueueRing::pollCompletionQueue";

    @TempDir
    private Path folder;

    @Test
    void shouldOrderStores() throws Exception {
        MachineCode.assumeSecondCompiler();
        instructions(METHODS, List.of()).forEach((method, code) -> assertEquals("", fault(code), method));
    }

    private MachineCode code() {
        return new MachineCode(RingLoop.class, folder);
    }

    private Map<String, List<String>> instructions(List<String> methods, List<String> classes, String... arguments)
            throws Exception {
        return code().of(methods, RING, classes, arguments);
    }

    /** Has each method that rings the doorbell of a queue pair checked, with its code. */
    private void whilePosting(List<String> classes, String page, BiConsumer<String, List<String>> check)
            throws Exception {
        instructions(POSTING, classes, page).forEach(check);
    }

    @Test
    void shouldOrderStoresToAPageThatIsNotCached() throws Exception {
        MachineCode.assumeSecondCompiler();
        whilePosting(List.of(), RingLoop.UNCACHED, (method, code) -> assertEquals("", faultOfUncached(code), method));
    }

    /** Changes for a page that is not cached, each of which must be noticed. */
    static List<Arguments> changesOfUncached() {
        String rings = "RingMemory.ringUncached(doorbell, lastWord);";
        return List.of(
                arguments("RingMemory.java", "putNetworkInt(record, value);", "putInt(record, value);"),
                arguments("RingMemory.java", "putLong(doorbell, value);", "putInt(doorbell, (int) value);"),
                arguments("SendQueueRing.java", rings, rings + " RingMemory.publish(record, position & 0xffff);"),
                arguments("SendQueueRing.java", rings, "RingMemory.ring(record, doorbell, lastWord);"),
                arguments("SendQueueRing.java", rings, ""));
    }

    @ParameterizedTest
    @MethodSource("changesOfUncached")
    void shouldNoticeAChangeOfUncached(String file, String part, String replacement) throws Exception {
        MachineCode.assumeSecondCompiler();
        List<String> classes = List.of(code().mutated(file, part, replacement).toString());
        whilePosting(classes, RingLoop.UNCACHED, (method, code) -> assertNotEquals("", faultOfUncached(code), method));
    }

    @Test
    void shouldOrderTheStoresOfACopy() throws Exception {
        MachineCode.assumeSecondCompiler();
        whilePosting(List.of(), RingLoop.BLUE_FLAME, (method, code) -> assertEquals("", faultOfCopy(code), method));
    }

    /** Changes of how a work request is copied, each of which must be noticed. */
    static List<Arguments> changesOfCopying() {
        String copies = "putLong(to + i, getLong(block + i));";
        return List.of(
                arguments("RingMemory.java", "flush(record);\n        long to", "long to"),
                arguments("RingMemory.java", "(from != next);\n        flush(record);", "(from != next);"),
                arguments("RingMemory.java", "putNetworkInt(record, value);", "putInt(record, value);"),
                arguments(
                        "RingMemory.java",
                        copies,
                        "putInt(to + i, getInt(block + i)); putInt(to + i + 4, getInt(block + i + 4));"),
                arguments("RingMemory.java", copies, "putLong(to + (i ^ 8), getLong(block + (i ^ 8)));"),
                arguments("RingMemory.java", copies, "if (i == 0) copy(block, to, BLOCK_BYTES);"),
                arguments("SendQueueRing.java", "if (count == 1 && blueFlame", "if (count == 2 && blueFlame"));
    }

    @ParameterizedTest
    @MethodSource("changesOfCopying")
    void shouldNoticeAChangeOfCopying(String file, String part, String replacement) throws Exception {
        MachineCode.assumeSecondCompiler();
        List<String> classes = List.of(code().mutated(file, part, replacement).toString());
        whilePosting(classes, RingLoop.BLUE_FLAME, (method, code) -> assertNotEquals("", faultOfCopy(code), method));
    }

    @Test
    void shouldReadTheOwnerFirst() throws Exception {
        MachineCode.assumeSecondCompiler();
        assertEquals(
                "",
                MachineCode.faultOfPolling(
                        instructions(List.of(POLL), List.of()).get(POLL), "0x3f", "0x38"));
    }

    /** Changes of {@link CompletionQueueRing}, each of which must be noticed. */
    static List<Arguments> changesOfPolling() {
        return List.of(
                arguments(
                        "long entry = entry(at);",
                        "long entry = entry(at); last = RingMemory.getLong(entry + NUMBER) == 1 ? null : last;"),
                arguments(
                        "long entry = entry(at);",
                        "long entry = entry(at); last = RingMemory.getInt(entry + BYTE_COUNT) == 1 ? null : last;"));
    }

    @ParameterizedTest
    @MethodSource("changesOfPolling")
    void shouldNoticeAnEarlyRead(String part, String replacement) throws Exception {
        MachineCode.assumeSecondCompiler();
        List<String> classes = List.of(
                code().mutated("CompletionQueueRing.java", part, replacement).toString());
        assertNotEquals(
                "",
                MachineCode.faultOfPolling(instructions(List.of(POLL), classes).get(POLL), "0x3f", "0x38"));
    }

    /** Changes of {@link RingMemory}, each of which must be noticed. */
    static List<Arguments> changes() {
        return List.of(
                arguments("flush(record);\n        putLong(doorbell, value);", "putLong(doorbell, value);"),
                arguments("putLong(doorbell, value);\n        flush(record);", "putLong(doorbell, value);"),
                arguments("flush(record);", "VarHandle.storeStoreFence();"),
                arguments("flush(record);", "VarHandle.fullFence();"),
                arguments("putLong(doorbell, value);", "putInt(doorbell, (int) value);"),
                arguments("putNetworkInt(record, value);", "putInt(record, value);"));
    }

    @ParameterizedTest
    @MethodSource("changes")
    void shouldNoticeAChange(String part, String replacement) throws Exception {
        MachineCode.assumeSecondCompiler();
        List<String> classes =
                List.of(code().mutated("RingMemory.java", part, replacement).toString());
        instructions(METHODS, classes).forEach((method, code) -> assertNotEquals("", fault(code), method));
    }

    /**
     * Says what is wrong with the order of a method: nothing is, if it is empty. Between two locked instructions there must
     * be one store, of eight bytes; and the last store before them must be that of a number in network byte order.
     */
    static String fault(List<String> instructions) {
        int before = MachineCode.next(instructions, 0, MachineCode::isLocked);
        if (before < 0) {
            return "no locked instruction";
        }
        int after = MachineCode.next(instructions, before + 1, MachineCode::isLocked);
        if (after < 0) {
            return "one locked instruction";
        }
        List<String> between = instructions.subList(before + 1, after);
        if (between.stream().anyMatch(MachineCode::leaves)) {
            return "a jump between the locked instructions: " + between;
        }
        List<String> doorbells = between.stream().filter(MachineCode::stores).toList();
        if (doorbells.size() != 1 || !doorbells.get(0).matches("mov +%r([a-z][a-z]|\\d+),.*")) {
            return "not one store of eight bytes between the locked instructions: " + doorbells;
        }
        return faultBefore(instructions, before);
    }

    /** Says what is wrong with the last store before a locked instruction, which must be that of the doorbell record. */
    private static String faultBefore(List<String> instructions, int locked) {
        for (int i = locked - 1; i >= 0 && !MachineCode.leaves(instructions.get(i)); i--) {
            if (MachineCode.stores(instructions.get(i))) {
                return isInNetworkByteOrder(instructions, i)
                        ? ""
                        : "not a number in network byte order before the locked instructions: " + instructions.get(i);
            }
        }
        return "no store before the locked instructions";
    }

    /**
     * Says what is wrong with the order of a method that copies a work request into a register: nothing is, if it is empty. Between
     * two locked instructions all stores are of eight bytes, eight in a row with increasing addresses; and the last store before
     * them is that of a number in network byte order.
     */
    static String faultOfCopy(List<String> instructions) {
        int before = MachineCode.next(instructions, 0, MachineCode::isLocked);
        int after = before < 0 ? -1 : MachineCode.next(instructions, before + 1, MachineCode::isLocked);
        if (after < 0) {
            return "not two locked instructions";
        }
        List<String> between = instructions.subList(before + 1, after);
        if (between.stream().anyMatch(each -> each.matches("(call|ret).*"))) {
            return "a call or a return between the locked instructions: " + between;
        }
        List<String> stores = between.stream().filter(MachineCode::stores).toList();
        if (stores.isEmpty() || stores.size() % WORDS_OF_BLOCK != 0) {
            return "not eight stores for each block: " + stores;
        }
        Pattern eightBytes = Pattern.compile("mov +%r(?:[a-z][a-z]|\\d+),(0x[0-9a-f]+)?(\\(.*\\))");
        for (int i = 0; i < stores.size(); i++) {
            Matcher first = eightBytes.matcher(stores.get(i - i % WORDS_OF_BLOCK));
            Matcher store = eightBytes.matcher(stores.get(i));
            if (!first.matches()
                    || !store.matches()
                    || !store.group(2).equals(first.group(2))
                    || displacement(store.group(1)) - displacement(first.group(1)) != i % WORDS_OF_BLOCK * Long.BYTES) {
                return "not stores of eight bytes in the order of their addresses: " + stores;
            }
        }
        return faultBefore(instructions, before);
    }

    private static int displacement(String text) {
        return text == null ? 0 : Integer.decode(text);
    }

    /**
     * Says what is wrong with the order of a method that rings in a page which is not cached: nothing is, if it is empty. Behind
     * the last number in network byte order, which is the doorbell record, eight bytes must be stored; and nothing is locked.
     */
    static String faultOfUncached(List<String> instructions) {
        if (MachineCode.next(instructions, 0, MachineCode::isLocked) >= 0) {
            return "a locked instruction";
        }
        int record = instructions.size() - 1;
        while (record >= 0
                && !(MachineCode.stores(instructions.get(record)) && isInNetworkByteOrder(instructions, record))) {
            record--;
        }
        if (record < 0) {
            return "no store of a number in network byte order";
        }
        int doorbell = MachineCode.next(instructions, record + 1, MachineCode::stores);
        int end = MachineCode.next(instructions, record + 1, MachineCode::leaves);
        if (doorbell < 0 || (end >= 0 && end < doorbell)) {
            return "no store behind that of the doorbell record";
        }
        return instructions.get(doorbell).matches("mov +%r([a-z][a-z]|\\d+),.*")
                ? ""
                : "not eight bytes behind the doorbell record: " + instructions.get(doorbell);
    }

    /** Whether what an instruction stores is of four bytes, which were swapped. */
    private static boolean isInNetworkByteOrder(List<String> instructions, int store) {
        Matcher matcher = Pattern.compile("mov +%(e\\w\\w|r\\d+d),.*").matcher(instructions.get(store));
        if (!matcher.matches()) {
            return false;
        }
        String register = "%" + matcher.group(1);
        for (int i = store - 1; i >= 0 && !MachineCode.leaves(instructions.get(i)); i--) {
            if (instructions.get(i).endsWith(register)) {
                return instructions.get(i).startsWith("bswap");
            }
        }
        return false;
    }
}
