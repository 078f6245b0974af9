package org.rdmapanama.cm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.MemoryWindow;
import org.rdmapanama.MemoryWindowBinding;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.SharedReceiveQueueOptions;
import org.rdmapanama.UnsupportedVerbException;
import org.rdmapanama.VerbsException;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.memory.MemoryWindowType;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Lab;
import org.rdmapanama.testing.LabDevices;

/** The table of docs/TRANSPORTS.md says what each device does. */
@Tag("lab")
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("CheckReturnValue") // objects that are only there
class TransportsLabTest {
    private static final Path DOCUMENT = Path.of("docs/TRANSPORTS.md");
    private static final List<String> COLUMNS = List.of("soft0", "rxe", "siw");
    private static final int INLINE = 64;

    /** Tries something between connected ends, and returns what there is to say. */
    private interface Attempt {
        String make(Pair pair) throws Exception;
    }

    private static final Map<String, Attempt> ATTEMPTS = new LinkedHashMap<>();

    static {
        ATTEMPTS.put("SEND", pair -> {
            pair.right.post(pair.right.receiveRequest(2, 0, 64));
            pair.left.post(pair.left.request(1, 0, 64).send());
            return both(pair);
        });
        ATTEMPTS.put("SEND with immediate data", pair -> {
            pair.right.post(pair.right.receiveRequest(2, 0, 64));
            pair.left.post(pair.left.request(1, 0, 64).sendWithImmediate(7));
            return both(pair);
        });
        ATTEMPTS.put("SEND with Invalidate of a window", pair -> {
            MemoryRegion region = pair.right.register(4096, AccessFlag.LOCAL_WRITE, AccessFlag.MW_BIND);
            MemoryWindow window = pair.right.domain.allocateMemoryWindow(MemoryWindowType.TYPE_2);
            MemoryWindowBinding whole = new MemoryWindowBinding(region, 0, 4096, AccessFlag.REMOTE_WRITE);
            pair.right.post(pair.right.request(3, 0, 0).bindMemoryWindow(window, window.nextRkey(), whole));
            if (pair.right.sent(3) != CompletionStatus.SUCCESS) {
                return "no";
            }
            pair.right.post(pair.right.receiveRequest(2, 0, 64));
            pair.left.post(pair.left.request(1, 0, 64).sendWithInvalidate(window.rkey()));
            return both(pair);
        });
        ATTEMPTS.put("RDMA WRITE", pair -> {
            pair.left.post(
                    pair.left.request(1, 0, 64).rdmaWrite(pair.right.region.address(), pair.right.region.rkey()));
            return one(pair);
        });
        ATTEMPTS.put("RDMA WRITE with immediate data", pair -> {
            pair.right.post(pair.right.receiveRequest(2, 0, 64));
            pair.left.post(pair.left
                    .request(1, 0, 64)
                    .rdmaWriteWithImmediate(pair.right.region.address(), pair.right.region.rkey(), 7));
            return both(pair);
        });
        ATTEMPTS.put("RDMA READ", pair -> {
            pair.left.post(pair.left.request(1, 0, 64).rdmaRead(pair.right.region.address(), pair.right.region.rkey()));
            return one(pair);
        });
        ATTEMPTS.put("Compare and swap", pair -> {
            MemoryRegion counter = counter(pair);
            pair.left.post(pair.left.request(1, 0, 8).compareAndSwap(counter.address(), counter.rkey(), 0, 5));
            return one(pair, counter, 5);
        });
        ATTEMPTS.put("Fetch and add", pair -> {
            MemoryRegion counter = counter(pair);
            pair.left.post(pair.left.request(1, 0, 8).fetchAndAdd(counter.address(), counter.rkey(), 3));
            return one(pair, counter, 3);
        });
        ATTEMPTS.put("inline data", pair -> {
            pair.right.post(pair.right.receiveRequest(2, 0, INLINE));
            pair.left.post(pair.left.request(1, 0, INLINE).send().inline(true));
            return both(pair);
        });
        ATTEMPTS.put("shared receive queue", pair -> {
            pair.left.domain.createSharedReceiveQueue(new SharedReceiveQueueOptions());
            return "yes";
        });
        ATTEMPTS.put("UC queue pair", pair -> {
            pair.left.domain.createQueuePair(new QueuePairOptions(QueuePairType.UC, pair.left.queue));
            return "yes";
        });
        ATTEMPTS.put("UD queue pair", pair -> {
            pair.left.domain.createQueuePair(new QueuePairOptions(QueuePairType.UD, pair.left.queue));
            return "yes";
        });
        ATTEMPTS.put("XRC domain", pair -> {
            pair.left.context.openXrcDomain();
            return "yes";
        });
        ATTEMPTS.put(
                "shows the transport", pair -> pair.left.context.transportType().toString());
        ATTEMPTS.put("types of GIDs", pair -> {
            TreeSet<String> types = new TreeSet<>();
            pair.left
                    .context
                    .queryGidTable()
                    .forEach(entry -> types.add(entry.type().toString()));
            return String.join(", ", types);
        });
    }

    private static MemoryRegion counter(Pair pair) {
        return pair.right.register(4096, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_ATOMIC);
    }

    private static String one(Pair pair) throws InterruptedException {
        return pair.left.sent(1) == CompletionStatus.SUCCESS ? "yes" : "no";
    }

    private static String one(Pair pair, MemoryRegion counter, long expected) throws InterruptedException {
        String answer = one(pair);
        if (answer.equals("yes")) {
            assertEquals(expected, counter.memory().get(ValueLayout.JAVA_LONG, 0));
        }
        return answer;
    }

    /** The same for what takes a receive of the other side. */
    private static String both(Pair pair) throws InterruptedException {
        String answer = one(pair);
        if (answer.equals("yes")) {
            assertEquals(CompletionStatus.SUCCESS, pair.right.received(2));
        }
        return answer;
    }

    private static String attempt(LabWire wire, Attempt attempt) throws Exception {
        try (Pair pair = new Pair(
                wire, Lab.port(), options -> options.queuePair(queuePair -> queuePair.maxInlineData(INLINE)))) {
            return attempt.make(pair);
        } catch (VerbsException | UnsupportedVerbException e) {
            return "no";
        }
    }

    private static String column(LabWire wire) {
        if (wire == LabWire.IWARP) {
            return "siw";
        }
        assumeTrue(LabDevices.areSoftRoce() || LabDevices.areOurs(), "the table does not have this device");
        return LabDevices.areSoftRoce() ? "rxe" : "soft0";
    }

    private static Map<String, String> documented(String column) throws IOException {
        Map<String, String> found = new LinkedHashMap<>();
        for (String line : Files.readAllLines(DOCUMENT)) {
            List<String> cells =
                    Arrays.stream(line.split("\\|", -1)).map(String::strip).toList();
            if (cells.size() == COLUMNS.size() + 3 && ATTEMPTS.containsKey(cells.get(1))) {
                found.put(cells.get(1), cells.get(2 + COLUMNS.indexOf(column)));
            }
        }
        return found;
    }

    @ParameterizedTest
    @EnumSource
    void shouldDoWhatTheTableSays(LabWire wire) throws Exception {
        // Skips the test where there is no such wire, or no such column.
        wire.secondHost();
        String column = column(wire);
        Map<String, String> observed = new LinkedHashMap<>();
        for (Map.Entry<String, Attempt> each : ATTEMPTS.entrySet()) {
            observed.put(each.getKey(), attempt(wire, each.getValue()));
        }
        assertEquals(observed, documented(column), "the column " + column + " of " + DOCUMENT);
    }
}
