package org.rdmapanama.bench;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.ExtendedQueuePair;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ReceiveWorkRequest;
import org.rdmapanama.SendWorkRequest;
import org.rdmapanama.VerbsException;
import org.rdmapanama.WorkCompletions;
import org.rdmapanama.WorkRequestBuilder;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.ffm.CCompiler;
import org.rdmapanama.ffm.internal.Native;
import org.rdmapanama.ffm.verbs.ibv_context;
import org.rdmapanama.ffm.verbs.ibv_context_ops;
import org.rdmapanama.ffm.verbs.ibv_send_wr;
import org.rdmapanama.ffm.verbs.ibv_sge;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;

/**
 * The device of the benchmarks checks its input: it rejects or fails a work request that a real device would reject or
 * fail, so that no benchmark measures something that would not work.
 */
class NullNicTest {
    private static final int EINVAL = 22;
    private static final int REGION_BYTES = 4096;

    private NullNic nic;
    private int depth;
    private WorkCompletions completions;

    @BeforeAll
    static void compile() throws IOException {
        CCompiler.assumeWanted();
        Path library = Path.of(NullNic.nativeFile("libnullnic-rdmav34.so"));
        Files.createDirectories(library.getParent());
        CCompiler.makeLibrary(library, "src/main/c/nullnic.c", "-pthread");
    }

    @BeforeEach
    void open() {
        open(false);
    }

    private void open(boolean extended) {
        nic = NullNic.open(Threads.CONFINED, extended, 1);
        depth = nic.queuePair.capabilities().maxSendWorkRequests();
        completions = new WorkCompletions(nic.arena, depth);
    }

    @AfterEach
    void close() {
        nic.close();
    }

    /** Creates a valid write of 64 bytes. */
    private SendWorkRequest write(long id) {
        return SendWorkRequest.allocate(nic.arena, 1)
                .id(id)
                .rdmaWrite(nic.region.address(), nic.region.rkey())
                .add(nic.region, 0, NullNic.BYTES)
                .signaled(true);
    }

    private MemoryRegion register(AccessFlag... access) {
        return nic.queuePair.protectionDomain().register(nic.arena.allocate(REGION_BYTES, REGION_BYTES), access);
    }

    /** Returns the identifier and status of all completions. */
    private List<String> completed() {
        int count = nic.sends.poll(completions);
        List<String> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            assertEquals(nic.queuePair.number(), completions.queuePairNumber(i));
            all.add(completions.id(i) + " " + completions.status(i));
        }
        return all;
    }

    private void assertEnds(CompletionStatus status, SendWorkRequest request) {
        nic.queuePair.postSend(request.id(5));
        assertEquals(List.of("5 " + status), completed());
    }

    /** Checks that posting stops at this request, after those before it in the chain. */
    private void assertRefused(SendWorkRequest wrong) {
        SendWorkRequest first = write(1);
        SendWorkRequest second = write(2);
        first.next(second.next(wrong.id(3).next(write(4))));
        VerbsException refusal = assertThrows(VerbsException.class, () -> nic.queuePair.postSend(first));
        assertEquals("EINVAL", refusal.errnoName());
        assertSame(wrong, nic.queuePair.firstNotSent(first));
        assertEquals(List.of("1 SUCCESS", "2 SUCCESS"), completed());
    }

    @Test
    void shouldCompleteInOrder() {
        SendWorkRequest chain = write(11)
                .next(write(12)
                        .signaled(false)
                        .next(write(13)
                                .set(0, nic.region, 7, 100)
                                .next(write(14).clear())));
        nic.queuePair.postSend(chain);
        assertNull(nic.queuePair.firstNotSent(chain));
        assertEquals(List.of("11 SUCCESS", "13 SUCCESS", "14 SUCCESS"), completed());
        assertEquals(64, completions.byteLength(0));
        assertEquals(100, completions.byteLength(1));
        assertEquals(0, completions.byteLength(2));
        assertEquals(CompletionOpcode.RDMA_WRITE, completions.opcode(1));
        assertEquals(0, nic.sends.poll(completions));
    }

    @Test
    void shouldRefuseAnUnknownOpcode() {
        assertRefused(write(3).sendWithInvalidate(nic.region.rkey()));
    }

    @Test
    void shouldRefuseAnUnknownFlag() {
        assertRefused(write(3).ipChecksum(true));
    }

    @Test
    void shouldRefuseWhatCannotBeInline() {
        assertRefused(write(3).rdmaRead(nic.region.address(), nic.region.rkey()).inline(true));
    }

    @Test
    void shouldRefuseAMisalignedAtomic() {
        assertRefused(write(3).fetchAndAdd(nic.region.address() + 4, nic.region.rkey(), 1));
    }

    /** The object model would reject this first, so the device is called directly. */
    @Test
    void shouldRefuseTooManySegments() throws Throwable {
        SendWorkRequest tooMany = SendWorkRequest.allocate(nic.arena, 5).rdmaWrite(0, 0);
        for (int i = 0; i < 5; i++) {
            tooMany.add(nic.region, i, 1);
        }
        assertThrows(IllegalArgumentException.class, () -> nic.queuePair.postSend(tooMany));
        MemorySegment chain = rawChain(false);
        ibv_send_wr.num_sge(ibv_send_wr.asSlice(chain, 1), 5);
        assertRefusedRaw(nic.queuePair, chain, 1);
        ibv_send_wr.num_sge(ibv_send_wr.asSlice(chain, 1), -1);
        assertRefusedRaw(nic.queuePair, chain, 1);
    }

    @Test
    void shouldRefuseTooMuchInline() throws Throwable {
        SendWorkRequest tooMuch =
                write(1).set(0, nic.region, 0, NullNic.BYTES + 1).inline(true);
        assertThrows(IllegalArgumentException.class, () -> nic.queuePair.postSend(tooMuch));
        MemorySegment chain = rawChain(true);
        MemorySegment segment =
                Native.struct(ibv_send_wr.sg_list(ibv_send_wr.asSlice(chain, 1)).address(), ibv_sge.sizeof());
        ibv_sge.length(segment, NullNic.BYTES + 1);
        assertRefusedRaw(nic.queuePair, chain, 1);
        // The sum would overflow to a small number.
        ibv_sge.length(segment, -1);
        assertRefusedRaw(nic.queuePair, chain, 1);
    }

    @Test
    void shouldRefuseBeforeReadyToSend() throws Throwable {
        CompletionQueue queue = nic.sends.context().createCompletionQueue(1);
        QueuePair early = nic.queuePair
                .protectionDomain()
                .createQueuePair(new QueuePairOptions(
                                QueuePairType.RC, queue, nic.sends.context().createCompletionQueue(1))
                        .maxSegments(1, 1));
        assertThrows(IllegalStateException.class, () -> early.postSend(write(1)));
        assertRefusedRaw(early, rawChain(false), 0);
        assertEquals(0, queue.poll(completions));
    }

    @Test
    void shouldFlushInTheErrorState() {
        SendWorkRequest request = write(1).signaled(false);
        nic.queuePair.postSend(request);
        nic.queuePair.modify(new QueuePairAttributes().state(QueuePairState.ERR));
        nic.queuePair.postSend(request.id(2));
        assertEquals(List.of("1 WR_FLUSH_ERR", "2 WR_FLUSH_ERR"), completed());
    }

    /** Creates writes that are valid except for what a test changes. */
    private MemorySegment rawChain(boolean inline) {
        return Chain.ofWrites(
                nic.arena, 3, 1, inline, nic.region.address(), NullNic.BYTES, nic.region.lkey(), nic.region.rkey());
    }

    /** Checks that the device rejects this request of the chain, and has accepted those before it. */
    @SuppressWarnings("restricted")
    private void assertRefusedRaw(QueuePair queuePair, MemorySegment chain, int wrong) throws Throwable {
        MemorySegment context = Native.struct(queuePair.context().nativeAddress(), ibv_context.sizeof());
        MethodHandle post = Linker.nativeLinker()
                .downcallHandle(
                        context.get(ADDRESS, ibv_context.ops$offset() + ibv_context_ops.post_send$offset()),
                        FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS));
        MemorySegment bad = nic.arena.allocate(ADDRESS);
        assertEquals(EINVAL, (int) post.invokeExact(queuePair.nativeAddress(), chain, bad));
        assertEquals(ibv_send_wr.asSlice(chain, wrong).address(), bad.get(JAVA_LONG, 0));
        assertEquals(wrong == 0 ? List.of() : List.of("1 SUCCESS"), completed());
    }

    @Test
    void shouldBeFull() {
        SendWorkRequest last = write(depth + 1);
        SendWorkRequest chain = last;
        for (int i = depth; i > 0; i--) {
            chain = write(i).next(chain);
        }
        assertEquals(QueuePair.QUEUE_FULL, nic.queuePair.tryPostSend(chain));
        assertSame(last, nic.queuePair.firstNotSent(chain));
        assertEquals(QueuePair.QUEUE_FULL, nic.queuePair.tryPostSend(last));
        List<String> completed = completed();
        assertEquals(depth, completed.size());
        for (int i = 0; i < depth; i++) {
            assertEquals(i + 1 + " SUCCESS", completed.get(i));
        }
        nic.queuePair.postSend(last);
        assertEquals(List.of(depth + 1 + " SUCCESS"), completed());
    }

    /** Returns how often this thread has called read and write so far, in a reading that takes the same calls each time. */
    private static long[] calls() throws IOException {
        Map<String, Long> counts = Files.readAllLines(Path.of("/proc/thread-self/io")).stream()
                .map(line -> line.split(": ", -1))
                .collect(Collectors.toMap(parts -> parts[0], parts -> Long.parseLong(parts[1])));
        return new long[] {counts.get("syscr"), counts.get("syscw")};
    }

    @Test
    void shouldPostAndPollWithoutReadingOrWriting() throws IOException {
        assumeTrue(Files.isReadable(Path.of("/proc/thread-self/io")), "this kernel does not count");
        SendWorkRequest request = write(1);
        // Loading classes reads files.
        assertEnds(CompletionStatus.SUCCESS, request);
        calls();
        long[] first = calls();
        long[] second = calls();
        for (int i = 0; i < 1000; i++) {
            assertEnds(CompletionStatus.SUCCESS, request);
        }
        long[] third = calls();
        assertEquals(second[0] - first[0], third[0] - second[0], "calls of read");
        assertEquals(0, third[1] - first[1], "calls of write");
    }

    @Test
    void shouldBeFullOfReceives() {
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(nic.arena, 1).add(nic.region, 0, NullNic.BYTES);
        for (int i = 0; i < depth; i++) {
            nic.queuePair.postReceive(receive.id(i));
        }
        assertEquals(QueuePair.QUEUE_FULL, nic.queuePair.tryPostReceive(receive));
        assertSame(receive, nic.queuePair.firstNotReceiving(receive));
        assertEquals(depth, nic.receives.poll(completions));
        for (int i = 0; i < depth; i++) {
            assertEquals(i, completions.id(i));
        }
    }

    @Test
    void shouldFailWithoutALocalKey() {
        MemoryRegion region = register(AccessFlag.LOCAL_WRITE);
        SendWorkRequest request = write(1).set(0, region, 0, NullNic.BYTES);
        assertEnds(CompletionStatus.SUCCESS, request);
        region.close();
        assertEnds(CompletionStatus.LOC_PROT_ERR, request);
        // Failures generate a completion even if the request is not signaled.
        assertEnds(CompletionStatus.LOC_PROT_ERR, request.signaled(false));
        // An inline request needs no key.
        assertEnds(CompletionStatus.SUCCESS, write(1).inline(true));
    }

    @Test
    void shouldFailWhereNothingMayBeWritten() {
        MemoryRegion readable = register(AccessFlag.REMOTE_READ);
        assertEnds(CompletionStatus.SUCCESS, write(1).set(0, readable, 0, NullNic.BYTES));
        assertEnds(
                CompletionStatus.LOC_PROT_ERR,
                write(1).set(0, readable, 0, NullNic.BYTES).rdmaRead(readable.address(), readable.rkey()));
        ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(nic.arena, 1).add(readable, 0, NullNic.BYTES);
        nic.queuePair.postReceive(receive);
        assertEquals(1, nic.receives.poll(completions));
        assertEquals(CompletionStatus.LOC_PROT_ERR, completions.status(0));
    }

    @Test
    void shouldFailOutsideTheRemoteRegion() {
        long start = nic.region.address();
        int rkey = nic.region.rkey();
        int last = REGION_BYTES - NullNic.BYTES;
        assertEnds(CompletionStatus.SUCCESS, write(1).rdmaWrite(start + last, rkey));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(start + last + 1, rkey));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(start - 1, rkey));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(-1, rkey));
        assertEnds(
                CompletionStatus.REM_ACCESS_ERR,
                write(1).rdmaWrite(start + last + 1, rkey).inline(true));
        // A request without data accesses no memory.
        assertEnds(CompletionStatus.SUCCESS, write(1).rdmaWrite(0, 0).clear());
    }

    @Test
    void shouldFailWithoutARemoteKey() {
        long start = nic.region.address();
        int rkey = nic.region.rkey();
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(start, 0));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(start, rkey + 1));
        // Permits writes only.
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaRead(start, rkey));
        SendWorkRequest add = write(1).set(0, nic.region, 0, Long.BYTES);
        assertEnds(CompletionStatus.REM_ACCESS_ERR, add.fetchAndAdd(start, rkey, 1));
        MemoryRegion open = register(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ, AccessFlag.REMOTE_ATOMIC);
        assertEnds(CompletionStatus.SUCCESS, write(1).rdmaRead(open.address(), open.rkey()));
        assertEnds(CompletionStatus.SUCCESS, add.fetchAndAdd(open.address(), open.rkey(), 1));
        assertEnds(CompletionStatus.SUCCESS, add.compareAndSwap(open.address(), open.rkey(), 1, 2));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, add.compareAndSwap(open.address() + 4096, open.rkey(), 1, 2));
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaWrite(open.address(), open.rkey()));
        assertEnds(CompletionStatus.SUCCESS, write(1).send());
        open.close();
        assertEnds(CompletionStatus.REM_ACCESS_ERR, write(1).rdmaRead(open.address(), open.rkey()));
    }

    @Test
    void shouldDoTheSameForBuilders() {
        nic.close();
        open(true);
        ExtendedQueuePair queuePair = (ExtendedQueuePair) nic.queuePair;
        long start = nic.region.address();
        int rkey = nic.region.rkey();
        WorkRequestBuilder batch = queuePair.startWorkRequests().signaled(true);
        batch.id(1).rdmaWrite(start, rkey).add(nic.region, 0, NullNic.BYTES);
        batch.id(2).rdmaWrite(start, rkey + 1).add(nic.region, 0, NullNic.BYTES);
        batch.id(3).rdmaWrite(start + REGION_BYTES, rkey).inlineData(nic.arena.allocate(1));
        batch.id(4).rdmaWrite(start, rkey).add(nic.region, 0, 1).add(nic.region, 1, 1);
        batch.complete();
        assertEquals(List.of("1 SUCCESS", "2 REM_ACCESS_ERR", "3 REM_ACCESS_ERR", "4 SUCCESS"), completed());

        batch = queuePair.startWorkRequests();
        for (int i = 0; i <= depth; i++) {
            batch.rdmaWrite(start, rkey).add(nic.region, 0, NullNic.BYTES);
        }
        assertEquals(QueuePair.QUEUE_FULL, batch.tryComplete());
        queuePair
                .startWorkRequests()
                .signaled(true)
                .id(7)
                .rdmaWrite(start, rkey)
                .add(nic.region, 0, 1)
                .abort();
        assertEquals(List.of(), completed());
    }

    @Test
    void shouldTellLoopsInCOfFailures() throws Throwable {
        MethodHandle loop = NullNic.loop("bench_post_send", NullNic.LONGS_4_INTS_2);
        MemorySegment chain = rawChain(false);
        long queue = nic.sends.nativeAddress();
        long queuePair = nic.queuePair.nativeAddress();
        long room = nic.arena.allocate(NullNic.BYTES * 3L).address();
        assertEquals(10 * NullNic.sumOfIds(3), (long) loop.invokeExact(queuePair, queue, chain.address(), room, 3, 10));
        MemorySegment remote = ibv_send_wr.wr.rdma(ibv_send_wr.wr(ibv_send_wr.asSlice(chain, 2)));
        ibv_send_wr.wr.rdma.rkey(remote, 1);
        assertEquals(-1, (long) loop.invokeExact(queuePair, queue, chain.address(), room, 3, 10));
    }
}
