package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.LabDevices;

/**
 * Random calls, as many as one likes, leave the JVM and the kernel alive, and the kernel with nothing. They reach enough:
 * every call is made, and returns unless the device or something else at hand cannot do it.
 */
@Tag("lab")
@Timeout(value = 3600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FuzzLabTest {
    private static final int CALLS = Integer.getInteger("fuzz.calls", 120_000);
    private static final long SEED = Long.getLong("fuzz.seed", 20261121);

    /** How many pairs of a call and what comes of it there must be; a million of unguided calls found 1,407 of them. */
    private static final int KINDS = 1_480;

    /** What need not be reached by fewer calls than this. */
    private static final int ENOUGH_CALLS = 100_000;

    /** How often the calls are made again where something that should return has not done so by chance. */
    private static final int ROUNDS = 8;

    /** What need not return, whatever the device. */
    private static final Set<String> NEVER_RETURN = Set.of(
            // Needs a device that can register again, and then fails.
            "ReregistrationException.failure()",
            // Needs a program's own allocator.
            "ParentDomainOptions.allocator(ResourceAllocator)",
            // What the cursors of this test meet was flushed.
            "PollCursor.check()",
            // Need fields and operations that neither Soft-RoCE nor soft0 has.
            "PollCursor.timestamp()",
            "PollCursor.wallClockNanos()",
            "PollCursor.vlan()",
            "PollCursor.flowTag()",
            "PollCursor.tag()",
            "PollCursor.tagPrivateData()",
            "WorkRequestBuilder.tso(MemorySegment, int)",
            "WorkRequestBuilder.flush(long, int, long, Set, FlushLevel)",
            "WorkRequestBuilder.flush(RemoteMemory, Set, FlushLevel)",
            "WorkRequestBuilder.atomicWrite(long, int, long)",
            "WorkRequestBuilder.atomicWrite(RemoteMemory, long)",
            "WorkRequestBuilder.toSharedReceiveQueue(int)",
            "WorkRequestBuilder.toTarget(AddressHandle, int, long)",
            // The work queue of this test is none of a driver.
            "WorkQueue.postReceive(ReceiveWorkRequest)",
            "WorkQueue.tryPostReceive(ReceiveWorkRequest)",
            // Need on-demand paging.
            "ProtectionDomain.advise(MemoryAdvice, boolean, RegionPart[])",
            // Need the header of a datagram from another queue pair, or an answer of the network.
            "Context.addressVectorOf(WorkCompletions, int, MemorySegment, int)",
            "ProtectionDomain.createAddressHandle(WorkCompletions, int, MemorySegment, int)",
            "Context.resolveEthernetAddress(AddressVector)",
            // Need an event at the very moment.
            "EventLoop.source(int)",
            "EventLoop.attachment(int)",
            // Need several arguments that fit each other, which is a matter of luck.
            "QueuePair.bind(MemoryWindow, MemoryWindowBinding, long, boolean)",
            "QueuePair.tryBind(MemoryWindow, MemoryWindowBinding, long, boolean)",
            "QueuePair.connect(Endpoint)",
            "FlowActionEspOptions.aesGcm(byte[], int, long, int)",
            "MemoryWindowBinding.new(RegisteredBuffer, AccessFlag[])",
            "WorkRequestBuilder.bindMemoryWindow(MemoryWindow, int, MemoryWindowBinding)",
            "SendWorkRequest.bindMemoryWindow(MemoryWindow, int, MemoryWindowBinding)",
            "SendWorkRequest.bindMemoryWindow(MemoryWindow, int, MemoryRegion, long, long, AccessFlag)",
            "QueuePair.detachMulticast(Gid, int)",
            "MemoryWindow.restoreRkey(int)");

    @Test
    void shouldSurviveRandomCalls() throws Exception {
        LabDevices.assumeOurs("random calls are nothing to make on a machine that others use");
        List<String> before = Commands.resources();
        // Two at a time, each in worlds of its own: with one seed each finds again what it found.
        List<Fuzz> fuzzes = LongStream.of(SEED, SEED + 1).mapToObj(Fuzz::new).toList();
        int round = 1;
        Map<String, Map<String, Integer>> outcomes = run(fuzzes, CALLS / 2);
        while (!neverReturned(outcomes).isEmpty() && CALLS >= ENOUGH_CALLS && round < ROUNDS) {
            round++;
            outcomes = run(fuzzes, round * (CALLS / 2));
        }
        assertEquals(before, Commands.resources());
        if (CALLS >= ENOUGH_CALLS) {
            assertEquals(Set.of(), neverReturned(outcomes), "these never returned");
            int kinds = outcomes.values().stream().mapToInt(Map::size).sum();
            assertTrue(kinds >= KINDS, () -> "only " + kinds + " kinds of outcomes of " + CALLS + " calls");
        }
    }

    /** Goes on until each has made so many calls; what has come of them all. */
    private static Map<String, Map<String, Integer>> run(List<Fuzz> fuzzes, int count) throws Exception {
        Map<String, Map<String, Integer>> sum = new TreeMap<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(fuzzes.size())) {
            List<Future<Map<String, Map<String, Integer>>>> results = new ArrayList<>();
            for (Fuzz fuzz : fuzzes) {
                results.add(threads.submit(() -> fuzz.run(count)));
            }
            for (Future<Map<String, Map<String, Integer>>> result : results) {
                result.get().forEach((call, outcomes) -> {
                    Map<String, Integer> all = sum.computeIfAbsent(call, name -> new TreeMap<>());
                    outcomes.forEach((outcome, times) -> all.merge(outcome, times, Integer::sum));
                });
            }
        }
        return sum;
    }

    /** The calls that should have returned, but did not, with what came of them instead. */
    private static Set<String> neverReturned(Map<String, Map<String, Integer>> outcomes) {
        return outcomes.entrySet().stream()
                .filter(entry -> !NEVER_RETURN.contains(entry.getKey()))
                .filter(entry -> !entry.getValue().containsKey(Fuzz.RETURNED))
                .filter(entry -> entry.getValue().keySet().stream().noneMatch(Fuzz::meansThatTheDeviceCannot))
                .map(Object::toString)
                .collect(Collectors.toSet());
    }
}
